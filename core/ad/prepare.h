// Brings a function into the shape that the adjoint is built from, and finds what it needs to know of
// its control flow (Innes 2018, section 3.1: reversed control flow graph, several returns merged).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/ir/dominance.h"
#include "core/ir/ir.h"

namespace pullback::ad {

// One return; no critical edges (an edge from a block with several successors to one with several
// predecessors), so that every edge belongs to a block of its own.
void PrepareForReverse(ir::Function& f);

inline constexpr uint32_t kNoExit = UINT32_MAX;

struct Predecessor {
  uint32_t block;
  uint32_t edge;
};

// How the reverse of a block with several predecessors knows where to go.
enum class WayBack : uint8_t {
  kOnly,       // one predecessor, or none (the entry)
  kTrips,      // loop header left only through itself: a trip count, > 0 means the latch
  kCondition,  // a join of the two arms of a branch: the branch's condition
  kTag         // a recorded tag: the number of the predecessor
};

inline constexpr uint32_t kNoEdge = UINT32_MAX;

struct ReverseFlow {
  explicit ReverseFlow(const ir::Function& f);

  // Loops and arms of branches whose blocks are all inert (nothing in them, their parameters included,
  // has a cotangent) have no reverse: it goes from the block behind them to the one in front, by an
  // edge kNoEdge where there is none. Headers and joins with parameters that have a cotangent do not
  // count.
  void SkipInert(const ir::Function& f, const std::vector<char>& inert);

  ir::Dominators dominators;
  uint32_t exit = kNoExit;  // the block that returns; kNoExit: the function never returns
  std::vector<std::vector<Predecessor>> preds;
  std::vector<WayBack> way;
  // kTrips: preds of a header are ordered entry first, latch second. kCondition: preds are ordered
  // false arm, true arm, and `condition` is the value branched on.
  std::vector<ir::Value> condition;
  std::vector<char> skipped;        // blocks without a reverse
  std::vector<uint32_t> def_block;  // by value; of bodies: the block of their statement

  // The value that `defined` gave when `used` ran is still there when the reverse of `used` runs:
  // `defined` dominates the exit, and no cycle runs through both.
  bool SurvivesTo(uint32_t used, uint32_t defined) const {
    return dominators.Dominates(defined, exit) &&
           (component_[defined] != component_[used] || !cyclic_[component_[defined]]);
  }
  bool InCycle(uint32_t block) const { return cyclic_[component_[block]] != 0; }
  // header is left only through itself and `block` is its successor inside the loop.
  bool IsLoopBodyOf(uint32_t block, uint32_t header) const;
  // Of a header of kTrips: these, itself too, in order.
  const std::vector<uint32_t>& LoopOf(uint32_t header) const { return loop_[header]; }

 private:
  void FindDefinitions(const ir::Function& f);
  void FindComponents(const ir::Function& f);
  void ClassifyHeader(const ir::Function& f, uint32_t b);
  void ClassifyJoin(const ir::Function& f, uint32_t b);
  std::vector<uint32_t> component_;  // by block: its strongly connected component
  std::vector<char> cyclic_;         // by component
  std::vector<std::vector<uint32_t>>
      loop_;  // by header of kTrips: the blocks of its loop, in order
};

}  // namespace pullback::ad
