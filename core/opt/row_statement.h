// The statement that makes one row of what another one makes row by row, or adds up what it makes of rows.
#pragma once

#include <optional>

#include "core/ir/ir.h"
#include "core/opt/block_loops.h"

namespace pullback::opt {

// Of the index `row`, a subscript of results or of none of theirs, that point which is `at`. What `names` has stands for
// operands; results are new, and stand for those of `whole` from then on. Of results that have rows it has one.
ir::Inst StatementAtRow(ir::Function& f, const ir::Inst& whole, ir::Value row, const ir::Affine& at,
                        Copier& names);
// A read of an array, or a store, is one of the row that it speaks of along that axis.
void DropRow(ir::Inst& access, size_t axis = 0);
// Which subscript of the result is that index; nothing: none is.
std::optional<size_t> RowAxis(const ir::EachResult& r, ir::Value row);

}  // namespace pullback::opt
