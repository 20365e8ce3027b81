// Affine forms and constraints as text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/ir/ir.h"

namespace pullback::ir {

// How values are written, and which come first in a sum.
struct Spelling {
  std::function<std::string(Value)> text;
  std::function<uint32_t(Value)> rank;
};

// "2*%i + %j - 1"
std::string AffineText(const Affine& a, const Spelling& spelling);
// Of x >= 0 and x == 0: "%i + 1 < %n", "%i == 2*%k".
std::string ConstraintText(const Constraint& c, const Spelling& spelling);

}  // namespace pullback::ir
