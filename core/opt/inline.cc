#include <algorithm>
#include <utility>
#include <vector>

#include "core/ir/checkpointed_loop.h"
#include "core/opt/rename.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Block;
using ir::Inst;
using ir::Value;

size_t CountInsts(const ir::Function& f) {
  size_t n = 0;
  for (const Block& b : f.blocks) {
    n += b.insts.size() + 1;
    for (const Inst& inst : b.insts) n += inst.each ? inst.each->body.size() : 0;
  }
  return n;
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

// Replaces the call at (block, index) by the callee's blocks; what followed it becomes a new block
// whose parameters are the call's results.
class Splicer {
 public:
  // direct: the callee's text reads the arguments themselves, not parameters of a block that gets them.
  Splicer(ir::Function& into, const ir::Function& callee, bool direct = false)
      : into_(into), callee_(callee), direct_(direct) {}

  void Splice(uint32_t block, size_t index) {
    Block& b = into_.blocks[block];
    const Inst call = b.insts[index];
    const auto base = static_cast<uint32_t>(into_.blocks.size());
    Block rest;
    rest.params = call.results;
    rest.insts.assign(std::make_move_iterator(b.insts.begin() + static_cast<long>(index) + 1),
                      std::make_move_iterator(b.insts.end()));
    rest.term = std::move(b.term);
    b.insts.resize(index);
    const uint32_t rest_id = base;
    const uint32_t first = base + 1;
    b.term = ir::Terminator{ir::Terminator::Kind::kJump, ir::kNoValue, {{first, call.args}}, {}};
    into_.blocks.push_back(std::move(rest));
    CopyBlocks(first, rest_id, call.args);
    if (direct_) into_.blocks[block].term.edges[0].args.clear();
  }

 private:
  void CopyBlocks(uint32_t first, uint32_t rest_id, const std::vector<Value>& args) {
    map_.resize(callee_.values.size());
    for (size_t v = 0; v < callee_.values.size(); ++v)
      map_[v] = into_.NewValue(callee_.values[v].type, callee_.values[v].name);
    for (size_t k = 0; k < args.size() && direct_; ++k) map_[callee_.params()[k].id] = args[k];
    for (const Block& from : callee_.blocks) {
      Block to = from;
      if (direct_ && &from == &callee_.blocks[0]) to.params.clear();
      for (Value& v : to.params) v = map_[v.id];
      for (Inst& inst : to.insts) Map(inst);
      ir::ForEachTermOperand(to.term, [&](Value& v) { v = map_[v.id]; });
      for (ir::Edge& e : to.term.edges) e.block += first;
      if (to.term.kind == ir::Terminator::Kind::kReturn) {
        to.term = ir::Terminator{
            ir::Terminator::Kind::kJump, ir::kNoValue, {{rest_id, std::move(to.term.results)}}, {}};
      }
      into_.blocks.push_back(std::move(to));
    }
  }
  void Map(Inst& inst) {
    ir::ForEachOperand(inst, [&](Value& v) { v = map_[v.id]; });
    for (Value& v : inst.results) v = map_[v.id];
    if (inst.each) {
      for (ir::IndexVar& i : inst.each->indices) i.var = map_[i.var.id];
      for (Inst& body : inst.each->body) {
        for (Value& v : body.results) v = map_[v.id];
      }
    }
    ir::CanonicaliseAffines(inst);
  }

  ir::Function& into_;
  const ir::Function& callee_;
  const bool direct_;
  std::vector<Value> map_;
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
      const size_t added = CountInsts(callee);
      if (size + added > max_insts || !growth.Allows(inst.callee, added)) continue;
      size += added;
      Splicer(f, callee).Splice(b, k);
      break;  // the rest of this block is a new block at the end
    }
  }
}

// Whether the function does nothing but call another one.
bool OnlyCalls(const ir::Function& f) {
  return f.blocks.size() == 1 && f.blocks[0].insts.size() == 1 &&
         f.blocks[0].insts[0].op == ir::Op::Call;
}

// Calls of what only calls a loop with snapshots become calls of the loop.
void CallLoops(ir::Module& module, ir::Function& f) {
  for (uint32_t b = static_cast<uint32_t>(f.blocks.size()); b-- > 0;) {
    for (size_t k = f.blocks[b].insts.size(); k-- > 0;) {
      const Inst& inst = f.blocks[b].insts[k];
      if (inst.op != ir::Op::Call || inst.checkpoint) continue;
      const ir::Function& callee = module.Get(inst.callee);
      if (&callee == &f || callee.HasRule() || !OnlyCalls(callee)) continue;
      if (ir::ScheduleOf(module, callee.blocks[0].insts[0].callee) == ir::kNoFunction) continue;
      Splicer(f, callee, true).Splice(b, k);
    }
  }
}

// Replaces the calls that `f` has now, but checkpointed ones; those of what only calls by what is called.
void InlineOnce(ir::Module& module, ir::Function& f) {
  for (uint32_t b = static_cast<uint32_t>(f.blocks.size()); b-- > 0;) {
    for (size_t k = f.blocks[b].insts.size(); k-- > 0;) {
      Inst& inst = f.blocks[b].insts[k];
      if (inst.op != ir::Op::Call || inst.checkpoint) continue;
      const ir::Function* callee = &module.Get(inst.callee);
      if (callee->HasRule()) continue;
      if (OnlyCalls(*callee)) {
        Splicer(f, *callee, true).Splice(b, k);
        const auto spliced = static_cast<uint32_t>(f.blocks.size()) - 1;
        const Inst& call = f.blocks[spliced].insts[0];
        callee = &module.Get(call.callee);
        if (!call.checkpoint && !callee->HasRule()) Splicer(f, *callee, true).Splice(spliced, 0);
      } else {
        Splicer(f, *callee, true).Splice(b, k);
      }
    }
  }
}

}  // namespace

Status InlineSteps(ir::Module& module) {
  for (auto& f : module.functions) CallLoops(module, *f);
  for (uint32_t f = 0; f < module.functions.size(); ++f) {
    const uint32_t schedule = ir::ScheduleOf(module, f);
    if (schedule == ir::kNoFunction) continue;
    InlineOnce(module, module.Get(f));
    InlineOnce(module, module.Get(schedule));
  }
  return {};
}

Status InlineCalls(ir::Module& module, size_t max_insts) {
  const CallGraph graph(module);
  Growth growth(module);
  for (uint32_t f : graph.order()) InlineInto(module, f, graph, max_insts, growth);
  DropUnreachedFunctions(module);
  return {};
}

}  // namespace pullback::opt
