// The engine in this process, and its structs from and to the client's.
#pragma once

#include <memory>
#include <vector>

#include "client/client.h"
#include "core/base/status.h"
#include "jit/engine.h"

namespace pullback::cli {

StatusOr<std::unique_ptr<jit::Engine>> MakeEngine();

jit::KernelRequest ToRequest(const client::KernelSpec& spec);
client::Compiled ToCompiled(const jit::Handle& handle);
// Into the order of the signature, which has their names.
jit::Inputs ToInputs(const client::Inputs& inputs, const client::Signature& signature);

}  // namespace pullback::cli
