// One nest of loops and what it fills: a walk over a turn, in order (raise_loops.cc).
#pragma once

#include <map>
#include <set>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/ir/axis_extents.h"
#include "core/opt/turn_values.h"

namespace pullback::opt {

// By parameter of loops: what they fill, and how an element of it is made, if that is cheap.
struct Filled {
  std::map<ir::Value, ir::Values> shapes;
  absl::flat_hash_map<uint32_t, CheapArray> makers;
};

// What has turned out while a nest was walked over: parameters that are no fillings, and reads of what earlier turns store, by what they
// give. Neither is there for all turns before these are.
struct Refused {
  std::set<ir::Value> fillings, reads;
  bool empty() const { return fillings.empty() && reads.empty(); }
};

struct RaisedNest {
  // What had been used before it was refused. Where there is some, nothing else is right.
  Refused found;
  // What stands in front of the loop, and which of its parameters are what that makes; empty: none is.
  std::vector<ir::Inst> statements;
  std::map<ir::Value, TurnArray> filled;
  absl::flat_hash_map<uint32_t, CheapArray> makers;  // of such arrays
  std::map<ir::Value, TurnArray>
      reread;                      // by what a read of the loop's gives: of which array it is now
  std::set<const ir::Inst*> idle;  // checks of what is so in every turn
};

// `filled`: by loops in front of it.
RaisedNest RaiseNest(ir::Module& m, ir::Function& f, const DefinitionBlocks& defs,
                     const NestFinder& nests, const ir::AxisExtents& extents,
                     const CountedNest& nest, const Filled& filled, const Refused& refused);

}  // namespace pullback::opt
