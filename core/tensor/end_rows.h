// Arrays of rows of another one, in its order, whose ends are other rows of it: `z[max(0, i - 1)]`, `z[abs(i - 1)]` for each i.
//
//   %p = each(t < n + 2, l < h) {
//     %u = index %z[0, l] if t <= 0 and 1 <= n
//     %v = index %z[n - 1, l] if n < t and 1 <= n
//     %w = index %z[t - 1, l] if 1 <= t and t <= n
//   } gen [t, l] of (n + 2, h): the one that is there, or 0                                             z: (n, h)
#pragma once

#include <optional>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::tensor {

// At the places t for which sign * t + bound >= 0, or == 0, is that row of the other array.
struct End {
  int64_t sign;
  ir::Affine bound;
  bool equality;
  ir::Affine row;
  bool operator==(const End&) const = default;
};

struct EndedRows {
  ir::Value array;
  ir::Affine rows;               // how many
  std::optional<int64_t> shift;  // at place t is row t + shift, unless that is an end
  std::vector<End> ends;         // an earlier one is in front of a later one
  bool operator==(const EndedRows&) const = default;
};

// `shape`: of the array; `extent`: how many rows there are, as a value. A row that is not there is 0.
ir::Inst MakeEndedRows(const EndedRows& of, ir::ValueSpan shape, ir::Value extent, uint32_t loc,
                       ir::Function& f);

}  // namespace pullback::tensor
