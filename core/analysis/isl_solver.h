// What predicate.h does not solve, by isl: exact projections and emptiness of sets of integer points. Each
// question has a cap on isl's operations; where it is met the answer is that it is not known, and the
// caller keeps the test for run time. Milliseconds rather than microseconds.
#pragma once

#include <optional>
#include <vector>

#include "core/analysis/predicate.h"

namespace pullback::analysis {

struct IslLimits {
  uint64_t max_operations = 100'000;
  size_t max_pieces = 4;  // of a projection
};

// Whether isl is part of this build; without it nothing is known.
bool HasIsl();

// Whether no point of the box satisfies p. Constraints that are not tame are left out, and then kFalse (not
// empty) is not answered.
Truth IslIsEmpty(const Predicate& p, const Box& box, const IslLimits& limits = {});

// exists vars: p, as a disjunction; none: false. The pieces may have quotients, whose names mean nothing outside
// of their piece: a union of residues, 3k <= i <= 3k + 1, is i - 3q <= 1 with q = floor(i / 3). nullopt: the cap was
// met, or a constraint is not tame.
std::optional<std::vector<Predicate>> IslExists(const std::vector<ir::Value>& vars,
                                                const Predicate& p, const Box& box,
                                                const IslLimits& limits = {});

}  // namespace pullback::analysis
