// Where references are added and given up. Every array value owns one reference; its last use
// consumes it, or a release right after.
#pragma once

#include <vector>

#include "core/loops/emitter.h"
#include "core/loops/liveness.h"

namespace pullback::loops {

// Values that a node takes over, once for each time.
using Consumed = std::vector<ir::Value>;

// Before an instruction: makes the references that it consumes beyond the one that ends here.
// Tapes have one owner, so false when one would have to be shared.
bool RetainConsumed(Emitter& e, const Consumed& consumed, const SortedValues& dies);
// After it: gives up what died here without being consumed.
void ReleaseDead(Emitter& e, const Consumed& consumed, const SortedValues& dies);

// What has to happen on an edge so that the target gets exactly what it expects.
struct EdgeCounts {
  std::vector<ir::Value> retains;  // once for each time
  std::vector<ir::Value> releases;
  bool empty() const { return retains.empty() && releases.empty(); }
};
// `owned`: values held where the edge leaves; `live`: those that the target reads besides its
// parameters; `args`: what the edge passes (counted values only).
EdgeCounts CountEdge(const SortedValues& owned, const SortedValues& live, const Consumed& args);
void Emit(Emitter& e, const EdgeCounts& counts);

}  // namespace pullback::loops
