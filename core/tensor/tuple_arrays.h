// Matrices that are stored at tuples which data say and are 0 elsewhere, and how statements read matrices.
#pragma once

#include "core/analysis/box.h"
#include "core/ir/ir.h"

namespace pullback::tensor {

// Whether result k is such an array: each(p) { i = rows[p]; … } gen [i, j].
bool IsTupleArray(const ir::Inst& statement, size_t k, const ir::Function& f);
// Whether a statement of the function makes one.
bool HoldsTupleArray(const ir::Function& f);

// Whether v is absent wherever the element `read` is.
bool IsAbsentWith(const ir::Each& each, ir::Value v, ir::Value read);
// Whether v of a sum of elements is the sum of what v is of each.
bool IsLinearIn(const ir::Each& each, ir::Value v, ir::Value read);
// Whether v is surely the same whatever the element is.
bool IsApart(const ir::Each& each, ir::Value v, ir::Value read);

// The only read of the array in the body; nullptr: there are more, or none.
const ir::Inst* OnlyReadOf(const ir::Each& each, ir::Value array);

// That an index is below an extent.
ir::Constraint Below(ir::Value index, ir::Value extent);

// Whether the statement reads the array once, by indices of its own: each element at most once for each value of the
// other indices, and never one that is not there.
bool ReadsByIndices(const ir::Each& each, const analysis::Box& box, ir::Value array,
                    const ir::Values& shape);

}  // namespace pullback::tensor
