// Values that loops pass on and on.
#pragma once

#include "core/ir/ir.h"
#include "core/opt/rules.h"

namespace pullback::opt {

// Block parameters that get one value from outside, however many others of them it goes round through, are that value:
//
//   b1(%p): br %c, b2(%p), b3(%p)     b2(%q): jump b1(%q)       %p and %q are what the entry gives to b1
//
// What leaves such parameters behind is mostly an adjoint: the cotangents that no turn of a loop adds to. Without
// unreachable blocks. True: changed.
bool RemoveInvariantParams(ir::Function& f, const RewriteOptions& options);

}  // namespace pullback::opt
