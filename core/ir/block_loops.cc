#include "core/ir/block_loops.h"

namespace pullback::ir {

std::vector<std::set<uint32_t>> LoopsAround(const Function& f, const Dominators& dominators) {
  const FlatLists successors = Successors(f.blocks), predecessors = Predecessors(successors);
  std::vector<std::set<uint32_t>> loops(f.blocks.size());
  for (uint32_t latch : dominators.order()) {
    for (uint32_t header : successors[latch]) {
      if (!dominators.Dominates(header, latch)) continue;
      std::vector<uint32_t> open = {latch};
      while (!open.empty()) {
        const uint32_t b = open.back();
        open.pop_back();
        if (!dominators.IsReachable(b) || !loops[b].insert(header).second || b == header) continue;
        open.insert(open.end(), predecessors[b].begin(), predecessors[b].end());
      }
    }
  }
  return loops;
}

}  // namespace pullback::ir
