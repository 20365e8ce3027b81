#include "core/tensor/tame_values.h"

#include "core/tensor/statement_edit.h"

namespace pullback::tensor {

using analysis::Interval;
using ir::Affine;
using ir::Constraint;
using ir::Value;

// rest + wild = 0 asks whether the machine integer -wild is the number that rest is. What is beyond the range of that
// may be anything else that is beyond it.
std::optional<Constraint> TameValues::Tame(const Constraint& c) {
  constexpr int64_t kMost = int64_t{1} << 60;
  if (!c.equality || box_.IsTame(c.e)) return std::nullopt;
  Affine rest = Affine::Const(c.e.constant), wild;
  for (const Affine::Term& t : c.e.terms) (IsWild(t.value) ? wild : rest).terms.push_back(t);
  const std::optional<Interval> range = box_.RangeOf(rest);
  if (wild.IsConst() || !range || range->lo < -kMost || range->hi > kMost) return std::nullopt;
  const Affine tame = rest + Affine::Of(Clamp(wild, {-range->hi - 1, -range->lo + 1}));
  return box_.IsTame(tame) ? std::optional<Constraint>({tame, true}) : std::nullopt;
}

bool TameValues::IsWild(Value v) const {
  if (box_.ExtentOf(v) || FindDef(each_, v)) return false;
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
