// Bodies of statements in which conditions have become constants:
//
//   %g = holds (false) if %p                              %v = select %p, %a, 0.0
//   %b = index %x[%i + 9] if %g
//   %t = and %p, true if %p
//   %v = select %t, %a, %b
//
// An instruction whose guard is never true is 0, and not evaluated; what is true under a guard is that guard; a choice that is
// made is the arm.
#pragma once

#include "core/ir/ir.h"

namespace pullback::tensor {

void FoldConstantGuards(ir::Each& each, const ir::Function& f);

}  // namespace pullback::tensor
