// Rows that are written where they go. Loops that copy the array that a statement makes into a part of
// another (core/loops/copy_loops.h), or add it there,
//
//   b0:  %row = each(k < %n) { … } gen [%k] of (%n): %v
//        for k < %n { %a[%i, k] = %row[k] }
//
// go, and the statement stores its elements into the array. It may read that: elements that the row does
// not take, and each element where the row takes it.
//
// What is stored is what the copy would store, and traps come in the same order: those of the row, then
// the first place that is out of range (core/loops/placement.h).
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::loops {

// Where a statement's result stores its elements: into EachResult::into, whose other elements stay.
struct Destination {
  std::vector<ir::Affine> subs;  // of the element, over what the statement knows
  std::vector<ir::IndexVar>
      axes;              // of the row: the statement's first indices, each alone in one of `subs`
  bool adds = false;     // to what is there
  bool negates = false;  // the element first
  uint32_t loc = 0;      // of the change
};
// By the statement's result.
using Destinations = std::map<ir::Value, Destination>;

struct WithDestinations {
  ir::Function function;
  Destinations destinations;
};
// The function without such loops; nullopt: it has none.
std::optional<WithDestinations> PassDestinations(const ir::Function& f);

}  // namespace pullback::loops
