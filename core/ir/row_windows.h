// Which rows of an array a turn of one of a statement's indices uses, as far as it is known how many rows away they are:
// x[i + 1]; x[i + u - 1] with u < 3, or u < k where k is an extent of an array; x[j] where i - 1 <= j <= i + 1; by steps,
// x[2 * i + u]; by part of a step, x[j] where i - 2 <= 2 * j <= i, or x[i / 2]; and x[i + v] where 0 <= v < 3, whatever v is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "core/ir/ir.h"
#include "core/ir/known_extents.h"

namespace pullback::ir {

// `period` times the row is from step * index + first - behind to step * index + last + ahead, where `step`, `period` are 1 or
// more and one of them is 1; `behind`, `ahead`: extents of arrays, or kNoValue for 0.
struct RowWindow {
  int64_t first = 0, last = 0;
  Value behind, ahead;
  int64_t step = 1, period = 1;
  bool operator==(const RowWindow&) const = default;
};

// What is known of integers.
struct RowFacts {
  std::function<std::optional<int64_t>(Value)> constant;
  std::function<bool(Value)> is_extent;  // of an array
  // Where the access is made: from the first to the second.
  std::function<std::optional<std::pair<int64_t, int64_t>>(Value)> range = nullptr;
};

// In blocks; `extents` has to be there as long.
RowFacts RowFactsOf(const KnownExtents& extents);

// nullopt: `sub` is not so near to the index.
std::optional<RowWindow> FindRowWindow(const Each& each, const Affine& sub, Value index,
                                       const RowFacts& facts);

}  // namespace pullback::ir
