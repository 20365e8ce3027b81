// LLVM 19 through ORC for the host CPU: one LLJIT, one bare JITDylib, a ResourceTracker per kernel,
// only the runtime's symbols, no process symbols. LLVM headers appear in this folder's .cc files
// only.
#pragma once

#include <memory>

#include "core/base/status.h"
#include "jit/backend.h"

namespace pullback::jit {

// INTERNAL, reason NO_BACKEND, when the host cannot be targeted.
StatusOr<std::shared_ptr<Backend>> MakeLlvmBackend();

}  // namespace pullback::jit
