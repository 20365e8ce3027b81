// Which subscripts of a statement go down columns of arrays as its first index turns: what is slow, and taken for rows only where it
// saves an array (row_groups.h).
#pragma once

#include <cstddef>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::tensor {

// Those of its results and reads. The index `first` is in front, behind `depth` that loops around have in common.
std::vector<ir::AffineSpan> DownColumns(const ir::Each& each, ir::Value first, size_t depth);
// Whether a turn of `first` goes down a column of some array, within a turn of the loops around it, or takes single
// elements of rows that data say. Not so of windows, which run along the rows as well, nor of columns each of whose
// elements is for a loop along the rows of others.
bool GoesDownColumns(const ir::Each& each, ir::Value first, size_t depth);

}  // namespace pullback::tensor
