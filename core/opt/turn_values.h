// What is known of the values of a turn of nested loops, so far as they are there for all turns (raise_loops.cc).
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/ir/axis_extents.h"
#include "core/opt/counted_nest.h"
#include "core/opt/turn_facts.h"

namespace pullback::opt {

using NestPath = std::vector<const CountedNest*>;  // of loops, outermost first

// What each turn of the loops around it has: one array, along axes in front of its own; of a number, these alone.
struct TurnArray {
  ir::Value array;  // kNoValue: zeros, of which no array is made
  NestPath around;
  ir::Values shape;  // of one turn's, outside of all loops
};

// A statement of a turn that makes an array element by element, at little cost: made again where an element is read.
struct CheapArray {
  const ir::Each* each;
  ir::Value value;   // of its body
  ir::Values shape;  // outside of all loops
};
// An element of one.
struct CheapElement {
  CheapArray array;
  const ir::Inst* read;  // whose subscripts say which
};

// What branches around an instruction of a turn say.
struct TurnCondition {
  ir::Value cond;
  bool holds;
  const TurnCondition* around;  // null: none
};

// What is known of a turn's values, so far as it is there for all turns.
struct TurnValues {
  TurnValues(const BlockLoop& loop, const DefinitionBlocks& blocks, const NestFinder& found,
             const ir::AxisExtents& axes)
      : outermost(loop), defs(blocks), nests(found), extents(axes) {}

  const BlockLoop& outermost;
  const DefinitionBlocks& defs;
  const NestFinder& nests;
  const ir::AxisExtents& extents;
  absl::flat_hash_map<uint32_t, TurnArray>
      made;  // arrays, and numbers, that turns or loops in them leave
  // By what an instruction reads: from which array; from none, 0.
  absl::flat_hash_map<uint32_t, TurnArray> read;
  absl::flat_hash_map<uint32_t, CheapArray> cheap;
  absl::flat_hash_map<uint32_t, CheapElement> parts;          // new values
  absl::flat_hash_map<uint32_t, CheapArray> makers;           // of arrays of all turns
  absl::flat_hash_map<uint32_t, const TurnCondition*> under;  // by what an instruction gives
  absl::flat_hash_map<uint32_t, TurnBranch::Choice> either;   // by parameter where ways meet,
  absl::flat_hash_map<uint32_t, ir::Value> chosen_by;         // and what chooses

  ir::Value Root(ir::Value v) const { return nests.Root(v); }
  // What it is a sum of.
  ir::Affine FormOf(const ir::Affine& a) const;
  ir::Affine FormOf(ir::Value v) const { return FormOf(ir::Affine::Of(v)); }
  bool IsOutside(ir::Value v) const {
    return !either.contains(v.id) && !parts.contains(v.id) && !defs.IsInside(v, outermost);
  }
};

// Where a turn has come to.
struct TurnPlace {
  NestPath around;
  const TurnCondition* condition = nullptr;
};

// How far a loop's turns go, for all turns of those around it: 0 <= counter - first < extent, and the counter is no less than 0, where
// these are not. Arrays
// of its turns have that difference for an index.
struct TurnRange {
  ir::Value extent;  // outside of all loops
  ir::Affine first;  // maybe of counters of loops around it
  ir::Affine end;    // the counter is below that, if there are turns
  std::vector<ir::Affine> at_least_0;
};

}  // namespace pullback::opt
