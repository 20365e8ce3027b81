// What reductions start from and how they join two terms.
#pragma once

#include <cstdint>

#include "core/ir/ir.h"

namespace pullback::loops {

uint64_t IdentityOf(ir::Monoid m, DType t);  // bits as in ir::Inst::bits; 0 for gen
// What the elements of a result hold that no point reaches; `t` is their type.
uint64_t ResultIdentityOf(ir::Monoid m, DType t);
ir::Op OpOf(ir::Monoid m);  // not of gen, argmax, argmin, scan_linear

}  // namespace pullback::loops
