// Random well-typed programs over the whole language, as text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/tensor.h"
#include "tests/support/generator.h"

namespace pullback::testing {

struct LanguageProgram {
  std::string text;
  std::string entry = "f";
  std::vector<Tensor> args;
  Coverage constructs;    // of this program
  bool stops = false;     // has a stop_gradient: differences say nothing
  bool scalar = false;    // gives one float
  int levels = 0;         // derivative operators in the text
  bool narrow = false;    // computes with f32
  bool residual = false;  // the second result is 0 whatever the arguments are
};

// The same seed gives the same program. Nothing traps, every loop and recursion is short.
LanguageProgram GenerateLanguageProgram(uint32_t seed);

// What a long enough run must have written at least once.
const std::vector<std::string>& LanguageConstructs();

}  // namespace pullback::testing
