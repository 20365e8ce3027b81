#include "core/ir/row_windows.h"

#include <algorithm>
#include <cstdlib>

namespace pullback::ir {
namespace {

constexpr int64_t kMostAway = 1 << 20, kMostTurns = 256, kMostStep = 64;

bool IsNear(int64_t rows) { return -kMostAway <= rows && rows <= kMostAway; }
bool IsStep(int64_t step) { return 1 <= step && step <= kMostStep; }

// By how many rows two windows around each other reach, of which one at most says an extent for each side.
std::optional<RowWindow> Widened(RowWindow window, const RowWindow& by) {
  window.first += by.first * window.period;
  window.last += by.last * window.period;
  for (const auto side : {&RowWindow::behind, &RowWindow::ahead}) {
    if (!(by.*side).valid()) continue;
    if ((window.*side).valid() || window.period != 1) return std::nullopt;
    window.*side = by.*side;
  }
  return window;
}

class Windows {
 public:
  Windows(const Each& each, Value index, const RowFacts& facts)
      : each_(each), index_(index), facts_(facts) {}

  std::optional<RowWindow> Of(const Affine& sub) const {
    if (!IsNear(sub.constant)) return std::nullopt;
    if (const std::optional<RowWindow> window = FromEnd(sub)) return window;
    Value middle = index_;  // what the window is around
    std::optional<RowWindow> window = Middle(sub, middle);
    if (window) window = Widened(*window, {sub.constant, sub.constant, {}, {}});
    for (const Affine::Term& t : sub.terms) {
      if (t.value == middle || !window) continue;
      if (!IsNear(t.coeff)) return std::nullopt;
      const IndexVar* of = Find(t.value);
      const std::optional<RowWindow> by =
          of == nullptr ? Range(t.value, t.coeff) : Turns(*of, t.coeff);
      window = by ? Widened(*window, *by) : std::nullopt;
    }
    return window;
  }

 private:
  const IndexVar* Find(Value v) const {
    const auto of = std::find_if(each_.indices.begin(), each_.indices.end(),
                                 [&](const IndexVar& i) { return i.var == v; });
    return of == each_.indices.end() ? nullptr : &*of;
  }
  // Of something of outside without another index that constraints hold near to what is left: n - 1 - j, n - 2 <= i + j <= n.
  std::optional<RowWindow> FromEnd(const Affine& sub) const {
    if (sub.Coeff(index_) != 0) return std::nullopt;
    for (const Affine::Term& t : sub.terms) {
      if (t.coeff != -1 || !Find(t.value)) continue;
      if (auto band = BandAround(t.value, sub + Affine::Of(t.value))) return band;
    }
    return std::nullopt;
  }
  // The index's own multiple, or the first other index that constraints hold near to the index.
  std::optional<RowWindow> Middle(const Affine& sub, Value& middle) const {
    const int64_t step = sub.Coeff(index_);
    if (step != 0)
      return IsStep(step) ? std::optional(RowWindow{0, 0, {}, {}, step}) : std::nullopt;
    for (const Affine::Term& t : sub.terms) {
      if (t.coeff != 1) continue;
      std::optional<RowWindow> band =
          Find(t.value) ? BandAround(t.value, std::nullopt) : Quotient(t.value);
      if (!band) continue;
      middle = t.value;
      return band;
    }
    return std::nullopt;
  }
  // Of a near row by k: with what is left of the division, k times it is what was divided.
  std::optional<RowWindow> Quotient(Value v) const {
    const Inst* div = Made(v);
    if (div == nullptr || div->op != Op::Div) return std::nullopt;
    const std::optional<int64_t> by = Number(div->args[1]);
    const Inst* above = Made(div->args[0]);
    std::optional<RowWindow> window = Of(
        above != nullptr && above->op == Op::AffineOf ? above->subs[0] : Affine::Of(div->args[0]));
    const bool is_row = window && window->step == 1 && window->period == 1 && window->first >= 0 &&
                        !window->behind.valid();
    if (!is_row || !by || !IsStep(*by)) return std::nullopt;
    window->first -= *by - 1;
    window->period = *by;
    return window;
  }
  std::optional<int64_t> Number(Value v) const {
    const Inst* made = Made(v);
    if (made == nullptr || made->op != Op::Const) return facts_.constant(v);
    return static_cast<int64_t>(made->bits);
  }
  const Inst* Made(Value v) const {
    const auto made = std::find_if(each_.body.begin(), each_.body.end(), [&](const Inst& inst) {
      return inst.results.size() == 1 && inst.results[0] == v;
    });
    return made == each_.body.end() ? nullptr : &*made;
  }
  // What an index of few turns, or of as many as an array has elements, adds.
  std::optional<RowWindow> Turns(const IndexVar& i, int64_t coeff) const {
    if (const std::optional<int64_t> turns = facts_.constant(i.extent)) {
      if (*turns < 1 || *turns > kMostTurns) return std::nullopt;
      const int64_t reach = coeff * (*turns - 1);
      return RowWindow{std::min<int64_t>(reach, 0), std::max<int64_t>(reach, 0), kNoValue,
                       kNoValue};
    }
    if (!facts_.is_extent(i.extent)) return std::nullopt;
    if (coeff == 1) return RowWindow{0, -1, kNoValue, i.extent};
    if (coeff == -1) return RowWindow{1, 0, i.extent, kNoValue};
    return std::nullopt;
  }
  std::optional<RowWindow> Range(Value v, int64_t coeff) const {
    const auto range = facts_.range ? facts_.range(v) : std::nullopt;
    if (!range || range->second - range->first >= kMostTurns || !IsNear(range->first))
      return std::nullopt;
    const auto [least, most] = std::minmax(coeff * range->first, coeff * range->second);
    return RowWindow{least, most, kNoValue, kNoValue};
  }
  // How far the constraints let `v` be from the index, or what is left of `of` without it.
  std::optional<RowWindow> BandAround(Value v, const std::optional<Affine>& of) const {
    RowWindow band;
    bool below = false, above = false;
    for (const Constraint& c : each_.where) {
      const Affine e = of ? c.e.Substitute(v, *of - Affine::Of(v)) : c.e;
      const int64_t of_v = e.Coeff(v), of_index = e.Coeff(index_);
      const bool least = of_v > 0;  // it says where v starts
      const int64_t period = std::abs(of_v), step = least ? -of_index : of_index;
      if (c.equality || !IsStep(period) || !IsStep(step) || (period != 1 && step != 1)) continue;
      if ((below || above) && (period != band.period || step != band.step)) continue;
      const Affine rest = e - Affine::Of(v) * of_v - Affine::Of(index_) * of_index;
      if (!IsNear(rest.constant) || rest.terms.size() > 1) continue;
      Value extent;
      if (rest.terms.size() == 1) {
        extent = rest.terms[0].value;
        if (rest.terms[0].coeff != 1 || !facts_.is_extent(extent)) continue;
      }
      bool& known = least ? below : above;
      if (known && extent.valid()) continue;
      band.period = period;
      band.step = step;
      if (least) {
        band.first =
            known && !band.behind.valid() ? std::max(band.first, -rest.constant) : -rest.constant;
        band.behind = extent;
      } else {
        band.last =
            known && !band.ahead.valid() ? std::min(band.last, rest.constant) : rest.constant;
        band.ahead = extent;
      }
      known = true;
    }
    if (!below || !above) return std::nullopt;
    const bool is_constant = !band.behind.valid() && !band.ahead.valid();
    if (is_constant && (band.last < band.first || band.last - band.first >= kMostTurns))
      return std::nullopt;
    return band;
  }

  const Each& each_;
  const Value index_;
  const RowFacts& facts_;
};

}  // namespace

RowFacts RowFactsOf(const KnownExtents& extents) {
  const auto constant = [&extents](Value v) {
    const auto it = extents.constants.find(v);
    return it == extents.constants.end() ? std::nullopt : std::optional(it->second);
  };
  return {constant, [&extents](Value v) { return extents.IsDim(v); }};
}

std::optional<RowWindow> FindRowWindow(const Each& each, const Affine& sub, Value index,
                                       const RowFacts& facts) {
  return Windows(each, index, facts).Of(sub);
}

}  // namespace pullback::ir
