// What the block graph says of integers: which way a branch went, and how the parameters of loops count.
#pragma once

#include <optional>
#include <vector>

#include "core/ir/dominance.h"
#include "core/loops/sizes.h"

namespace pullback::loops {

class BlockFacts {
 public:
  BlockFacts(const ir::Function& f, const ir::Dominators& dominators);

  // Tells `sizes` what holds from the start of `block` on, in the blocks that it dominates. Blocks come
  // after those that dominate them.
  void Enter(uint32_t block, Sizes& sizes) const;

 private:
  // i := first, then i + step, by one, on every way back.
  struct Counter {
    ir::Value var, first;
    int64_t step;
    // i < bound (step 1) or i > bound (step -1) before each step, so that none wraps; kNoValue: not known.
    ir::Value bound;
  };
  struct Loop {
    uint32_t entry;                 // the block that enters the loop
    const ir::Edge* enter;          // its edge
    std::vector<uint32_t> latches;  // blocks that jump back
    std::vector<const ir::Edge*> back;
  };

  std::optional<Loop> LoopAt(uint32_t header) const;
  ir::Affine Literal(ir::Value v) const;
  std::optional<int64_t> StepOf(ir::Value next, ir::Value var) const;
  std::optional<Counter> CounterAt(uint32_t header, const Loop& loop, size_t param) const;
  ir::Value BoundAt(uint32_t header, uint32_t latch, ir::Value var, bool upper) const;
  ir::Value BoundIn(ir::Value condition, bool holds, ir::Value var, bool upper) const;
  ir::Value OriginOf(ir::Value param) const;
  bool IsOutside(ir::Value v, uint32_t header) const;
  const ir::Inst* Definition(ir::Value v) const { return definitions_[v.id].inst; }

  void EnterByBranch(uint32_t block, Sizes& sizes) const;
  void EnterLoop(uint32_t header, const Loop& loop, Sizes& sizes) const;
  void LearnCounter(const Counter& c, bool fixed_bound, Sizes& sizes) const;
  static ir::Value ChangedBy(const ir::Inst& inst, ir::Value result);
  static void LearnDistance(const Counter& c, const Counter& from, Sizes& sizes);

  struct DefinedAt {
    const ir::Inst* inst = nullptr;  // nullptr: a block parameter
    uint32_t block = 0;
    size_t param = 0;
  };

  const ir::Function& f_;
  const ir::Dominators& dominators_;
  FlatLists predecessors_;
  std::vector<DefinedAt> definitions_;
};

}  // namespace pullback::loops
