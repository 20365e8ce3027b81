// What reductions start from and how they join two terms.
#pragma once

#include <cstdint>

#include "core/ir/ir.h"

namespace pullback::loops {

uint64_t IdentityOf(ir::Monoid m, DType t);  // bits as in ir::Inst::bits; 0 for gen
ir::Op OpOf(ir::Monoid m);                   // not of gen

}  // namespace pullback::loops
