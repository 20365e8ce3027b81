// An index of few points that a sum goes over: its terms, one by one, in the body of a statement without it.
#pragma once

#include "core/ir/ir.h"

namespace pullback::opt {

// sum [i, j] over k < n of t(i, j, k) is gen [i, j]: t(i, j, 0) + t(i, j, 1) + … (a sum still, if it goes over other indices, too). In
// another order. False, and nothing is changed: it is no such sum, or that would be long.
bool UnrollIndex(ir::Function& f, ir::Inst& statement, ir::Value index, int64_t n);

}  // namespace pullback::opt
