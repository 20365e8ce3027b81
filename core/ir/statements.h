// Tensor statements of a block, as passes of several layers see them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::ir {

// By value: whether a block other than the one that defines it uses it, or the end of any.
std::vector<bool> UsedElsewhere(const Function& f);

// The body instruction that defines v, or nullptr.
const Inst* FindDef(const Each& each, Value v);
// What holds wherever the bool v does: itself, the parts of a conjunction, and guards, since what has one is false
// where that is; not more than some.
std::set<Value> ConditionsOf(const Each& each, Value v);
// Of the statement's indices and of values outside and inside: those of its points, and of a guard that holds; kNoValue: of none.
std::vector<Constraint> ConstraintsAt(const Each& each, Value guard);
// Which of the statement's indices v is; nothing: none.
std::optional<size_t> PlaceOfIndex(const Each& each, Value v);

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
