// Reductions other than sums over the neighbours of a point:
//
//   max j < n { [r(i, j)] * x[j] }      and < n { not r(i, j) or x[j] > 0.0 }
//
// At every j that i is not related to, the body has one value, here 0, and one of them stands for all:
// max, min, and, or are idempotent, and so is a product by 0 or 1. So the reduction runs over the related
// j and the first that is not, in their order. Extrema, their ties and what argmax gives are those of the
// whole range.
//
// Such a reduction is a statement where i is known in front of it. A statement around it, which would
// have i for an index, becomes a loop: its ranges would be bound by data.
#pragma once

#include "core/lang/lower_comprehension.h"

namespace pullback::lang {

// --- lower_tellers.cc: what the source says; nothing is written
// A call r(…) in a comprehension's body that tells a binder: one argument is ± the binder and the others
// are known in front of the body. `related` are all calls that say the same.
struct Teller {
  size_t axis = 0;  // of the argument
  int64_t sign = 1;
  std::vector<const Expr*> related;
};
// The one that tells the points of a comprehension's binder: where it is false, the body has one value (of a
// sum 0, of a product 0 or 1).
std::optional<Teller> FindTeller(Context& c, const Expr& e, size_t binder);
// Whether there is one for a binder of a reduction other than a sum.
bool ReducesNeighbours(Context& c, const Expr& e);

// --- lower_neighbours.cc
// Block mode: the points at which the body of `e` has to be evaluated for this binder; all: nullopt. The
// binders before it have their values. One array of 8 bytes a point.
std::optional<Neighbours> NeighboursOf(Context& c, const Expr& e, size_t binder,
                                       const Range& range);

// From here on the calls that tell the points are what the place among the points says; until Untell.
void Tell(Context& c, const Neighbours& n, Value place);
void Untell(Context& c, const Neighbours& n);

}  // namespace pullback::lang
