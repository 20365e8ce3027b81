// What a program and its derivative cost, as JSON with a row for each stage.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/pipeline/pipeline.h"
#include "jit/engine.h"
#include "jit/reading.h"

namespace pullback::jit {

// With inputs: ATL's op counts (4.22-4.34) of each stage as the interpreter runs it, and how the final
// one stands to the bound of theorem 6.35, 4 * (ops of the program + its float inputs and outputs).
// Without: instructions as they stand in each stage. A trap of the run is a Status as Engine::Run gives.
StatusOr<std::string> DescribeCost(Reading reading, const pipeline::Staged& staged,
                                   const Inputs* inputs);

// What the final module gives for the inputs, by the interpreter, within its bounds on steps and memory.
StatusOr<std::vector<Tensor>> InterpretFinal(Reading reading, const pipeline::Staged& staged,
                                             const Inputs& inputs);

}  // namespace pullback::jit
