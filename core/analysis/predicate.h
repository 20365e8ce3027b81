// Conjunctions of affine constraints, handled directly: normal form, implication, emptiness, negation,
// solving equalities, and exists (Bernstein et al., section 4.3: predicates are structural).
//
// A constraint that is not tame (box.h) is carried along untouched: it narrows nothing, proves nothing
// and is never dropped. "Proves" functions answer false where they do not know. Each takes a budget of
// steps (one per combination of two constraints), so that no input makes them slow.
#pragma once

#include <optional>
#include <vector>

#include "core/analysis/box.h"

namespace pullback::analysis {

// How many constraints may be combined, and how many were.
struct Work {
  int64_t limit = 2000;
  int64_t steps = 0;

  bool Spend() { return ++steps <= limit; }
};

// e is a multiple of k >= 2.
struct Stride {
  ir::Affine e;
  int64_t k;
  bool operator==(const Stride&) const = default;
};

// A name for the greatest integer that is at most e / d, d >= 2.
struct Quotient {
  ir::Value name;
  ir::Affine e;
  int64_t d;
  bool operator==(const Quotient&) const = default;
};

struct Predicate {
  std::vector<ir::Constraint> constraints;
  std::vector<Stride> strides;
  // What the constraints and strides, and the quotients behind it, may name. isl_solver.h alone looks into them.
  std::vector<Quotient> quotients = {};
  bool operator==(const Predicate&) const = default;
};

// The greatest integer that is at most a / b; b >= 1.
int64_t FloorDiv(int64_t a, int64_t b);

// Of a quotient; nullopt: what is divided is not tame.
std::optional<Interval> RangeOf(const Quotient& q, const Box& box);

// An exact statement about integers in lowest terms: 2i - 1 >= 0 becomes i - 1 >= 0, 2i = 1 is false.
Truth LowestTerms(ir::Constraint& c);

// One constraint of a box in lowest terms. kTrue and kFalse: at every point of the box, at
// none.
Truth Normalise(ir::Constraint& c, const Box& box);
// Likewise a stride.
Truth Normalise(Stride& s, const Box& box);

// All in lowest terms, without what the box or another one implies; i <= 3 and i >= 3 become i = 3.
// kTrue: none is left. kFalse: no point of the box holds. Keeps the order of what it keeps.
Truth Simplify(std::vector<ir::Constraint>& constraints, const Box& box, Work& work);
Truth Simplify(Predicate& p, const Box& box, Work& work);

// Whether no integer point of the box satisfies all constraints, by Fourier-Motzkin elimination with
// integer tightening.
bool ProvesEmpty(ir::ConstraintSpan constraints, const Box& box, Work& work);
// Whether c holds wherever the constraints do.
bool ProvesImplied(ir::ConstraintSpan constraints, const ir::Constraint& c, const Box& box,
                   Work& work);

// not c, as a disjunction of one or two. nullopt: not tame.
std::optional<std::vector<ir::Constraint>> Negate(const ir::Constraint& c, const Box& box);

}  // namespace pullback::analysis
