#include "core/analysis/loop_nest.h"

namespace pullback::analysis {

using ir::kNoBlock;

// Inner loops first, as their headers come later; each loop is walked backwards from its latches, inner ones in
// one step.
LoopNest::LoopNest(const ir::Function& f, const ir::Dominators& dominators)
    : innermost_(f.blocks.size(), kNoBlock), around_(f.blocks.size(), kNoBlock) {
  const auto preds = ir::Predecessors(f);
  const std::vector<uint32_t>& order = dominators.order();
  for (auto header = order.rbegin(); header != order.rend(); ++header) {
    std::vector<uint32_t> work;
    for (uint32_t p : preds[*header]) {
      if (dominators.Dominates(*header, p)) work.push_back(p);
    }
    const bool loops = !work.empty();
    while (!work.empty()) {
      const uint32_t block = work.back();
      work.pop_back();
      const uint32_t outermost = OutermostOf(block);
      if (outermost == *header || (block == *header && outermost == kNoBlock)) continue;
      const uint32_t entered = outermost == kNoBlock ? block : outermost;
      (outermost == kNoBlock ? innermost_[block] : around_[outermost]) = *header;
      for (uint32_t p : preds[entered]) {
        if (dominators.IsReachable(p)) work.push_back(p);
      }
    }
    if (loops) innermost_[*header] = *header;
  }
}

uint32_t LoopNest::OutermostOf(uint32_t block) const {
  uint32_t loop = innermost_[block];
  while (loop != kNoBlock && around_[loop] != kNoBlock) loop = around_[loop];
  return loop;
}

bool LoopNest::RunsNoMoreOften(uint32_t block, uint32_t above) const {
  const uint32_t loop = innermost_[block];
  if (loop == kNoBlock) return true;
  uint32_t held = innermost_[above];
  while (held != kNoBlock && held != loop) held = around_[held];
  return held == loop;
}

}  // namespace pullback::analysis
