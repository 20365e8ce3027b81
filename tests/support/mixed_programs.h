// Programs whose statements call scalar functions with control flow: what mixed mode differentiates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/tensor.h"

namespace pullback::testing {

struct MixedProgram {
  std::string name, text;
  std::vector<Tensor> args;    // of f
  std::vector<bool> wrt = {};  // empty: every one
};

// Broadcasts and comprehensions: several inputs and outputs, expanded arguments, captured scalars and arrays,
// guards, loops in the function, f32.
std::vector<MixedProgram> MixedPrograms();

// A random function of up to `most` scalars with branches, broadcast over arrays of which some are expanded and
// some are captured by a lambda. The same seed gives the same program.
MixedProgram RandomMixedProgram(uint32_t seed, int most = 6);

}  // namespace pullback::testing
