// Which natural loops a block is in (Aho, Lam, Sethi and Ullman, 9.6.6): how often it runs beside another.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ir/dominance.h"

namespace pullback::analysis {

class LoopNest {
 public:
  LoopNest(const ir::Function& f, const ir::Dominators& dominators);

  // Whether `block` runs at most once for every time that `above`, which dominates it, runs: every loop around
  // `block` holds `above` too.
  bool RunsNoMoreOften(uint32_t block, uint32_t above) const;
  // The header of the innermost loop that the block is in, its own if it is one; kNoBlock: none.
  uint32_t Innermost(uint32_t block) const { return innermost_[block]; }
  // Of a header: that of the loop around it; kNoBlock: none.
  uint32_t Around(uint32_t header) const { return around_[header]; }

 private:
  // Of the loops around `block` that are known so far the outermost.
  uint32_t OutermostOf(uint32_t block) const;

  std::vector<uint32_t> innermost_;  // by block: the header of the innermost loop; kNoBlock: none
  std::vector<uint32_t> around_;     // by header: that of the loop around it
};

}  // namespace pullback::analysis
