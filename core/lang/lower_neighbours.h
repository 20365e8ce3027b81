// Reductions other than sums over the neighbours of a point:
//
//   max j < n { [r(i, j)] * x[j] }      and < n { not r(i, j) or x[j] > 0.0 }
//
// At every j that i is not related to, the body has one value, here 0, and one of them stands for all:
// max, min, and, or are idempotent, and so is a product by 0 or 1. So the reduction runs over the related
// j and the first that is not, in their order. Extrema, their ties and what argmax gives are those of the
// whole range.
//
// Where the relation is false in one of several ways, `r(i, j) or s(i, j)`, it runs over all that one of them relates.
//
// Such a reduction is a statement where i is known in front of it. A statement around it, which would
// have i for an index, becomes a loop: its ranges would be bound by data.
#pragma once

#include <set>

#include "core/lang/lower_comprehension.h"

namespace pullback::lang {

// --- lower_tellers.cc: what the source says; nothing is written
// A call r(…) in a comprehension's body that tells a binder: one argument is ± the binder, or a key of it, and the
// others are known in front of the body. Beside such calls an equation may tell one point, binder = a known value, and
// a condition on the binder alone those where it holds.
// `related` are all expressions that say the same.
struct Teller {
  size_t axis = 0;   // of the argument; of an equation the side
  int64_t sign = 1;  // of the binder in the argument; 0: it is gathered, and so is a condition
  std::vector<const Expr*> related;
};
// Those that tell the points of a comprehension's binder: where all are false, the body has one value (of a
// sum 0, of a product 0 or 1). None: it has more.
std::vector<Teller> FindTellers(Context& c, const Expr& e, size_t binder);
// The same before the locals have values.
std::vector<Teller> FindTellersAhead(Context& c, const Expr& e, size_t binder,
                                     const std::set<uint32_t>& before);
// Whether there are some for a binder of a reduction other than a sum.
bool ReducesNeighbours(Context& c, const Expr& e);

// --- lower_unrelated.cc
// Where all of `told` are false, the body has one value at all points of the binder that `local` names (of a sum 0, of
// a product 0 or 1).
bool OneStandsForAll(Context& c, const Expr& e, uint32_t local,
                     const std::vector<const Teller*>& told);

// --- lower_gather.cc
// Block mode: makes what is Gathered within a loop nest, while it lives.
class GatherAhead {
 public:
  // In front of the nest's loop over the binder behind the first so many, which have their values. `own`: also for that
  // binder's own points; elsewhere for those of what is inside its loop.
  GatherAhead(Context& c, const Expr& nest, size_t known, bool own);
  // `changing`: locals that differ between turns.
  GatherAhead(Context& c, const Block& loop, const std::vector<uint32_t>& changing);
  ~GatherAhead();
  GatherAhead(const GatherAhead&) = delete;
  GatherAhead& operator=(const GatherAhead&) = delete;

 private:
  void Scan(const Expr& e, const std::set<uint32_t>& before, size_t first = 0);
  Context& c_;
  std::vector<const Expr*> made_;
};

// --- lower_neighbours.cc
// Block mode: the points at which the body of `e` has to be evaluated for this binder; all: nullopt. The
// binders before it have their values. One array of 8 bytes a point.
std::optional<Neighbours> NeighboursOf(Context& c, const Expr& e, size_t binder,
                                       const Range& range);

// --- lower_points.cc
// Sets of points as (points, count, a place that says nothing), like those of Neighbours. Block mode.
// Both sets', and the first point that is in neither, ascending.
std::vector<Value> MergePoints(Context& c, const std::vector<Value>& a, const std::vector<Value>& b,
                               Value extent);
// One point, if it is in range; all that are.
std::vector<Value> OnePoint(Context& c, Value point, Value extent);
std::vector<Value> AllPoints(Context& c, Value extent);
// Those at which the key is open (lower_keys.h).
std::vector<Value> OpenPoints(Context& c, Value keys);

// --- lower_neighbours.cc
// From here on the calls that tell the points are what the place among the points says; until Untell.
void Tell(Context& c, const Neighbours& n, Value place);
void Untell(Context& c, const Neighbours& n);

}  // namespace pullback::lang
