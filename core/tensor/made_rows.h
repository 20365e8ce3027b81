// Arrays of rows that statements make, which would be kept for who reads them in another turn.
#pragma once

#include "core/ir/ir.h"
#include "core/ir/own_arrays.h"

namespace pullback::tensor {

// Whether the statement makes one array of several axes and nothing else, which is larger than the function's own and takes
// work: a reduction, or an op that is dear (core/ir/op_weight.h).
bool MakesLargeRows(const ir::Inst& inst, const ir::OwnArrays& own);

}  // namespace pullback::tensor
