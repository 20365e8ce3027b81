// One random program in every mode.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/ir/ir.h"

#include "tests/support/language_program.h"

namespace pullback::testing {

struct LanguageOutcome {
  std::string failure;               // empty: everything agrees
  std::vector<std::string> checked;  // "jvp", "vjp", "differences", "hvp", "unoptimised",
                                     // "matrix", "engines", "plain loops"
  std::string skipped;               // why there were no differences
};

// Called with every final module and arguments for it; what engines differ in, or nothing.
using EngineCheck = std::function<std::string(const ir::Module&, const std::vector<Tensor>&)>;

// By the interpreter: values, both modes against each other and against differences. From any thread.
LanguageOutcome CheckLanguageProgram(const LanguageProgram& program, uint32_t seed,
                                     const EngineCheck& engines = {});

}  // namespace pullback::testing
