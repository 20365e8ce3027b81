// Tensor statements: the nest of loops over the points that hold, the body, and the results.
#pragma once

#include <vector>

#include "core/ir/ir.h"
#include "core/loops/lowering.h"

namespace pullback::loops {

void LowerStatement(Lowering& l, const ir::Inst& inst);

// result = a new array of this shape, whose extents were checked.
void Alloc(Lowering& l, ir::Value result, ir::ValueSpan shape, bool zeroed, uint32_t loc);

}  // namespace pullback::loops
