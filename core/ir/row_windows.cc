#include "core/ir/row_windows.h"

#include <algorithm>

namespace pullback::ir {
namespace {

constexpr int64_t kMostAway = 1 << 20, kMostTurns = 16;

bool IsNear(int64_t rows) { return -kMostAway <= rows && rows <= kMostAway; }

// How far the constraints let `v` be from the index.
std::optional<RowWindow> BandAround(const Each& each, Value v, Value index) {
  std::optional<int64_t> first, last;
  for (const Constraint& c : each.where) {
    if (c.equality || c.e.terms.size() != 2 || !IsNear(c.e.constant)) continue;
    const int64_t sign = c.e.Coeff(v);
    if ((sign != 1 && sign != -1) || c.e.Coeff(index) != -sign) continue;
    if (sign == 1)
      first = std::max(first.value_or(INT64_MIN), -c.e.constant);
    else
      last = std::min(last.value_or(INT64_MAX), c.e.constant);
  }
  if (!first || !last || *last < *first || *last - *first >= kMostTurns) return std::nullopt;
  return RowWindow{*first, *last};
}

}  // namespace

std::optional<RowWindow> FindRowWindow(
    const Each& each, const Affine& sub, Value index,
    const std::function<std::optional<int64_t>(Value)>& constant) {
  if (!IsNear(sub.constant)) return std::nullopt;
  RowWindow window{sub.constant, sub.constant};
  bool found = false;
  const auto add = [&](int64_t first, int64_t last) {
    window.first += first;
    window.last += last;
  };
  for (const Affine::Term& t : sub.terms) {
    if (t.value == index && t.coeff == 1) {
      found = true;
      continue;
    }
    const auto of = std::find_if(each.indices.begin(), each.indices.end(),
                                 [&](const IndexVar& i) { return i.var == t.value; });
    if (of == each.indices.end() || t.value == index || !IsNear(t.coeff)) return std::nullopt;
    const auto band = t.coeff == 1 && !found && sub.Coeff(index) == 0
                          ? BandAround(each, t.value, index)
                          : std::nullopt;
    const std::optional<int64_t> turns = constant(of->extent);
    if (band) {
      found = true;
      add(band->first, band->last);
    } else if (turns && 1 <= *turns && *turns <= kMostTurns) {
      const int64_t reach = t.coeff * (*turns - 1);
      add(std::min<int64_t>(reach, 0), std::max<int64_t>(reach, 0));
    } else {
      return std::nullopt;
    }
  }
  return found ? std::optional(window) : std::nullopt;
}

}  // namespace pullback::ir
