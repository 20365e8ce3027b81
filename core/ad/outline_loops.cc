#include "core/ad/outline_loops.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/ad/loop_parts.h"
#include "core/ir/checkpointed_loop.h"
#include "core/ir/dominance.h"

namespace pullback::ad {
namespace {

using ir::Block;
using ir::Edge;
using ir::Function;
using ir::Inst;
using ir::Op;
using ir::Terminator;
using ir::Type;
using ir::Value;

class Outlining {
 public:
  Outlining(ir::Module& module, uint32_t f) : module_(module), id_(f), f_(module.Get(f)) {}

  // The first outermost loop becomes a call.
  StatusOr<bool> Next() {
    const FlatLists preds = ir::Predecessors(f_);
    const ir::Dominators dominators(f_);
    for (uint32_t b : dominators.order()) {
      if (!f_.blocks[b].term.snapshots.valid()) continue;
      std::optional<Loop> loop = LoopAt(preds, b, dominators);
      if (!loop || !HasState(*loop) || !FindEnds(*loop)) {
        f_.blocks[b].term.snapshots = ir::kNoValue;
        continue;
      }
      if (!FindCounter(*loop)) AddCounter(*loop);
      PB_RETURN_IF_ERROR(Replace(*loop));
      return true;
    }
    return false;
  }

 private:
  // Whether there is something to keep for the way back.
  bool HasState(const Loop& loop) const {
    const ir::Values& params = f_.blocks[loop.header].params;
    return std::any_of(params.begin(), params.end(),
                       [&](Value v) { return ir::CarriesTangent(module_, f_.TypeOf(v)); });
  }

  // From which of its blocks control may leave the loop within the same turn. False: it never does.
  bool FindEnds(const Loop& loop) {
    ends_.assign(f_.blocks.size(), 0);
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t b : loop.blocks) {
        if (ends_[b]) continue;
        for (const Edge& e : f_.blocks[b].term.edges) ends_[b] |= IsInLastTurn(loop, e) ? 1 : 0;
        changed |= ends_[b] != 0;
      }
    }
    return ends_[loop.header] != 0;
  }
  bool IsInLastTurn(const Loop& loop, const Edge& e) const {
    return !loop.contains[e.block] || (e.block != loop.header && ends_[e.block]);
  }

  template <typename Fn>
  void ForEachWayBack(const Loop& loop, Fn&& fn) {
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      for (Edge& e : f_.blocks[b].term.edges) {
        if (e.block == loop.header) fn(b, e, loop.contains[b] != 0);
      }
    }
  }

  // A parameter of the header that grows by one on every way back to it.
  bool FindCounter(Loop& loop) {
    const LoopParts parts(module_, id_);
    const ir::Values& params = f_.blocks[loop.header].params;
    for (size_t k = 0; k < params.size(); ++k) {
      bool counts = f_.TypeOf(params[k]) == Type::I64();
      ForEachWayBack(loop, [&](uint32_t, const Edge& e, bool back) {
        counts = counts && (!back || parts.IsOneMore(e.args[k], params[k]));
      });
      if (!counts) continue;
      loop.counter = k;
      return true;
    }
    return false;
  }

  void AddCounter(Loop& loop) {
    const Value counter = f_.NewValue(Type::I64(), "turn");
    loop.counter = f_.blocks[loop.header].params.size();
    f_.blocks[loop.header].params.push_back(counter);
    ForEachWayBack(loop, [&](uint32_t b, Edge& e, bool back) {
      const Value c = Constant(f_.blocks[b].insts, back ? 1 : 0);
      e.args.push_back(back ? Emit(f_.blocks[b].insts, Op::Add, {counter, c}) : c);
    });
  }

  Value Constant(std::vector<Inst>& insts, uint64_t bits) {
    const Value v = Emit(insts, Op::Const, {});
    insts.back().bits = bits;
    return v;
  }
  Value Emit(std::vector<Inst>& insts, Op op, ir::Values args) {
    Inst inst;
    inst.op = op;
    inst.args = std::move(args);
    inst.results = {f_.NewValue(Type::I64(), "")};
    insts.push_back(std::move(inst));
    return insts.back().results[0];
  }

  // The value of the counter at which the loop ends, where it is left by its header's lt(%counter, %end) alone.
  Value EndOf(const Loop& loop, const LoopParts& parts) const {
    const Terminator& term = f_.blocks[loop.header].term;
    size_t exits = 0;
    for (uint32_t b : loop.blocks) {
      for (const Edge& e : f_.blocks[b].term.edges) exits += loop.contains[e.block] ? 0 : 1;
    }
    if (exits != 1 || term.kind != Terminator::Kind::kBranch || loop.contains[term.edges[1].block])
      return ir::kNoValue;
    const Inst* cond = parts.Definition(term.cond);
    const bool counts = cond && cond->op == Op::Lt &&
                        cond->args[0] == f_.blocks[loop.header].params[loop.counter] &&
                        IsKnownBefore(loop, parts, cond->args[1]);
    return counts ? cond->args[1] : ir::kNoValue;
  }

  static bool IsKnownBefore(const Loop& loop, const LoopParts& parts, Value v) {
    const Inst* def = parts.Definition(v);
    return !parts.IsInside(loop, v) || (def && def->op == Op::Const);
  }

  // In the header's place stands a call that runs all turns but the last, which is left before it is back at the
  // header. Its results are what the header's parameters were, so that nothing else changes.
  Status Replace(const Loop& loop) {
    LoopParts parts(module_, id_);
    const Value kept = f_.blocks[loop.header].term.snapshots;
    if (!IsKnownBefore(loop, parts, kept)) {
      return {Code::kInternal, "IR_INVALID",
              "@" + f_.name + ": a loop that computes how many of its states are kept"};
    }
    const LoopPart step = parts.Step(loop);
    const uint32_t callee = ir::AddCheckpointedLoop(module_, step.function);
    Block& header = f_.blocks[loop.header];
    const ir::Values params = header.params;
    std::vector<Value> first;
    for (Value v : params) first.push_back(f_.NewValue(f_.TypeOf(v), f_.names[v.id]));
    std::vector<Inst> front;
    const auto before = [&](Value v) {
      if (!parts.IsInside(loop, v)) return v;
      return Constant(front, parts.Definition(v)->bits);
    };
    const auto args = [&](const LoopPart& part) {
      ir::Values all = WithoutCounter(first, loop);
      all.insert(all.end(), part.captured.begin(), part.captured.end());
      all.push_back(first[loop.counter]);
      return all;
    };
    Value end = EndOf(loop, parts);
    if (end.valid()) {
      end = before(end);
    } else {
      const LoopPart count = parts.Count(loop);
      end = Emit(front, Op::Call, args(count));
      front.back().callee = count.function;
    }
    const Value snapshots = before(kept);
    Emit(front, Op::Max, {first[loop.counter], end});
    front.back().results = {params[loop.counter]};
    Inst call;
    call.op = Op::Call;
    call.callee = callee;
    call.results = WithoutCounter(params, loop);
    call.args = args(step);
    call.args.insert(call.args.end(), {end, snapshots});
    front.push_back(std::move(call));
    header.params = first;
    header.insts.insert(header.insts.begin(), front.begin(), front.end());
    header.term.snapshots = ir::kNoValue;
    KeepLastTurn(loop);
    return {};
  }

  // Of the loop's blocks, those from which control leaves the loop.
  void KeepLastTurn(const Loop& loop) {
    std::vector<char> gone(f_.blocks.size());
    for (uint32_t b : loop.blocks) {
      gone[b] = !ends_[b];
      if (ends_[b])
        KeepEdges(f_.blocks[b].term, [&](const Edge& e) { return IsInLastTurn(loop, e); });
    }
    RemoveBlocks(f_, gone);
  }

  ir::Module& module_;
  const uint32_t id_;
  Function& f_;
  std::vector<char>
      ends_;  // by block of the loop: whether control may leave it from there within the turn
};

}  // namespace

StatusOr<uint32_t> OutlineLoops(ir::Module& module, uint32_t f) {
  const std::vector<Block>& blocks = module.Get(f).blocks;
  if (std::none_of(blocks.begin(), blocks.end(),
                   [](const Block& b) { return b.term.snapshots.valid(); }))
    return f;
  const uint32_t copy = module.AddFunction(module.Get(f).name + ".outlined");
  const std::string name = module.Get(copy).name;
  module.Get(copy) = module.Get(f);
  module.Get(copy).name = name;
  Outlining outlining(module, copy);
  for (bool more = true; more;) {
    PB_ASSIGN_OR_RETURN(more, outlining.Next());
  }
  return copy;
}

}  // namespace pullback::ad
