#include "core/ir/row_windows.h"

#include <algorithm>

namespace pullback::ir {
namespace {

constexpr int64_t kMostAway = 1 << 20, kMostTurns = 16;

bool IsNear(int64_t rows) { return -kMostAway <= rows && rows <= kMostAway; }

// By how much two windows around each other reach, of which one at most says an extent for each side.
std::optional<RowWindow> Widened(RowWindow window, const RowWindow& by) {
  window.first += by.first;
  window.last += by.last;
  for (const auto side : {&RowWindow::behind, &RowWindow::ahead}) {
    if (!(by.*side).valid()) continue;
    if ((window.*side).valid()) return std::nullopt;
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
    std::optional<RowWindow> window =
        RowWindow{sub.constant, sub.constant, ir::kNoValue, ir::kNoValue};
    bool found = sub.Coeff(index_) == 1;
    if (!found && sub.Coeff(index_) != 0) return std::nullopt;
    for (const Affine::Term& t : sub.terms) {
      if (t.value == index_) continue;
      const IndexVar* of = Find(t.value);
      if (of == nullptr || !IsNear(t.coeff)) return std::nullopt;
      std::optional<RowWindow> by;
      if (!found && t.coeff == 1) by = BandAround(t.value);
      found |= by.has_value();
      if (!by) by = Turns(*of, t.coeff);
      if (!by) return std::nullopt;
      window = Widened(*window, *by);
      if (!window) return std::nullopt;
    }
    return found ? window : std::nullopt;
  }

 private:
  const IndexVar* Find(Value v) const {
    const auto of = std::find_if(each_.indices.begin(), each_.indices.end(),
                                 [&](const IndexVar& i) { return i.var == v; });
    return of == each_.indices.end() ? nullptr : &*of;
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
  // How far the constraints let `v` be from the index.
  std::optional<RowWindow> BandAround(Value v) const {
    RowWindow band;
    bool below = false, above = false;
    for (const Constraint& c : each_.where) {
      const int64_t sign = c.e.Coeff(v);
      if (c.equality || (sign != 1 && sign != -1) || c.e.Coeff(index_) != -sign) continue;
      Affine rest = c.e - (Affine::Of(v) - Affine::Of(index_)) * sign;
      if (!IsNear(rest.constant) || rest.terms.size() > 1) continue;
      Value extent;
      if (rest.terms.size() == 1) {
        extent = rest.terms[0].value;
        if (rest.terms[0].coeff != 1 || !facts_.is_extent(extent)) continue;
      }
      bool& known = sign == 1 ? below : above;
      if (known && extent.valid()) continue;
      if (sign == 1) {
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

std::optional<RowWindow> FindRowWindow(const Each& each, const Affine& sub, Value index,
                                       const RowFacts& facts) {
  return Windows(each, index, facts).Of(sub);
}

}  // namespace pullback::ir
