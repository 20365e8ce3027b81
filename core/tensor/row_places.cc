#include "core/tensor/row_places.h"

#include <algorithm>
#include <cstdlib>

#include "core/tensor/made_rows.h"

namespace pullback::tensor {
namespace {

using ir::Affine;

constexpr size_t kMostPlaces = 4;

// By what is left when they are divided by the step, or since one begins where the other ends.
bool NeverMeet(const Places& a, const Places& b) {
  if (Magnitude(a.step) != Magnitude(b.step) || Magnitude(a.step) > INT64_MAX) return false;
  const int64_t step = std::abs(a.step);
  const Affine apart = b.from - a.from;
  if (step > 1) return apart.IsConst() && apart.constant % step != 0;
  return a.step == 1 && b.step == 1 &&
         (apart == Affine::Of(a.rows) || apart * -1 == Affine::Of(b.rows));
}

std::optional<int64_t> Apart(const Places& a, const Places& b) {
  const Affine apart = b.from - a.from;
  if (a.step != b.step || a.rows != b.rows || !apart.IsConst()) return std::nullopt;
  return apart.constant;
}

// In the order of their first rows.
std::optional<std::vector<Places>> SetsOf(std::vector<Places> parts) {
  const Places first = parts[0];
  const bool known = std::all_of(parts.begin(), parts.end(),
                                 [&](const Places& p) { return Apart(first, p).has_value(); });
  if (!known) return std::nullopt;
  std::sort(parts.begin(), parts.end(),
            [&](const Places& a, const Places& b) { return *Apart(first, a) < *Apart(first, b); });
  std::vector<Places> sets;
  int64_t rows = 0, longest = 0;
  for (const Places& p : parts) {
    const int64_t behind = sets.empty() ? 0 : *Apart(sets.back(), p);
    if (sets.empty() || behind >= sets.back().length)
      sets.push_back(p);
    else
      sets.back().length = std::max(sets.back().length, behind + p.length);
  }
  for (const Places& p : sets) {
    rows += p.length;
    longest = std::max(longest, p.length);
  }
  const int64_t step = std::abs(first.step);
  const bool few_twice = rows <= step + step / 4;
  if (longest <= kFewOfSet || !few_twice || sets.size() > kMostPlaces) return std::nullopt;
  return sets;
}

}  // namespace

std::optional<int64_t> OffsetIn(const Places& all, const Places& part) {
  if (all == part) return 0;
  const std::optional<int64_t> behind = Apart(all, part);
  const bool in = behind && *behind >= 0 && *behind + part.length <= all.length;
  return in ? behind : std::nullopt;
}

std::optional<std::vector<Places>> MadeTogether(std::vector<Places> parts) {
  if (parts.empty()) return std::nullopt;
  if (std::any_of(parts.begin(), parts.end(), [](const Places& p) { return p.AreSets(); }))
    return SetsOf(std::move(parts));
  if (parts.size() > kMostPlaces) return std::nullopt;
  for (size_t a = 0; a < parts.size(); ++a) {
    for (size_t b = a + 1; b < parts.size(); ++b) {
      if (!NeverMeet(parts[a], parts[b])) return std::nullopt;
    }
  }
  return parts;
}

}  // namespace pullback::tensor
