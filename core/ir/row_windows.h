// Which rows of an array a turn of one of a statement's indices uses, as far as it is known how many rows away they are:
// x[i + 1]; x[i + u - 1] with u < 3, or u < k where k is an extent of an array; x[j] where i - 1 <= j <= i + 1.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/ir/ir.h"

namespace pullback::ir {

// From index + first - behind to index + last + ahead; `behind`, `ahead`: extents of arrays, or kNoValue for 0.
struct RowWindow {
  int64_t first = 0, last = 0;
  Value behind, ahead;
  bool operator==(const RowWindow&) const = default;
};

// What is known of integers.
struct RowFacts {
  std::function<std::optional<int64_t>(Value)> constant;
  std::function<bool(Value)> is_extent;  // of an array
};

// nullopt: `sub` is not so near to the index.
std::optional<RowWindow> FindRowWindow(const Each& each, const Affine& sub, Value index,
                                       const RowFacts& facts);

}  // namespace pullback::ir
