// Arrays of rows that statements make, which would be kept for who reads them in another turn.
#pragma once

#include <cstdint>
#include <functional>

#include "core/ir/ir.h"
#include "core/ir/own_arrays.h"

namespace pullback::tensor {

// So many rows of a set are those of a window; of more, the sets have an axis of their own (rows_as_read.cc).
inline constexpr int64_t kFewOfSet = 8;
inline constexpr int64_t kMostOfSet = 1 << 10;

// Whether the statement makes one array of several axes and nothing else, which is larger than the function's own; and takes
// work: a reduction, or an op that is dear (core/ir/op_weight.h).
bool MakesLargeArray(const ir::Inst& inst, const ir::OwnArrays& own);
bool MakesLargeRows(const ir::Inst& inst, const ir::OwnArrays& own);

// The statement of that result's row alone, made anew: what is at `row` of the axis, which an index of its own runs over whole,
// and along which no scan runs. Of one axis it is a number. 0 where there is no such row.
ir::Inst RowAlone(const ir::Inst& maker, size_t result, size_t axis, const ir::Affine& row,
                  ir::Function& f);
// Likewise that of `count` rows from `first` on, which may start before the axis.
ir::Inst FewRowsAlone(const ir::Inst& maker, size_t result, size_t axis, const ir::Affine& first,
                      ir::Value count, ir::Function& f);

// Of the first ones: whatever other indices are. Or next to others: of a band, `i <= j + 1 and j <= i + 1`, three.
enum class Few : uint8_t { kWhateverOthers, kNextToOthers };
// Reduced indices to which the conditions leave a few places alone, whatever other indices are, run over these: of a band's first
// row, `j <= 1` where j < n; of its first rows, `j <= i + 1` where i < 3. `length`: of a short extent. `number`: makes a constant in front
// of the statement.
void NarrowToFew(ir::Inst& statement,
                 const std::function<std::optional<int64_t>(ir::Value)>& length,
                 const std::function<ir::Value(int64_t)>& number, ir::Function& f,
                 Few few = Few::kWhateverOthers);

}  // namespace pullback::tensor
