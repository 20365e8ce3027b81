// Natural loops of a function's blocks, in the form that the passes over them change: entered at one place, left
// only by the test at their top.
#pragma once

#include <optional>
#include <vector>

#include "core/ir/dominance.h"
#include "core/ir/ir.h"

namespace pullback::opt {

struct BlockLoop {
  uint32_t header = 0;
  std::vector<uint32_t> blocks;   // in no order; the header too
  std::vector<char> inside;       // by block
  std::vector<uint32_t> latches;  // blocks that jump back
  uint32_t entry = 0;             // the only block outside that jumps to the header,
  size_t entry_edge = 0;          // and by which edge
  size_t exit_edge = 0;           // of the header's branch

  const std::vector<ir::Value>& Arguments(const ir::Function& f) const {
    return f.blocks[entry].term.edges[entry_edge].args;
  }
  const ir::Edge& Exit(const ir::Function& f) const {
    return f.blocks[header].term.edges[exit_edge];
  }
  const ir::Edge& Stay(const ir::Function& f) const {
    return f.blocks[header].term.edges[1 - exit_edge];
  }
};

// Those that have this form.
std::vector<BlockLoop> FindLoops(const ir::Function& f, const ir::Dominators& dominators);

// Where values are defined.
class DefinitionBlocks {
 public:
  explicit DefinitionBlocks(const ir::Function& f);
  // What a statement defines for its own body counts as defined outside of every loop.
  bool IsInside(ir::Value v, const BlockLoop& loop) const {
    return block_[v.id] != ir::kNoBlock && loop.inside[block_[v.id]];
  }
  // The same in every turn: from outside, or a constant.
  bool IsFixed(ir::Value v, const BlockLoop& loop) const {
    return !IsInside(v, loop) || (inst_[v.id] && inst_[v.id]->op == ir::Op::Const);
  }
  const ir::Inst* Inst(ir::Value v) const { return inst_[v.id]; }  // null: a parameter

 private:
  std::vector<uint32_t> block_;
  std::vector<const ir::Inst*> inst_;
};

// The header's test as `param op bound` while the loop goes on, where param steps by a constant and the bound is
// from outside or a constant.
struct Counter {
  size_t param;
  ir::Op op;  // Lt, Le, Gt, Ge, Ne
  ir::Value bound;
  int64_t step;
};
std::optional<Counter> FindCounter(const ir::Function& f, const BlockLoop& loop,
                                   const DefinitionBlocks& defs);

// Copies instructions with operands replaced and results new.
class Copier {
 public:
  explicit Copier(ir::Function& f) : f_(f), map_(f.values.size()) {}
  void Set(ir::Value from, ir::Value to) { map_[from.id] = to; }
  ir::Value Get(ir::Value v) const {
    return v.id < map_.size() && map_[v.id].valid() ? map_[v.id] : v;
  }
  ir::Inst Copy(const ir::Inst& inst);
  ir::Edge Copy(const ir::Edge& edge) const;
  void Rename(ir::Inst& inst) const;
  ir::Value New(ir::Value like);  // stands for `like` from now on

 private:
  ir::Function& f_;
  std::vector<ir::Value> map_;
};

// A new block on the edge into the loop, which jumps to the header; the loop is entered from there.
uint32_t AddPreheader(ir::Function& f, BlockLoop& loop);
// Outside of the loop, of the blocks that there were when it was found.
void RenameOutside(ir::Function& f, const BlockLoop& loop, const Copier& names);

}  // namespace pullback::opt
