#include "core/analysis/box.h"

#include <algorithm>

namespace pullback::analysis {

using ir::Affine;
using ir::Value;

namespace {

// A tame form's terms add up to no more than this in any order; the sum of two tame forms fits.
constexpr __int128 kSmall = __int128{1} << 61;
constexpr __int128 kMaxCoeff = __int128{1} << 31;

__int128 Magnitude(__int128 v) { return v < 0 ? -v : v; }

}  // namespace

std::optional<Affine> Combine(int64_t a, const Affine& x, int64_t b, const Affine& y) {
  const __int128 constant = __int128{a} * x.constant + __int128{b} * y.constant;
  if (Magnitude(constant) > kSmall) return std::nullopt;
  Affine sum = Affine::Const(static_cast<int64_t>(constant));
  size_t i = 0, j = 0;
  while (i < x.terms.size() || j < y.terms.size()) {
    const bool from_x =
        j == y.terms.size() || (i < x.terms.size() && !(y.terms[j].value < x.terms[i].value));
    const bool from_y =
        i == x.terms.size() || (j < y.terms.size() && !(x.terms[i].value < y.terms[j].value));
    const Value v = from_x ? x.terms[i].value : y.terms[j].value;
    __int128 coeff = 0;
    if (from_x) coeff += __int128{a} * x.terms[i++].coeff;
    if (from_y) coeff += __int128{b} * y.terms[j++].coeff;
    if (Magnitude(coeff) > kMaxCoeff) return std::nullopt;
    if (coeff != 0) sum.terms.push_back({v, static_cast<int64_t>(coeff)});
  }
  return sum;
}

// --- what is known

void Box::AddIndex(Value var, const Affine& extent) {
  const std::optional<Interval> range = RangeOf(extent);
  ranges_[var] = {0, range ? std::max<int64_t>(range->hi - 1, 0) : INT64_MAX};
  extents_[var] = extent;
}

void Box::RemoveIndex(Value var) { extents_.erase(var); }

const Affine* Box::ExtentOf(Value v) const {
  const auto it = extents_.find(v);
  return it == extents_.end() ? nullptr : &it->second;
}

Interval Box::RangeOf(Value v) const {
  const auto it = ranges_.find(v);
  return it == ranges_.end() ? Interval{} : it->second;
}

std::optional<Interval> Box::RangeOf(const Affine& e) const {
  __int128 lo = e.constant, hi = e.constant, most = Magnitude(e.constant);
  for (const Affine::Term& t : e.terms) {
    const Interval range = RangeOf(t.value);
    const __int128 c = t.coeff;
    if (Magnitude(c) > kMaxCoeff) return std::nullopt;
    lo += c * (c > 0 ? range.lo : range.hi);
    hi += c * (c > 0 ? range.hi : range.lo);
    most += Magnitude(c) * std::max(Magnitude(range.lo), Magnitude(range.hi));
    if (most > kSmall) return std::nullopt;
  }
  return Interval{static_cast<int64_t>(lo), static_cast<int64_t>(hi)};
}

// --- what follows

// Every index at the end of its range where that makes the form least.
bool Box::FollowsFromCorners(const Affine& e) const {
  Affine least = e;
  for (const Affine::Term& t : e.terms) {
    const Affine* extent = ExtentOf(t.value);
    if (!extent) continue;
    const Affine at = t.coeff > 0 ? Affine{} : *extent - Affine::Const(1);
    const std::optional<Affine> moved =
        Combine(1, least.Substitute(t.value, Affine{}), t.coeff, at);
    if (!moved) return false;
    least = *moved;
  }
  const std::optional<Interval> range = RangeOf(least);
  return range && range->lo >= 0;
}

Truth Box::IsNonNegative(const Affine& e) const {
  const std::optional<Interval> range = RangeOf(e);
  if (!range) return Truth::kUnknown;
  if (range->lo >= 0 || FollowsFromCorners(e)) return Truth::kTrue;
  if (range->hi < 0 || FollowsFromCorners(e * -1 - Affine::Const(1))) return Truth::kFalse;
  return Truth::kUnknown;
}

std::vector<ir::Constraint> Box::ConstraintsOf(Value v) const {
  if (const Affine* extent = ExtentOf(v))
    return {{Affine::Of(v), false}, {*extent - Affine::Const(1) - Affine::Of(v), false}};
  std::vector<ir::Constraint> all;
  const Interval range = RangeOf(v);
  if (Magnitude(range.lo) <= kSmall)
    all.push_back({Affine::Of(v) - Affine::Const(range.lo), false});
  if (Magnitude(range.hi) <= kSmall)
    all.push_back({Affine::Const(range.hi) - Affine::Of(v), false});
  return all;
}

}  // namespace pullback::analysis
