// Statements whose values no block needs before a later one are evaluated there: behind the control flow in between,
// beside what reads them, and in reverse mode beside what their derivatives are made by. In front of it, all that
// both need would be kept.
//
//   b0: s = each(i) { … } sum []; br c, b1, b2          b0: br c, b1, b2
//   b1: … jump b2                                       b1: … jump b2
//   b2: ret s + t                                       b2: s = each(i) { … } sum []; ret s + t
//
// Not into a loop, where they would be evaluated again, nor away from a statement that makes an array they read and stays:
// the two may become one. But where turns of a loop take rows of that, and it may be larger than the function's own, the loop makes
// these for what stands behind it, too (turn_blocks.cc). What is in a statement's arm alone is evaluated only there.
#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "core/ir/block_loops.h"
#include "core/ir/dominance.h"
#include "core/ir/own_arrays.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int kMostRounds = 8;
constexpr int kMostSteps = 64;  // up the tree of dominators, for one use

class Sinker {
 public:
  explicit Sinker(ir::Function& f)
      : f_(f), dominators_(f), loops_(ir::LoopsAround(f, dominators_)) {}

  bool Run() {
    if (f_.blocks.size() < 2) return false;
    FindMovable();
    FindTaken();
    pinned_.assign(f_.values.size(), 0);
    for (int round = 0; round < kMostRounds; ++round) {
      if (!FindTargets()) return false;
      if (PinBesideMakers()) continue;
      Move();
      return true;
    }
    return false;
  }

 private:
  void FindMovable();
  void FindTaken();
  bool FindTargets();
  void Use(Value v, uint32_t block);
  uint32_t TargetOf(const Inst& inst, uint32_t block) const;
  bool PinBesideMakers();
  void Move();

  // Once for each time that the block is: no loop holds it that does not hold the block, too.
  bool RunsNoMore(uint32_t target, uint32_t block) const {
    return std::includes(loops_[block].begin(), loops_[block].end(), loops_[target].begin(),
                         loops_[target].end());
  }

  ir::Function& f_;
  const ir::Dominators dominators_;
  const std::vector<std::set<uint32_t>> loops_;  // by block: the headers
  std::vector<char> movable_;                    // by an instruction's first result
  std::vector<char> pinned_;                     // likewise: it stays
  std::vector<char> taken_;  // by value: a large array of which turns of a loop behind it take rows
  std::vector<uint32_t> needed_;  // by value: the block that dominates all that use it
  std::vector<uint32_t> target_;  // by first result: where it goes, or kNoBlock
};

// Statements, and scalars made of what they give. An array that is not only read has one owner where it is changed.
void Sinker::FindMovable() {
  std::vector<char> read_only(f_.values.size(), 1), of_statement(f_.values.size(), 0);
  const auto look = [&](const Inst& inst) {
    const bool reads = inst.op == Op::Index || inst.op == Op::Dim;
    for (Value v : inst.args) read_only[v.id] &= reads;
  };
  for (const ir::Block& b : f_.blocks) {
    for (const Inst& inst : b.insts) {
      look(inst);
      if (!inst.each) continue;
      for (const Inst& body : inst.each->body) look(body);
      for (const ir::EachResult& r : inst.each->results) {
        if (r.into.valid()) read_only[r.into.id] = 0;
      }
    }
    ir::ForEachTermOperand(b.term, [&](Value v) { read_only[v.id] = 0; });
  }
  movable_.assign(f_.values.size(), 0);
  for (uint32_t block : dominators_.order()) {
    for (const Inst& inst : f_.blocks[block].insts) {
      if (inst.results.empty() || (ir::Info(inst.op).flags & ir::kEffect)) continue;
      bool of = inst.each != nullptr, good = true;
      const auto is_good = [&](Value v) {
        const ir::Type t = f_.TypeOf(v);
        return t.IsScalar() || (t.IsArray() && read_only[v.id]);
      };
      for (Value v : inst.results) good = good && is_good(v);
      ir::ForEachOperand(inst, [&](Value v) {
        good = good && is_good(v);
        of = of || of_statement[v.id];
      });
      if (!good || !of) continue;
      movable_[inst.results[0].id] = 1;
      for (Value v : inst.results) of_statement[v.id] = 1;
    }
  }
}

void Sinker::FindTaken() {
  taken_.assign(f_.values.size(), 0);
  const ir::OwnArrays own(f_);
  std::vector<uint32_t> made(f_.values.size(), ir::kNoBlock);
  for (uint32_t block : dominators_.order()) {
    for (const Inst& inst : f_.blocks[block].insts) {
      for (size_t k = 0; inst.each && k < inst.results.size(); ++k) {
        const ir::EachResult& r = inst.each->results[k];
        if (r.out.size() > 1 && !own.IsNoLarger(r.shape)) made[inst.results[k].id] = block;
      }
      const auto take = [&](const Inst& read) {
        if (read.op != Op::Index) return;
        const uint32_t from = made[read.args[0].id];
        if (from != ir::kNoBlock && !RunsNoMore(block, from)) taken_[read.args[0].id] = 1;
      };
      take(inst);
      if (!inst.each) continue;
      for (const Inst& read : inst.each->body) take(read);
    }
  }
}

void Sinker::Use(Value v, uint32_t block) {
  uint32_t& needed = needed_[v.id];
  if (needed == ir::kNoBlock) return void(needed = block);
  for (int step = 0; step < kMostSteps; ++step) {
    if (dominators_.Dominates(needed, block)) return;
    needed = dominators_.Idom(needed);
  }
  needed = dominators_.order()[0];
}

uint32_t Sinker::TargetOf(const Inst& inst, uint32_t block) const {
  if (inst.results.empty() || !movable_[inst.results[0].id] || pinned_[inst.results[0].id])
    return ir::kNoBlock;
  uint32_t target = ir::kNoBlock;
  for (Value v : inst.results) {
    const uint32_t needed = needed_[v.id];
    if (needed == ir::kNoBlock) continue;
    if (target != ir::kNoBlock && target != needed) return ir::kNoBlock;
    target = needed;
  }
  const bool below =
      target != ir::kNoBlock && target != block && dominators_.Dominates(block, target);
  return below && RunsNoMore(target, block) ? target : ir::kNoBlock;
}

// False: nothing moves. Uses come before what they use, as they are where they go.
bool Sinker::FindTargets() {
  bool any = false;
  needed_.assign(f_.values.size(), ir::kNoBlock);
  target_.assign(f_.values.size(), ir::kNoBlock);
  const std::vector<uint32_t>& order = dominators_.order();
  for (size_t k = order.size(); k-- > 0;) {
    const ir::Block& b = f_.blocks[order[k]];
    ir::ForEachTermOperand(b.term, [&](Value v) { Use(v, order[k]); });
    for (size_t i = b.insts.size(); i-- > 0;) {
      const Inst& inst = b.insts[i];
      const uint32_t target = TargetOf(inst, order[k]);
      if (target != ir::kNoBlock) {
        any = any || inst.each;
        target_[inst.results[0].id] = target;
      }
      const uint32_t at = target == ir::kNoBlock ? order[k] : target;
      ir::ForEachOperand(inst, [&](Value v) { Use(v, at); });
    }
  }
  return any;
}

// What would leave the statement of its block that makes an array for it. True: there is some.
bool Sinker::PinBesideMakers() {
  bool pinned = false;
  std::vector<char> stays(f_.values.size(), 0);
  for (const ir::Block& b : f_.blocks) {
    for (const Inst& inst : b.insts) {
      const bool moves = !inst.results.empty() && target_[inst.results[0].id] != ir::kNoBlock;
      if (inst.each && !moves) {
        for (Value v : inst.results) stays[v.id] = f_.TypeOf(v).IsArray();
      }
      if (!moves) continue;
      bool leaves = false;
      ir::ForEachOperand(inst, [&](Value v) { leaves = leaves || (stays[v.id] && !taken_[v.id]); });
      if (leaves) pinned_[inst.results[0].id] = 1;
      pinned = pinned || leaves;
    }
    for (const Inst& inst : b.insts) {
      for (Value v : inst.results) stays[v.id] = 0;
    }
  }
  return pinned;
}

void Sinker::Move() {
  std::vector<std::vector<Inst>> moved(f_.blocks.size());
  for (uint32_t block : dominators_.order()) {
    std::vector<Inst> left;
    for (Inst& inst : f_.blocks[block].insts) {
      const uint32_t target = inst.results.empty() ? ir::kNoBlock : target_[inst.results[0].id];
      (target == ir::kNoBlock ? left : moved[target]).push_back(std::move(inst));
    }
    f_.blocks[block].insts = std::move(left);
  }
  for (size_t b = 0; b < moved.size(); ++b) {
    std::vector<Inst>& insts = f_.blocks[b].insts;
    insts.insert(insts.begin(), std::make_move_iterator(moved[b].begin()),
                 std::make_move_iterator(moved[b].end()));
  }
}

}  // namespace

bool SinkStatements(ir::Function& f) { return Sinker(f).Run(); }

}  // namespace pullback::opt
