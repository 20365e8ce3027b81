// Patterns and replacements of rewrite rules, read from their text (core/opt/rules.h) once.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::opt {

struct Term {
  enum class Kind : uint8_t { kOp, kVariable, kNumber, kBool, kBuild, kExtent };
  Kind kind = Kind::kOp;
  ir::Op op = ir::Op::Const;   // kOp
  std::vector<Term> operands;  // kOp
  int variable = 0;            // kVariable: 0 is a
  double number = 0;           // kNumber
  bool truth = false;          // kBool
};
inline constexpr int kTermVariables = 3;

// Stops the program where the text is no term: rules are the program's own.
Term ParseTerm(std::string_view text);

}  // namespace pullback::opt
