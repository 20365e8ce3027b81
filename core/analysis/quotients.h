// Integers of a body that are quotients of affine forms, i / 3 and i % 3, as names in affine forms.
#pragma once

#include <optional>
#include <vector>

#include "core/analysis/predicate.h"
#include "core/ir/ir.h"

namespace pullback::analysis {

class Quotients {
 public:
  // The box learns the ranges of the names.
  Quotients(ir::Function& f, Box& box) : f_(f), box_(box) {}

  // The greatest integer that is at most e / d, d >= 2. nullopt: e may wrap.
  std::optional<ir::Affine> Floor(const ir::Affine& e, int64_t d);
  // What the machine gives, which truncates, and the remainder. nullopt: e may wrap, or be of either sign.
  std::optional<ir::Affine> Divide(const ir::Affine& e, int64_t d);
  std::optional<ir::Affine> Remainder(const ir::Affine& e, int64_t d);

  // Those that the constraints name, and those that these name, in order.
  std::vector<Quotient> NamedBy(ir::ConstraintSpan constraints) const;

 private:
  ir::Function& f_;
  Box& box_;
  std::vector<Quotient> all_;
};

// The least n >= 0 for which a tame e + d * n is not negative at any point of the box.
int64_t LeastShift(const Quotient& q, const Box& box);

}  // namespace pullback::analysis
