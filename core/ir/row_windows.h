// Which rows of an array a turn of one of a statement's indices uses, as far as these are known numbers of rows away:
// x[i + 1]; x[i + u - 1] with u < 3; x[j] where i - 1 <= j <= i + 1.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/ir/ir.h"

namespace pullback::ir {

// index + first to index + last.
struct RowWindow {
  int64_t first = 0, last = 0;
  bool operator==(const RowWindow&) const = default;
};

// `constant`: of an integer, where it is one. nullopt: `sub` is not so near to the index.
std::optional<RowWindow> FindRowWindow(
    const Each& each, const Affine& sub, Value index,
    const std::function<std::optional<int64_t>(Value)>& constant);

}  // namespace pullback::ir
