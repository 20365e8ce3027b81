#include "core/opt/fillings.h"

#include <algorithm>
#include <numeric>

namespace pullback::opt {

using ir::Affine;
using ir::Value;

namespace {

// Whether the subscript tells turns of the loop at that place apart, in one turn of those around it that are told already or do not hand
// the array on.
bool Tells(const Affine& a, const Filling& filling, const NestPath& around, size_t at,
           const std::set<const CountedNest*>& told, const TurnValues& values) {
  if (a.Coeff(around[at]->counter) == 0) return false;
  return std::all_of(a.terms.begin(), a.terms.end(), [&](const Affine::Term& t) {
    if (t.value == around[at]->counter || values.IsOutside(t.value)) return true;
    for (size_t k = 0; k < at; ++k) {
      if (around[k]->counter == t.value) return k < filling.level || told.contains(around[k]);
    }
    return false;
  });
}

}  // namespace

bool AreDisjoint(const Access& a, const Access& b) {
  for (size_t axis = 0; axis < a.at.size(); ++axis) {
    int64_t common = 0;
    for (const Affine* at : {&a.at[axis], &b.at[axis]}) {
      for (const Affine::Term& t : at->terms) common = std::gcd(common, t.coeff);
    }
    if (common > 1 && (a.at[axis].constant - b.at[axis].constant) % common != 0) return true;
  }
  return false;
}

namespace {

// Of two accesses: those of a loop that is around both and hands the array on are apart.
bool AreApart(const Filling& filling, const Access& a, const Access& b, const TurnValues& values) {
  if (AreDisjoint(a, b)) return true;
  std::set<const CountedNest*> told;
  for (size_t k = filling.level; k < std::min(a.around.size(), b.around.size()); ++k) {
    if (a.around[k] != b.around[k]) return true;
    bool named = false;
    for (size_t axis = 0; axis < a.at.size(); ++axis)
      named |= a.at[axis] == b.at[axis] && Tells(a.at[axis], filling, a.around, k, told, values);
    if (!named) return false;
    told.insert(a.around[k]);
  }
  return true;
}

}  // namespace

std::set<const CountedNest*> LoopsNamed(const Filling& filling, const Access& access,
                                        const TurnValues& values) {
  std::set<const CountedNest*> told;
  for (size_t k = filling.level; k < access.around.size(); ++k) {
    const bool named = std::any_of(access.at.begin(), access.at.end(), [&](const Affine& a) {
      return Tells(a, filling, access.around, k, told, values);
    });
    if (named) told.insert(access.around[k]);
  }
  return told;
}

bool IsOfEarlierTurns(const Filling& filling, const Access& read) {
  if (read.around.size() <= filling.level || filling.stores.empty()) return false;
  const Value counter = read.around[filling.level]->counter;
  return std::all_of(filling.stores.begin(), filling.stores.end(), [&](const Access& store) {
    for (size_t axis = 0; axis < read.at.size(); ++axis) {
      const Affine ahead = store.at[axis] - read.at[axis];
      const bool of_turn = (store.at[axis] - Affine::Of(counter)).IsConst();
      if (of_turn && ahead.IsConst() && ahead.constant > 0) return true;
    }
    return false;
  });
}

bool AreTurnsApart(const Filling& filling, const TurnValues& values) {
  return std::all_of(filling.stores.begin(), filling.stores.end(), [&](const Access& store) {
    return std::all_of(filling.stores.begin(), filling.stores.end(),
                       [&](const Access& other) {
                         // What is only added may be added by any turn, and in any order.
                         const bool adds = store.join == Join::kAdd && other.join == Join::kAdd;
                         const bool joins_alone = &store == &other && store.join != Join::kReplace;
                         return adds || joins_alone || AreApart(filling, store, other, values);
                       }) &&
           std::all_of(filling.reads.begin(), filling.reads.end(), [&](const Access& read) {
             return AreApart(filling, store, read, values) || IsOfEarlierTurns(filling, read);
           });
  });
}

std::optional<Place> PlaceOf(const Filling& filling, const Access& store, size_t axis) {
  const Affine& at = store.at[axis];
  if (at.IsConst()) return Place{nullptr, at.constant};
  for (size_t k = filling.level; k < store.around.size(); ++k) {
    if ((at - Affine::Of(store.around[k]->counter)).IsConst())
      return Place{store.around[k], at.constant};
  }
  return std::nullopt;
}

std::optional<std::vector<StorePlace>> PlacesOf(const Filling& filling, const Access& store) {
  std::vector<StorePlace> places;
  std::set<const CountedNest*> placed;
  for (size_t axis = 0; axis < store.at.size(); ++axis) {
    const std::optional<Place> place = PlaceOf(filling, store, axis);
    if (!place) return std::nullopt;
    const bool tells = place->nest != nullptr && placed.insert(place->nest).second;
    places.push_back({tells ? place->nest : nullptr, store.at[axis]});
  }
  const bool all = placed.size() + filling.level == store.around.size();
  return all ? std::optional(places) : std::nullopt;
}

bool HasElement(ir::ValueSpan shape, const Access& read, const ir::Each* each, TurnSizes& sizes) {
  for (size_t axis = 0; axis < read.at.size(); ++axis) {
    const Affine& at = read.at[axis];
    bool has = at.IsConst() && sizes.IsPlace(at.constant, shape[axis]);
    for (const CountedNest* nest : read.around) {
      const Affine more = at - Affine::Of(nest->counter);
      has |= more.IsConst() && sizes.IsPlace(nest, more.constant, shape[axis]);
    }
    if (each != nullptr && at.AsValue().valid()) {
      for (const ir::IndexVar& i : each->indices)
        has |= i.var == at.AsValue() && sizes.Outside(i.extent) == shape[axis];
    }
    if (!has) return false;
  }
  return true;
}

}  // namespace pullback::opt
