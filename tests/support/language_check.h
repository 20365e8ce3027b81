// One random program in every mode.
#pragma once

#include <string>
#include <vector>

#include "tests/support/language_program.h"

namespace pullback::testing {

struct LanguageOutcome {
  std::string failure;               // empty: everything agrees
  std::vector<std::string> checked;  // "jvp", "vjp", "differences", "hvp", "unoptimised"
  std::string skipped;               // why there were no differences
};

// By the interpreter: values, both modes against each other and against differences. From any thread.
LanguageOutcome CheckLanguageProgram(const LanguageProgram& program, uint32_t seed);

}  // namespace pullback::testing
