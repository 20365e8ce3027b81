#include "core/analysis/quotients.h"

#include <algorithm>

namespace pullback::analysis {

using ir::Affine;

std::optional<Affine> Quotients::Floor(const Affine& e, int64_t d) {
  for (const Quotient& q : all_) {
    if (q.e == e && q.d == d) return Affine::Of(q.name);
  }
  if (d < 2 || !box_.IsTame(e)) return std::nullopt;
  all_.push_back({f_.NewValue(ir::Type::I64()), e, d});
  box_.AddValue(all_.back().name, *RangeOf(all_.back(), box_));
  return Affine::Of(all_.back().name);
}

std::optional<Affine> Quotients::Divide(const Affine& e, int64_t d) {
  const std::optional<Interval> range = box_.RangeOf(e);
  if (!range || (range->lo < 0 && range->hi > 0)) return std::nullopt;
  if (range->lo >= 0) return Floor(e, d);
  const std::optional<Affine> q = Floor(e * -1, d);
  return q ? std::optional(*q * -1) : std::nullopt;
}

std::optional<Affine> Quotients::Remainder(const Affine& e, int64_t d) {
  const std::optional<Affine> q = Divide(e, d);
  return q ? std::optional(e - *q * d) : std::nullopt;
}

std::vector<Quotient> Quotients::NamedBy(ir::ConstraintSpan constraints) const {
  std::vector<Quotient> named;
  for (size_t k = all_.size(); k-- > 0;) {
    const auto names = [&](const auto& part) { return part.e.Coeff(all_[k].name) != 0; };
    if (std::any_of(constraints.begin(), constraints.end(), names) ||
        std::any_of(named.begin(), named.end(), names))
      named.insert(named.begin(), all_[k]);
  }
  return named;
}

int64_t LeastShift(const Quotient& q, const Box& box) {
  if (box.IsNonNegative(q.e) == Truth::kTrue) return 0;
  return std::max<int64_t>(0, -FloorDiv(box.RangeOf(q.e)->lo, q.d));
}

}  // namespace pullback::analysis
