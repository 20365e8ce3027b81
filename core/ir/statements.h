// Tensor statements of a block, as passes of several layers see them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::ir {

// By value: whether a block other than the one that defines it uses it, or the end of any.
std::vector<bool> UsedElsewhere(const Function& f);

// The statement's indices with these in front, in order; each is one of them.
void BringIndicesFirst(Each& each, ValueSpan first);

// list[at] comes to `place`, in front of those that were there.
template <typename List>
void BringForward(List& list, size_t at, size_t place) {
  const auto from = list.begin() + static_cast<std::ptrdiff_t>(at);
  std::rotate(list.begin() + static_cast<std::ptrdiff_t>(place), from, from + 1);
}
template <typename List>
void BringToFront(List& list, size_t at) {
  BringForward(list, at, 0);
}

// What add_arrays makes as a statement: an array of these extents, which both have, each element the sum of two.
Inst SumAsStatement(Function& f, const Inst& sum, ValueSpan shape);

}  // namespace pullback::ir
