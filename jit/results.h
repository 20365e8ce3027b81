// Result slots of a run, copied out into values of the API.
#pragma once

#include <cstdint>

#include "core/base/status.h"
#include "jit/engine.h"
#include "jit/key.h"
#include "jit/runtime/context.h"

namespace pullback::jit {

// Fills value and derivatives. Every copy is charged to the run's budget before it is made, and what
// the run held of it is given back after: RESOURCE_EXHAUSTED, MEMORY_BUDGET. Long copies look at
// context->stop: DEADLINE_EXCEEDED, CANCELLED.
Status CopyResults(RunContext* context, const TextView& view, const Derivation& derivation,
                   const uint64_t* slots, Outputs* outputs);

}  // namespace pullback::jit
