#include <algorithm>
#include <utility>
#include <vector>

#include "core/ir/checkpointed_loop.h"
#include "core/ir/splice.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Block;
using ir::Inst;
using ir::Value;

bool HasSnapshots(const Block& b) { return b.term.snapshots.valid(); }

// Without what only says how many states of a loop are kept: with snapshots a loop's function is inlined
// where it is without.
size_t CountInsts(const ir::Function& f) {
  if (std::any_of(f.blocks.begin(), f.blocks.end(), HasSnapshots)) {
    ir::Function plain = f;
    for (Block& b : plain.blocks) b.term.snapshots = ir::kNoValue;
    EliminateDeadCode(plain);
    return CountInsts(plain);
  }
  size_t n = 0;
  for (const Block& b : f.blocks) {
    n += b.insts.size() + 1;
    for (const Inst& inst : b.insts) n += inst.each ? inst.each->body.size() : 0;
  }
  return n;
}

// One that never does stays a function: what follows its call would be unreachable.
bool Returns(const ir::Function& f) {
  return std::any_of(f.blocks.begin(), f.blocks.end(),
                     [](const Block& b) { return b.term.kind == ir::Terminator::Kind::kReturn; });
}

// Callees before callers, with an explicit stack; functions on a cycle are marked recursive.
class CallGraph {
 public:
  explicit CallGraph(const ir::Module& m) : recursive_(m.functions.size()), m_(m) {
    std::vector<char> state(m.functions.size());
    struct Frame {
      uint32_t f;
      std::vector<uint32_t> callees;
      size_t next = 0;
    };
    std::vector<Frame> stack;
    const auto enter = [&](uint32_t f) {
      state[f] = 1;
      Frame frame{f, {}, 0};
      ir::ForEachCallee(m.Get(f), [&](uint32_t c) { frame.callees.push_back(c); });
      stack.push_back(std::move(frame));
    };
    enter(m.entry);
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next == top.callees.size()) {
        state[top.f] = 2;
        order_.push_back(top.f);
        stack.pop_back();
        continue;
      }
      const uint32_t c = top.callees[top.next++];
      if (state[c] == 0) {
        enter(c);
      } else if (state[c] == 1) {
        // Everything on the stack from c on is on a cycle.
        for (size_t k = stack.size(); k-- > 0;) {
          recursive_[stack[k].f] = true;
          if (stack[k].f == c) break;
        }
      }
    }
    SpreadRecursion();
  }
  bool IsRecursive(uint32_t f) const { return recursive_[f]; }
  const std::vector<uint32_t>& order() const { return order_; }

 private:
  // A function that calls into a cycle that leads back to it was finished before the cycle was seen:
  // reachability decides. Cheap since it is asked of few functions.
  void SpreadRecursion() {
    for (uint32_t f : order_) {
      if (!recursive_[f] && Reaches(f, f)) recursive_[f] = true;
    }
  }
  bool Reaches(uint32_t from, uint32_t to) const {
    std::vector<char> seen(m_.functions.size());
    std::vector<uint32_t> work = {from};
    while (!work.empty()) {
      const uint32_t f = work.back();
      work.pop_back();
      bool found = false;
      ir::ForEachCallee(m_.Get(f), [&](uint32_t c) {
        found |= c == to;
        if (!seen[c]) work.push_back(c);
        seen[c] = true;
      });
      if (found) return true;
    }
    return false;
  }
  std::vector<char> recursive_;
  std::vector<uint32_t> order_;
  const ir::Module& m_;
};

// Which calls are worth the code that they make. Sizes are in instructions.
class Growth {
 public:
  explicit Growth(const ir::Module& module) : sites_(module.functions.size()) {
    size_t size = 0;
    std::vector<char> copies(
        module.functions.size());  // a loop's steps stand in its schedule once more
    for (uint32_t f = 0; f < module.functions.size(); ++f) {
      const uint32_t schedule = ir::ScheduleOf(module, f);
      if (schedule != ir::kNoFunction) copies[schedule] = 1;
    }
    for (uint32_t f = 0; f < module.functions.size(); ++f) {
      size += CountInsts(module.Get(f));
      if (copies[f]) continue;
      for (const Block& b : module.Get(f).blocks) {
        for (const Inst& inst : b.insts) sites_[inst.callee] += inst.op == ir::Op::Call;
      }
    }
    left_ = std::max(kLeastGrowth, size);
  }

  // Whether a call of `callee`, of `size` instructions by now, is replaced by its text. Counts it.
  bool Allows(uint32_t callee, size_t size) {
    if (size <= kSmall || sites_[callee] <= 1) return true;
    if (size * (sites_[callee] - 1) > kMostForOne || size > left_) return false;
    left_ -= size;
    return true;
  }

 private:
  // A call, its arguments and what the adjoint keeps for it are of this order; what is larger is worth its
  // text at a second place (docs/decisions.md has the measurements), but not at many.
  static constexpr size_t kSmall = 40, kMostForOne = 100;
  static constexpr size_t kLeastGrowth = 1000;  // of a module; a larger one may double

  std::vector<size_t> sites_;  // by function: calls of it
  size_t left_;
};

void InlineInto(ir::Module& module, uint32_t id, const CallGraph& graph, size_t max_insts,
                Growth& growth) {
  ir::Function& f = module.Get(id);
  size_t size = CountInsts(f);
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    for (size_t k = 0; k < f.blocks[b].insts.size(); ++k) {
      const Inst& inst = f.blocks[b].insts[k];
      if (inst.op != ir::Op::Call || inst.callee == id || graph.IsRecursive(inst.callee)) continue;
      const ir::Function& callee = module.Get(inst.callee);
      if (inst.checkpoint || callee.HasRule()) continue;  // gone after the last derivation
      if (!Returns(callee)) continue;
      const size_t added = CountInsts(callee);
      if (size + added > max_insts || !growth.Allows(inst.callee, added)) continue;
      size += added;
      ir::SpliceCall(f, b, k, callee);
      break;  // the rest of this block is a new block at the end
    }
  }
}

}  // namespace

Status InlineCalls(ir::Module& module, size_t max_insts) {
  const CallGraph graph(module);
  Growth growth(module);
  for (uint32_t f : graph.order()) InlineInto(module, f, graph, max_insts, growth);
  DropUnreachedFunctions(module);
  return {};
}

}  // namespace pullback::opt
