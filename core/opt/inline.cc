#include <algorithm>
#include <utility>
#include <vector>

#include "core/ir/checkpointed_loop.h"
#include "core/ir/count_insts.h"
#include "core/ir/splice.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Block;
using ir::Inst;

bool HasSnapshots(const Block& b) { return b.term.snapshots.valid(); }

// Without what only says how many states of a loop are kept: with snapshots a loop's function is inlined
// where it is without.
size_t InlinedSize(const ir::Function& f) {
  if (std::any_of(f.blocks.begin(), f.blocks.end(), HasSnapshots)) {
    ir::Function plain = f;
    for (Block& b : plain.blocks) b.term.snapshots = ir::kNoValue;
    EliminateDeadCode(plain);
    return InlinedSize(plain);
  }
  return ir::CountInsts(f) + f.blocks.size();
}

// One that never does stays a function: what follows its call would be unreachable.
bool Returns(const ir::Function& f) {
  return std::any_of(f.blocks.begin(), f.blocks.end(),
                     [](const Block& b) { return b.term.kind == ir::Terminator::Kind::kReturn; });
}

// Callees before callers; functions on a cycle are marked recursive (Tarjan's strongly connected components, with an
// explicit stack).
class CallGraph {
 public:
  explicit CallGraph(const ir::Module& m)
      : m_(m),
        number_(m.functions.size()),
        lowest_(m.functions.size()),
        open_(m.functions.size()),
        recursive_(m.functions.size()) {
    Enter(m.entry);
    while (!stack_.empty()) {
      Frame& top = stack_.back();
      if (top.next < top.callees.size()) {
        const uint32_t from = top.f, to = top.callees[top.next++];
        if (to == from) recursive_[from] = 1;
        if (number_[to] == 0) {
          Enter(to);
        } else if (open_[to]) {
          lowest_[from] = std::min(lowest_[from], number_[to]);
        }
        continue;
      }
      const uint32_t done = top.f;
      stack_.pop_back();
      order_.push_back(done);
      if (!stack_.empty())
        lowest_[stack_.back().f] = std::min(lowest_[stack_.back().f], lowest_[done]);
      if (lowest_[done] == number_[done]) CloseComponent(done);
    }
  }
  bool IsRecursive(uint32_t f) const { return recursive_[f] != 0; }
  const std::vector<uint32_t>& order() const { return order_; }

 private:
  struct Frame {
    uint32_t f;
    std::vector<uint32_t> callees;
    size_t next = 0;
  };

  void Enter(uint32_t f) {
    number_[f] = lowest_[f] = ++entered_;
    open_[f] = 1;
    component_.push_back(f);
    Frame frame{f, {}, 0};
    ir::ForEachCallee(m_.Get(f), [&](uint32_t c) { frame.callees.push_back(c); });
    stack_.push_back(std::move(frame));
  }

  void CloseComponent(uint32_t first) {
    const bool cycle = component_.back() != first;
    for (uint32_t f = kNone; f != first;) {
      f = component_.back();
      component_.pop_back();
      open_[f] = 0;
      if (cycle) recursive_[f] = 1;
    }
  }

  static constexpr uint32_t kNone = UINT32_MAX;
  const ir::Module& m_;
  uint32_t entered_ = 0;
  std::vector<uint32_t> number_, lowest_;  // by function; 0: not entered
  std::vector<char> open_;                 // on component_
  std::vector<char> recursive_;
  std::vector<Frame> stack_;
  std::vector<uint32_t> component_;
  std::vector<uint32_t> order_;
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
      size += InlinedSize(module.Get(f));
      if (copies[f]) continue;
      for (const Block& b : module.Get(f).blocks) {
        for (const Inst& inst : b.insts) sites_[inst.callee] += inst.op == ir::Op::Call;
      }
    }
    left_ = std::max(kLeastGrowth, size);
  }

  bool HasOneCall(uint32_t callee) const { return sites_[callee] == 1; }

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

// Into callees before their callers, so that what is copied often has been inlined into once. What has one call is
// taken as it is, and its calls are looked at where it went: a chain of such functions would else be copied from
// link to link.
class Inliner {
 public:
  Inliner(ir::Module& module, size_t max_insts, const RewriteOptions& options)
      : module_(module),
        max_insts_(max_insts),
        options_(options),
        graph_(module),
        growth_(module),
        sizes_(module.functions.size()),
        taken_(module.functions.size()) {}

  void Run() {
    const auto& order = graph_.order();
    for (uint32_t f : order) {
      if (!WillBeTaken(f)) InlineInto(f);
    }
    // Those for which their callers had no room.
    for (auto f = order.rbegin(); f != order.rend(); ++f) {
      if (WillBeTaken(*f) && !taken_[*f]) InlineInto(*f);
    }
  }

 private:
  bool WillBeTaken(uint32_t f) const {
    return f != module_.entry && growth_.HasOneCall(f) && MayBeInlined(f);
  }
  bool MayBeInlined(uint32_t f) const {
    const ir::Function& callee = module_.Get(f);
    // Rules are gone after the last derivation.
    return !graph_.IsRecursive(f) && !callee.HasRule() && Returns(callee);
  }

  void InlineInto(uint32_t id) {
    ir::Function& f = module_.Get(id);
    size_t size = InlinedSize(f);
    for (uint32_t b = 0; b < f.blocks.size(); ++b) {
      std::vector<ir::SplicedCall> calls;
      for (size_t k = 0; k < f.blocks[b].insts.size(); ++k) {
        const Inst& inst = f.blocks[b].insts[k];
        if (inst.op != ir::Op::Call || inst.checkpoint || !MayBeInlined(inst.callee)) continue;
        const size_t added = SizeOf(inst.callee);
        if (size + added > max_insts_ || !growth_.Allows(inst.callee, added) ||
            !options_.Take(RuleId::kInline))
          continue;
        size += added;
        taken_[inst.callee] = 1;
        calls.push_back({k, &module_.Get(inst.callee)});
      }
      if (!calls.empty())
        ir::SpliceCalls(f, b, calls);  // the text and the rests are blocks at the end
    }
    sizes_[id] = 0;
  }

  size_t SizeOf(uint32_t f) {
    if (sizes_[f] == 0) sizes_[f] = InlinedSize(module_.Get(f));
    return sizes_[f];
  }

  ir::Module& module_;
  const size_t max_insts_;
  const RewriteOptions& options_;
  const CallGraph graph_;
  Growth growth_;
  std::vector<size_t> sizes_;  // by function; 0: not counted, or others by now
  std::vector<char> taken_;
};

}  // namespace

Status InlineCalls(ir::Module& module, size_t max_insts, const RewriteOptions& options) {
  Inliner(module, max_insts, options).Run();
  DropUnreachedFunctions(module);
  return {};
}

}  // namespace pullback::opt
