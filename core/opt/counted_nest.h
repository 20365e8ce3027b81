// Loops that count up by ones, whose turns are straight code, such loops and branches that meet again: those that statements can stand
// for.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/opt/block_loops.h"

namespace pullback::opt {

struct CountedNest;

// Two ways of a turn, of which one is empty, or neither.
struct TurnBranch;

// Of a turn, in order: an instruction, a loop, or a branch.
struct TurnItem {
  const ir::Inst* inst = nullptr;
  std::unique_ptr<CountedNest> inner;
  std::unique_ptr<TurnBranch> branch;
};

struct TurnBranch {
  ir::Value cond;
  std::vector<TurnItem> arms[2];  // where it holds, and where not
  struct Choice {
    ir::Value param;  // of the block where they meet, or, where others come there too, a new value
    ir::Value from[2];  // what each way gives it
  };
  std::vector<Choice> choices;
};

struct CountedNest {
  const BlockLoop* loop = nullptr;
  ir::Value counter;       // a turn for each first <= counter < bound
  ir::Value first, bound;  // maybe of a turn of the loop around it
  ir::Values before,
      last;  // by parameter of the header: what the first turn gets, and what a turn hands on
  std::vector<TurnItem> turn;
};

class NestFinder {
 public:
  NestFinder(ir::Function& f, const ir::Dominators& dominators, const DefinitionBlocks& defs);

  // Loops with no other around them.
  const std::vector<const BlockLoop*>& Outermost() const { return inside_.at(nullptr); }
  // Those right inside of it.
  const std::vector<const BlockLoop*>& Inside(const BlockLoop& loop) const {
    return inside_.at(&loop);
  }
  // The loop that it is right inside of; null: none.
  const BlockLoop* Around(const BlockLoop& loop) const { return around_.at(&loop); }
  // Null where it is no such loop; nothing in its header traps.
  std::unique_ptr<CountedNest> Find(const BlockLoop& loop);
  // What v is: of a parameter of a block that one edge leads to, what that hands on.
  ir::Value Root(ir::Value v) const;

 private:
  // A way through a turn: the edge that it has come to.
  struct Path {
    const BlockLoop& loop;
    uint32_t from;
    ir::Edge next;
    size_t ways = 1;  // of those that meet where it leads to, it stands for so many
  };
  // To the loop's header, or where several ways meet; false: it is no such code.
  bool Visit(Path& path, std::vector<TurnItem>& items);
  bool VisitBlock(Path& path, std::vector<TurnItem>& items);
  bool VisitBranch(Path& path, std::vector<TurnItem>& items);
  bool VisitInner(Path& path, std::vector<TurnItem>& items);
  bool HasPlainHeader(const BlockLoop& loop) const;
  void Follow(const ir::Edge& edge);

  ir::Function& f_;
  const DefinitionBlocks& defs_;
  const std::vector<BlockLoop> loops_;
  const FlatLists before_;                              // each block
  absl::flat_hash_map<uint32_t, const BlockLoop*> at_;  // by header
  std::map<const BlockLoop*, std::vector<const BlockLoop*>> inside_;
  std::map<const BlockLoop*, const BlockLoop*> around_;
  absl::flat_hash_map<uint32_t, ir::Value> handed_on_;  // by parameter
};

}  // namespace pullback::opt
