// Scans that run from the end, as those of derivatives do, and what they are made of and others make of them, count from the
// end as well, so that a loop can make a step of all of them in a turn (row_groups.h). With v < n:
//
//   g = each(v, i): sum [v, i]: …                       g = each(v, i): sum [v, i]: …, with n - 1 - v for v
//   s = each(i, v): scan 1 [i, n - 1 - v]:              s = each(i, v): scan 1 [i, v]:
//                       g[n - 1 - v, i]                                     g[v, i]
//   y = each(i, v): sum [i]: s[i, v] * x[v]             y = each(i, v): sum [i]: s[i, v] * x[n - 1 - v]
//
// So they do where a scan reads from the end what others make, or others what it makes. Where a loop makes `g` as it goes on
// with what other scans need, it is kept whole, and only what is made of `s` counts from the end:
//
//   s = each(i, v): scan 1 [i, n - 1 - v]:              s = each(i, v): scan 1 [i, v]:
//                       g[n - 1 - v, i]                                     g[n - 1 - v, i]
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "core/ir/ir.h"
#include "core/ir/own_arrays.h"

namespace pullback::tensor {

// Which scans start it, by their places in the block, whether what is made in front of them counts from the end, too, and
// arrays that are no larger than the function's own, such as vectors.
struct MirrorWay {
  std::set<size_t> scans;
  bool in_front = true;
  bool small = false;
};
// All scans, or one of the first of them.
std::vector<MirrorWay> MirrorWays(const std::vector<ir::Inst>& insts);

// The instructions of one block with that; nothing: there is nothing to turn. `elsewhere`: ir::UsedElsewhere.
std::optional<std::vector<ir::Inst>> MirrorScans(ir::Function& f,
                                                 const std::vector<ir::Inst>& insts,
                                                 const ir::OwnArrays& own,
                                                 const std::vector<bool>& elsewhere,
                                                 const MirrorWay& way);

// How many of the block's arrays may be larger than any of the function's own, within a turn of `depth` loops around them by
// whose rows they are, and are no rows of one more loop.
size_t CountKept(const std::vector<ir::Inst>& insts, const ir::OwnArrays& own,
                 const std::vector<bool>& elsewhere, size_t depth);

}  // namespace pullback::tensor
