// Predecessors and dominators of a function's blocks (Lengauer and Tarjan: A Fast Algorithm for Finding Dominators
// in a Flowgraph, 1979, the simple form: n log n whatever the graph).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/base/flat_lists.h"
#include "core/ir/ir.h"

namespace pullback::ir {

inline constexpr uint32_t kNoBlock = UINT32_MAX;

// Of blocks that end with a Terminator: where its edges lead, in order.
template <typename Block>
FlatLists Successors(const std::vector<Block>& blocks);
// For every block those that jump to it; a branch with both edges to one block counts twice.
FlatLists Predecessors(const FlatLists& successors);
FlatLists Predecessors(const Function& f);
// For every block the edges to it: twice the block that the edge leaves, and which of its at most two it is.
FlatLists EdgesTo(const FlatLists& successors);
inline Edge& EdgeOf(Function& f, uint32_t edge) { return f.blocks[edge / 2].term.edges[edge % 2]; }
// The blocks that the entry reaches, each before its successors except along back edges.
std::vector<uint32_t> ReversePostorder(const FlatLists& successors);
std::vector<uint32_t> ReversePostorder(const Function& f);

class Dominators {
 public:
  explicit Dominators(const Function& f) : Dominators(Successors(f.blocks)) {}
  explicit Dominators(const FlatLists& successors);

  bool IsReachable(uint32_t block) const { return idom_[block] != kNoBlock; }
  // The immediate dominator; the entry's is the entry, an unreachable block's kNoBlock.
  uint32_t Idom(uint32_t block) const { return idom_[block]; }
  // Whether every path from the entry to b passes a (a block dominates itself). False when either
  // is unreachable.
  bool Dominates(uint32_t a, uint32_t b) const {
    return IsReachable(a) && IsReachable(b) && first_[a] <= first_[b] && last_[b] <= last_[a];
  }
  // The reachable blocks in reverse postorder.
  const std::vector<uint32_t>& order() const { return order_; }
  absl::Span<const uint32_t> Children(uint32_t block) const { return children_[block]; }

 private:
  void NumberTree();

  std::vector<uint32_t> order_;
  std::vector<uint32_t> idom_;
  FlatLists children_;                  // of the dominator tree
  std::vector<uint32_t> first_, last_;  // a subtree of the tree is an interval
};

template <typename Block>
FlatLists Successors(const std::vector<Block>& blocks) {
  FlatLists successors;
  for (const Block& b : blocks) {
    for (const Edge& e : b.term.edges) successors.Add(e.block);
    successors.EndList();
  }
  return successors;
}

}  // namespace pullback::ir
