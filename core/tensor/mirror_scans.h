// Scans that run from the end, as those of derivatives do, and what they are made of and others make of them, count from the
// end as well, so that a loop can make a step of all of them in a turn (row_groups.h). With v < n:
//
//   g = each(v, i): sum [v, i]: …                       g = each(v, i): sum [v, i]: …, with n - 1 - v for v
//   s = each(i, v): scan 1 [i, n - 1 - v]:              s = each(i, v): scan 1 [i, v]:
//                       g[n - 1 - v, i]                                     g[v, i]
//   y = each(i, v): sum [i]: s[i, v] * x[v]             y = each(i, v): sum [i]: s[i, v] * x[n - 1 - v]
//
// So they do where a scan reads from the end what others make, or others what it makes. For arrays that may be larger than any of the function's own.
#pragma once

#include <optional>
#include <vector>

#include "core/ir/ir.h"
#include "core/ir/own_arrays.h"

namespace pullback::tensor {

// The instructions of one block with that; nothing: there is nothing to turn. `elsewhere`: ir::UsedElsewhere.
std::optional<std::vector<ir::Inst>> MirrorScans(ir::Function& f,
                                                 const std::vector<ir::Inst>& insts,
                                                 const ir::OwnArrays& own,
                                                 const std::vector<bool>& elsewhere);

// How many of the block's arrays may be larger than any of the function's own and are no rows of a loop.
size_t CountKept(const ir::Function& f, const std::vector<ir::Inst>& insts,
                 const ir::OwnArrays& own, const std::vector<bool>& elsewhere);

}  // namespace pullback::tensor
