// Arrays, and numbers, that nested loops hand on from turn to turn and fill: whether turns need each other (raise_loops.cc).
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "core/opt/turn_sizes.h"

namespace pullback::opt {

// What a store makes of an element and a value.
enum class Join : uint8_t { kReplace, kAdd, kMax, kMin };
// An element that an instruction of a turn reads or stores, by what its subscripts are sums of.
struct Access {
  const ir::Inst* inst;
  NestPath around;
  std::vector<ir::Affine> at;
  Join join = Join::kReplace;  // of a store
};
struct StoredValue {
  ir::Value value;
  Join join = Join::kReplace;
  bool negated = false;  // the value
  bool strict = false;   // an extremum: only what is beyond, which NaN is not, takes the place
};
struct TurnStore {
  const ir::Inst* inst;
  StoredValue stored;
  TurnPlace place;
};

struct Filling {
  size_t level = 0;                        // the loops from there on hand it on
  ir::Value param;                         // of the first of them
  ir::Value current;                       // what there is of it where a turn has come to
  TurnArray now;                           // with all that stood before
  ir::Value start;                         // a number to which is added, other than 0
  TurnPlace begins;                        // where it does
  const ir::Inst* zeros = nullptr;         // of an array of zeros outside of all loops
  bool was_zero = false, is_zero = false;  // when it began, and still
  bool is_broken = false;                  // it is no such
  std::optional<TurnStore> pending;  // in one way of a branch: the other one may have the same
  std::vector<Access> stores, reads;
};

// Those of its loops that an access's place names, by their counters: turns of them are apart, for each turn of the others.
std::set<const CountedNest*> LoopsNamed(const Filling& filling, const Access& access,
                                        const TurnValues& values);
// Whether two accesses never meet, by a remainder: 2 * j and 2 * k + 1.
bool AreDisjoint(const Access& a, const Access& b);
// Whether turns of the outermost of its loops that stand before a read's have stored all there is of what it reads.
bool IsOfEarlierTurns(const Filling& filling, const Access& read);
// Whether no turn of its loops needs another one, but to read what earlier ones have stored.
bool AreTurnsApart(const Filling& filling, const TurnValues& values);

// A store's place along an axis: the counter of one of the filling's loops, and a number more; null: that number.
struct Place {
  const CountedNest* nest;
  int64_t more;
};
std::optional<Place> PlaceOf(const Filling& filling, const Access& store, size_t axis);
// By axis of the array: a loop that a store's place there tells the turn of; null: the others tell the place.
struct StorePlace {
  const CountedNest* nest;
  ir::Affine at;
};
// Nothing: the places do not tell the turns, or are no counters.
std::optional<std::vector<StorePlace>> PlacesOf(const Filling& filling, const Access& store);
// Whether an array of that shape surely has the element. `each`: the statement that reads it; null: the turn does.
bool HasElement(ir::ValueSpan shape, const Access& read, const ir::Each* each, TurnSizes& sizes);

}  // namespace pullback::opt
