#include "core/tensor/tame_values.h"

#include <algorithm>

#include "core/tensor/statement_edit.h"

namespace pullback::tensor {

using analysis::Interval;
using ir::Affine;
using ir::Constraint;
using ir::Value;

namespace {

constexpr int64_t kMost = int64_t{1} << 60;

}  // namespace

// rest + wild = 0 asks whether the machine integer -wild is the number that rest is. What is beyond the range of that
// may be anything else that is beyond it.
std::optional<Constraint> TameValues::Tame(const Constraint& c) {
  if (!c.equality || box_.IsTame(c.e)) return std::nullopt;
  Affine rest = Affine::Const(c.e.constant), wild;
  for (const Affine::Term& t : c.e.terms) (IsWild(t.value) ? wild : rest).terms.push_back(t);
  const std::optional<Interval> range = box_.RangeOf(rest);
  if (wild.IsConst() || !range || range->lo < -kMost || range->hi > kMost) return std::nullopt;
  const Affine tame = rest + Affine::Of(Clamp(wild, {-range->hi - 1, -range->lo + 1}));
  return box_.IsTame(tame) ? std::optional<Constraint>({tame, true}) : std::nullopt;
}

std::optional<Constraint> TameValues::Ordered(const Affine& less, const Affine& more,
                                              bool strictly) {
  Affine low = less, high = more;
  if (IsOuter(more) && !box_.IsTame(more)) {
    const auto beside = Beside(less, more);
    if (!beside) return std::nullopt;
    high = *beside;
  } else if (IsOuter(less) && !box_.IsTame(less)) {
    const auto beside = Beside(more, less);
    if (!beside) return std::nullopt;
    low = *beside;
  }
  const Affine apart = high - low - Affine::Const(strictly ? 1 : 0);
  const bool tame = box_.IsTame(low) && box_.IsTame(high) && box_.IsTame(apart);
  return tame ? std::optional<Constraint>({apart, false}) : std::nullopt;
}

std::optional<Affine> TameValues::Beside(const Affine& tame, const Affine& outer) {
  const std::optional<Interval> range = box_.RangeOf(tame);
  if (!range || range->lo < -kMost || range->hi > kMost) return std::nullopt;
  return Affine::Of(Clamp(outer, {range->lo - 1, range->hi + 1}));
}

bool TameValues::IsOuter(Value v) const {
  return v.id < known_ && !box_.ExtentOf(v) && !FindDef(each_, v);
}

bool TameValues::IsOuter(const Affine& e) const {
  return std::all_of(e.terms.begin(), e.terms.end(),
                     [&](const Affine::Term& t) { return IsOuter(t.value); });
}

bool TameValues::IsWild(Value v) const {
  if (!IsOuter(v)) return false;
  const Interval range = box_.RangeOf(v);
  return range.lo < -kMaxExtent || range.hi > kMaxExtent;
}

Value TameValues::Clamp(const Affine& form, Interval range) {
  for (const Clamped& c : made_) {
    if (c.form == form && c.range.lo == range.lo && c.range.hi == range.hi) return c.value;
  }
  made_.push_back({f_.NewValue(ir::Type::I64()), form, range});
  box_.AddValue(made_.back().value, range);
  return made_.back().value;
}

}  // namespace pullback::tensor
