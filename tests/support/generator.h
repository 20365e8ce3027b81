// Random well-typed programs, and what they cover.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/base/tensor.h"

namespace pullback::testing {

// How often each operator, function and construct was written.
using Coverage = std::map<std::string, int>;
std::string ToString(const Coverage& coverage);

struct GeneratedProgram {
  std::string text;
  std::string entry = "f";
  std::vector<Tensor> args;
};

enum class Kind : uint8_t {
  kControlFlow,  // scalars, arrays, loops, branches on integers, recursion, element updates: smooth
  kCorners,      // the same, with functions that have kinks and branches on floats
  kTensor        // statements only: gen, sum, affine subscripts, brackets, + - *, called functions
};

// The same seed gives the same program. Values stay of moderate size; nothing traps.
GeneratedProgram GenerateProgram(Kind kind, uint32_t seed, Coverage* coverage);

}  // namespace pullback::testing
