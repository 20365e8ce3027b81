// Arrays, and numbers, that nested loops hand on from turn to turn and fill: whether turns need each other (raise_loops.cc).
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "core/opt/turn_sizes.h"

namespace pullback::opt {

// An element that an instruction of a turn reads or stores, by what its subscripts are sums of.
struct Access {
  const ir::Inst* inst;
  NestPath around;
  std::vector<ir::Affine> at;
  bool adds = false;  // to what is there, and stores nothing else
};
// What an instruction stores.
struct StoredValue {
  ir::Value value;
  bool adds = false;  // the value to what is there
  bool negated = false;
};
struct TurnStore {
  const ir::Inst* inst;
  StoredValue stored;
  TurnPlace place;
};

struct Filling {
  size_t level = 0;                  // the loops from there on hand it on
  ir::Value param;                   // of the first of them
  ir::Value current;                 // what there is of it where a turn has come to
  TurnArray now;                     // with all that stood before
  ir::Value start;                   // a number to which is added, other than 0
  TurnPlace begins;                  // where it does
  const ir::Inst* zeros = nullptr;   // of an array of zeros outside of all loops
  bool is_zero = false;              // still
  bool is_broken = false;            // it is no such
  std::optional<TurnStore> pending;  // in one way of a branch: the other one may have the same
  std::vector<Access> stores, reads;
};

// Those of its loops that an access's place names, by their counters: turns of them are apart, for each turn of the others.
std::set<const CountedNest*> LoopsNamed(const Filling& filling, const Access& access,
                                        const TurnValues& values);
// Whether no turn of its loops needs another one.
bool AreTurnsApart(const Filling& filling, const TurnValues& values);

// By axis of the array: the loop whose counter a store's place there is, and a number more; null: that number.
struct StorePlace {
  const CountedNest* nest;
  int64_t more;
  bool is_there = true;  // false: the axis may be shorter than that number
};
// Nothing: the places are no such, or some may be none of the array's.
std::optional<std::vector<StorePlace>> PlacesOf(const Filling& filling, const Access& store,
                                                const TurnSizes& sizes);
// Whether an array of that shape surely has the element. `each`: the statement that reads it; null: the turn does.
bool HasElement(ir::ValueSpan shape, const Access& read, const ir::Each* each, TurnSizes& sizes);

}  // namespace pullback::opt
