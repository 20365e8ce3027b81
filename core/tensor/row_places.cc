#include "core/tensor/row_places.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/ir/statements.h"
#include "core/tensor/made_rows.h"

namespace pullback::tensor {
namespace {

using ir::Affine;

constexpr size_t kMostPlaces = 4, kMostIndices = 4;

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
  if (longest <= kFewOfSet || !AreFewTwice(rows, first.step) || sets.size() > kMostPlaces)
    return std::nullopt;
  return sets;
}

}  // namespace

std::optional<Place> PlaceOf(const ir::Each& reader, const Affine& sub,
                             const std::function<std::optional<int64_t>(ir::Value)>& length) {
  std::vector<Affine::Term> of;  // indices, that of the sets first
  for (const Affine::Term& t : sub.terms) {
    if (FindDef(reader, t.value)) return std::nullopt;
    if (PlaceOfIndex(reader, t.value)) of.push_back(t);
  }
  if (of.empty() || of.size() > kMostIndices) return std::nullopt;
  for (Affine::Term& t : of) {
    if (Magnitude(t.coeff) > Magnitude(of[0].coeff)) std::swap(t, of[0]);
  }
  const auto extent = [&](const Affine::Term& t) {
    return reader.indices[*PlaceOfIndex(reader, t.value)].extent;
  };
  const uint64_t step = Magnitude(of[0].coeff);
  if (of.size() > 1 && (step <= kFewOfSet || step > kMostOfSet)) return std::nullopt;
  Place place;
  place.index = of[0].value;
  place.places = {of[0].coeff, sub - Affine::Of(of[0].value) * of[0].coeff, extent(of[0])};
  for (size_t k = 1; k < of.size(); ++k) {
    const std::optional<int64_t> turns = length(extent(of[k]));
    if (!turns || *turns < 1 || *turns > kMostOfSet) return std::nullopt;
    const int64_t last = of[k].coeff * (*turns - 1);
    place.places.length += std::abs(last);
    place.within = place.within + Affine::Of(of[k].value) * of[k].coeff -
                   Affine::Const(std::min<int64_t>(last, 0));
  }
  place.places.from = place.places.from - place.within;
  return place;
}

bool AreFewTwice(int64_t rows, int64_t step) { return rows <= std::abs(step) + std::abs(step) / 4; }

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
