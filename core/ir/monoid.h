// What the reductions of statements start from and how they join terms: one table for everything that
// runs or lowers them.
#pragma once

#include <cstdint>

#include "core/ir/ir.h"

namespace pullback::ir {

// The operation that joins two terms, or a scan's state and a term; not of gen, argmax, argmin and
// scan_linear.
Op MonoidOp(Monoid m);
// What it starts from, for terms of type `t`; bits as in Inst::bits; 0 where nothing is joined.
uint64_t MonoidIdentity(Monoid m, DType t);
// What the elements of a result hold that no point reaches; `t` is the type of the terms.
uint64_t ResultIdentity(Monoid m, DType t);

}  // namespace pullback::ir
