// What is known of the integers of a predicate before any of its constraints: index variables lie in
// 0 <= var < extent, values from outside in a range. Arithmetic on affine forms that does not wrap.
//
// Machine integers wrap, so a rule of integer arithmetic may be applied to a form only where no sum of
// its terms can wrap: where it is *tame*.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::analysis {

enum class Truth : uint8_t { kFalse, kTrue, kUnknown };

struct Interval {
  int64_t lo = INT64_MIN, hi = INT64_MAX;
};

// a * x + b * y; nullopt where a coefficient or the constant becomes too large to go on with.
std::optional<ir::Affine> Combine(int64_t a, const ir::Affine& x, int64_t b, const ir::Affine& y);

class Box {
 public:
  // 0 <= var < extent, a form over values from outside.
  void AddIndex(ir::Value var, const ir::Affine& extent);
  // Forgets that `var` is an index; its range stays.
  void RemoveIndex(ir::Value var);
  void AddValue(ir::Value v, Interval range) { ranges_[v] = range; }

  // The extent of an index; nullptr for values from outside.
  const ir::Affine* ExtentOf(ir::Value v) const;
  Interval RangeOf(ir::Value v) const;
  // Of a form: exact, or nullopt where it is not tame.
  std::optional<Interval> RangeOf(const ir::Affine& e) const;
  bool IsTame(const ir::Affine& e) const { return RangeOf(e).has_value(); }

  // Whether e >= 0 at every point of the box (kTrue) or at none (kFalse). Linear in the terms.
  Truth IsNonNegative(const ir::Affine& e) const;
  // What the box says of v as constraints: v >= 0 and extent - 1 - v >= 0, or its range.
  std::vector<ir::Constraint> ConstraintsOf(ir::Value v) const;

 private:
  bool FollowsFromCorners(const ir::Affine& e) const;

  std::map<ir::Value, ir::Affine> extents_;
  std::map<ir::Value, Interval> ranges_;
};

}  // namespace pullback::analysis
