// Parts of a loop as functions of their own: what reverse mode runs again of a loop of which few states are kept.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "core/ir/dominance.h"
#include "core/ir/ir.h"

namespace pullback::ad {

// A loop of a function: what leads back to its header without leaving it, entered by the header alone.
struct Loop {
  uint32_t header = 0;
  std::vector<char> contains;    // by block
  std::vector<uint32_t> blocks;  // these, in order
  size_t counter = 0;            // the header's parameter that grows by one with every turn
};

inline bool IsInteger(ir::Type t) { return t == ir::Type::I64() || t == ir::Type::Bool(); }

// `f` without these blocks, which nothing leads to any more.
void RemoveBlocks(ir::Function& f, const std::vector<char>& gone);

// What leads back to the header without passing it again, which it dominates. None: nothing does. `preds`:
// ir::Predecessors.
std::optional<Loop> LoopAt(const FlatLists& preds, uint32_t header,
                           const ir::Dominators& dominators);

// Calls fn(value) for every value that the block defines, in order.
template <typename Block, typename Fn>
void ForEachDefinition(Block& block, Fn&& fn) {
  for (auto& v : block.params) fn(v);
  for (auto& inst : block.insts) {
    for (auto& v : inst.results) fn(v);
    if (!inst.each) continue;
    for (ir::IndexVar& i : inst.each->indices) fn(i.var);
    for (ir::Inst& body : inst.each->body) {
      for (ir::Value& v : body.results) fn(v);
    }
  }
}

// Calls fn(value) for every value that the block reads.
template <typename Block, typename Fn>
void ForEachUse(Block& block, Fn&& fn) {
  for (auto& inst : block.insts) ir::ForEachOperand(inst, fn);
  ir::ForEachTermOperand(block.term, fn);
}

// Keeps the edges that `keep` is true of; a branch of which one is left jumps.
template <typename Keep>
void KeepEdges(ir::Terminator& term, Keep&& keep) {
  const size_t before = term.edges.size();
  const auto kept = std::remove_if(term.edges.begin(), term.edges.end(),
                                   [&](const ir::Edge& e) { return !keep(e); });
  term.edges.erase(kept, term.edges.end());
  if (term.kind != ir::Terminator::Kind::kBranch || term.edges.size() == before) return;
  term.kind = ir::Terminator::Kind::kJump;
  term.cond = ir::kNoValue;
}

struct LoopPart {
  uint32_t function = 0;
  std::vector<ir::Value> captured;  // what is handed in, of what stands in front of the loop
};

// Makes functions of a loop's blocks. Of what they read of what stands in front of the loop, constants, sizes and
// integers are made again, so that what the loop knows of them the function knows as well.
class LoopParts {
 public:
  LoopParts(ir::Module& module, uint32_t f);

  // (state…, captured…, counter) -> state…: a turn that leads back to the header. What decides that it does is
  // no part of it.
  LoopPart Step(const Loop& loop);
  // (state…, captured…, counter) -> counter where control leaves the loop: all turns, and nothing kept.
  LoopPart Count(const Loop& loop);

  // (captured…, counter) -> results…, which a turn that leads back computes without the loop's other parameters.
  LoopPart Turn(const Loop& loop, const ir::Values& results);

  // (state…, captured…) -> what the edges out of `arm` give: blocks without a way back, behind a branch. `state` are
  // values in front of it.
  LoopPart Arm(const Loop& arm, const ir::Values& state);

  // The instruction that defines v; null where none does, or one in the body of a statement.
  const ir::Inst* Definition(ir::Value v) const { return defs_[v.id]; }
  bool IsInside(const Loop& loop, ir::Value v) const { return loop.contains[block_of_[v.id]] != 0; }
  uint32_t BlockOf(ir::Value v) const { return block_of_[v.id]; }
  bool IsOneMore(ir::Value v, ir::Value than) const;

 private:
  using Blocks = std::vector<ir::Block>;

  Blocks Copy(const Loop& loop) const;
  // What nobody reads, but would end the run: it stays where the part has all that a turn has.
  enum class Traps : uint8_t { kStay, kMayGo };
  void RemoveDead(Blocks& blocks, Traps traps) const;
  void FindCaptures(const Loop& loop, const Blocks& blocks, const ir::Values& state = {});
  void Capture(const Loop& loop, ir::Value first);
  bool IsMadeAgain(ir::Value v) const;
  // What a turn takes: `state`, what it captures, the counter.
  ir::Values Params(const Loop& loop, ir::Values state, const ir::Values& header) const;
  LoopPart DeclareTurn(const char* name, const Loop& loop, ir::Values state,
                       std::vector<ir::Type> results, Blocks blocks);
  LoopPart Declare(const char* name, std::vector<ir::Type> results, Blocks blocks);

  ir::Module& module_;
  const ir::Function& f_;
  std::vector<const ir::Inst*> defs_;  // by value
  std::vector<uint32_t> block_of_;     // by value
  // Of the part that is being made:
  std::vector<ir::Value> captured_;
  std::vector<ir::Inst> again_;
  std::vector<char> read_,
      seen_;  // by value: whether the part itself reads it; whether it is dealt with
};

// Without the one that stands for the counter.
ir::Values WithoutCounter(ir::Values values, const Loop& loop);

}  // namespace pullback::ad
