// Solving a predicate for one of its variables: what Σ_j [e = 0] and exists are eliminated by.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/analysis/predicate.h"

namespace pullback::analysis {

// The least x >= 0 with a * x + c a multiple of m >= 1; nullopt: none.
std::optional<int64_t> Residue(int64_t a, int64_t c, int64_t m);

// a * i + b * j + c = 0 without a unit coefficient: the points of the line are
//   i = first + step * t  (0 <= t, and t <= i),  j = start + slope * t.
struct Line {
  int64_t first, step;
  int64_t start, slope;
};
// `zero` is tame, in lowest terms, and has the two terms i and j only. nullopt: no integer point.
std::optional<Line> SolveLine(const ir::Affine& zero, ir::Value i, ir::Value j);

// exists v of the box: p, without v: exact, in integers. nullopt: not solved here (quotients, no unit coefficient
// and v in a constraint that is not tame, or bounded on both sides by multiples of it).
std::optional<Predicate> EliminateExists(ir::Value v, const Predicate& p, const Box& box,
                                         Work& work);

}  // namespace pullback::analysis
