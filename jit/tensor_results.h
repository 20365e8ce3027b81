// Result slots of a run whose results are tensors, copied to where the answer is.
#pragma once

#include <cstdint>

#include "core/base/status.h"
#include "jit/engine.h"
#include "jit/key.h"
#include "jit/runtime/context.h"

namespace pullback::jit {

// As CopyResults, of a kernel that RunsOnTensors. The seed of a vjp must have the shape of the value, as of
// CheckCotangent.
Status CopyTensors(RunContext* context, const TextView& view, const Derivation& derivation,
                   const uint64_t* slots, const TensorInputs& inputs, TensorSink* sink);

}  // namespace pullback::jit
