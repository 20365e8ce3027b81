#include "core/ad/outline_loops.h"

#include <algorithm>
#include <utility>
#include <vector>

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

template <typename Fn>
void ForEachDefinition(Block& block, Fn&& fn) {
  for (Value& v : block.params) fn(v);
  for (Inst& inst : block.insts) {
    for (Value& v : inst.results) fn(v);
    if (!inst.each) continue;
    for (ir::IndexVar& i : inst.each->indices) fn(i.var);
    for (Inst& body : inst.each->body) {
      for (Value& v : body.results) fn(v);
    }
  }
}

template <typename Fn>
void ForEachUse(Block& block, Fn&& fn) {
  for (Inst& inst : block.insts) ir::ForEachOperand(inst, fn);
  ir::ForEachTermOperand(block.term, fn);
}

// Numbers the values anew: those that something defines, in order.
void Renumber(Function& f) {
  std::vector<Value> to(f.values.size());
  std::vector<ir::ValueInfo> values;
  for (Block& b : f.blocks) {
    ForEachDefinition(b, [&](Value& v) {
      to[v.id] = Value{static_cast<uint32_t>(values.size())};
      values.push_back(f.values[v.id]);
      v = to[v.id];
    });
  }
  for (Block& b : f.blocks) {
    ForEachUse(b, [&](Value& v) { v = to[v.id]; });
    for (Inst& inst : b.insts) ir::CanonicaliseAffines(inst);
  }
  f.values = std::move(values);
}

// A loop that is entered and left by its header, br lt(%counter, %end), inside, outside.
struct Loop {
  uint32_t header = 0;
  size_t counter = 0;  // which of the header's parameters
  Value end;
  std::vector<char> contains;  // by block
  bool only_decides = false;   // the condition is read by the branch alone
};

class Outlining {
 public:
  Outlining(ir::Module& module, uint32_t f) : module_(module), f_(module.Get(f)) {
    FindDefinitions();
  }

  // The first outermost loop becomes a call.
  StatusOr<bool> Next() {
    const ir::Dominators dominators(f_);
    for (uint32_t b : dominators.order()) {
      Terminator& term = f_.blocks[b].term;
      if (!term.snapshots.valid()) continue;
      Loop loop = Within(b);
      PB_ASSIGN_OR_RETURN(const bool counts, Counts(loop, dominators));
      if (!counts || !HasState(loop)) {
        term.snapshots = ir::kNoValue;
        continue;
      }
      Replace(loop);
      return true;
    }
    return false;
  }

 private:
  void FindDefinitions() {
    defs_.assign(f_.values.size(), nullptr);
    block_of_.assign(f_.values.size(), 0);
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      ForEachDefinition(f_.blocks[b], [&](Value& v) { block_of_[v.id] = b; });
      for (const Inst& inst : f_.blocks[b].insts) {
        for (Value v : inst.results) defs_[v.id] = &inst;
      }
    }
  }

  // The header, and what is reached from it by its first edge and not through it again.
  Loop Within(uint32_t header) const {
    Loop loop;
    loop.header = header;
    loop.contains.resize(f_.blocks.size());
    std::vector<uint32_t> work = {f_.blocks[header].term.edges[0].block};
    loop.contains[header] = 1;
    while (!work.empty()) {
      const uint32_t b = work.back();
      work.pop_back();
      if (loop.contains[b]) continue;
      loop.contains[b] = 1;
      for (const Edge& e : f_.blocks[b].term.edges) work.push_back(e.block);
    }
    return loop;
  }

  bool IsKnownBefore(const Loop& loop, Value v) const {
    return !IsInside(loop, v) || (defs_[v.id] && defs_[v.id]->op == Op::Const);
  }
  bool IsInside(const Loop& loop, Value v) const { return loop.contains[block_of_[v.id]] != 0; }

  // False: nothing leads back to the header, or a constant decides: it is no loop.
  StatusOr<bool> Counts(Loop& loop, const ir::Dominators& dominators) const {
    const Terminator& term = f_.blocks[loop.header].term;
    const Inst* cond = defs_[term.cond.id];
    bool back = false, closed = loop.contains[term.edges[1].block] == 0;
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      if (!loop.contains[b]) continue;
      for (const Edge& e : f_.blocks[b].term.edges) back |= e.block == loop.header;
      closed &= dominators.Dominates(loop.header, b);
      closed &= f_.blocks[b].term.kind != Terminator::Kind::kReturn;
    }
    if (!back || (cond && cond->op == Op::Const)) return false;
    const std::vector<Value>& params = f_.blocks[loop.header].params;
    if (closed && cond && cond->op == Op::Lt && IsKnownBefore(loop, cond->args[1]) &&
        IsKnownBefore(loop, term.snapshots)) {
      const auto counter = std::find(params.begin(), params.end(), cond->args[0]);
      loop.counter = static_cast<size_t>(counter - params.begin());
      loop.end = cond->args[1];
      if (counter != params.end()) return true;
    }
    return Status{Code::kInternal, "IR_INVALID",
                  "@" + f_.name + ": a loop with snapshots that does not count"};
  }

  // Whether there is something to keep for the way back.
  bool HasState(const Loop& loop) const {
    const std::vector<Value>& params = f_.blocks[loop.header].params;
    return std::any_of(params.begin(), params.end(),
                       [&](Value v) { return ir::CarriesTangent(module_, f_.TypeOf(v)); });
  }

  static bool IsInteger(Type t) { return t == Type::I64() || t == Type::Bool(); }

  // Constants, sizes of what the step is handed in, and what depends on integers alone: made again in the
  // step, so that what the loop knows of them the step knows as well.
  bool IsMadeAgain(Value v) const {
    const Inst* def = defs_[v.id];
    if (!def || def->each) return false;
    if (def->op == Op::Const) return true;
    if (def->op == Op::Dim) return read_[def->args[0].id] != 0;
    bool integers = IsInteger(f_.TypeOf(v)) && def->results.size() == 1;
    ir::ForEachOperand(*def, [&](Value x) { integers &= IsInteger(f_.TypeOf(x)); });
    return integers && (ir::Info(def->op).flags & ir::kPure) != 0 && !ir::MayTrap(*def, f_);
  }

  // Calls fn(value) for what the loop's blocks read; the counter's condition is the schedule's.
  template <typename Fn>
  void ForEachRead(const Loop& loop, Fn&& fn) {
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      if (!loop.contains[b]) continue;
      for (Inst& inst : f_.blocks[b].insts) {
        if (!DecidesOnly(loop, inst)) ir::ForEachOperand(inst, fn);
      }
      Terminator& term = f_.blocks[b].term;
      if (b != loop.header) {
        ir::ForEachTermOperand(term, fn);
      } else {
        for (Value v : term.edges[0].args) fn(v);
      }
    }
  }

  // Whether it is the condition of the header's branch, and nobody else reads it.
  bool DecidesOnly(const Loop& loop, const Inst& inst) const {
    return loop.only_decides && inst.results == std::vector{f_.blocks[loop.header].term.cond};
  }

  // What the loop reads of what stands in front of it: instructions that are made again, in order, and
  // values that are handed in.
  void FindCaptures(Loop& loop) {
    captured_.clear();
    again_.clear();
    read_.assign(f_.values.size(), 0);
    ForEachRead(loop, [&](Value v) { read_[v.id] = 1; });
    loop.only_decides = read_[f_.blocks[loop.header].term.cond.id] == 0;
    read_.assign(f_.values.size(), 0);
    ForEachRead(loop, [&](Value v) { read_[v.id] = 1; });
    std::vector<char> seen(f_.values.size());
    ForEachRead(loop, [&](Value v) { Capture(loop, v, seen); });
  }

  void Capture(const Loop& loop, Value first, std::vector<char>& seen) {
    struct Open {
      Value value;
      bool operands_done;
    };
    std::vector<Open> open = {{first, false}};
    while (!open.empty()) {
      const Open at = open.back();
      open.pop_back();
      if (at.operands_done) {
        again_.push_back(*defs_[at.value.id]);
        continue;
      }
      if (IsInside(loop, at.value) || seen[at.value.id]) continue;
      seen[at.value.id] = 1;
      if (!IsMadeAgain(at.value)) {
        captured_.push_back(at.value);
        continue;
      }
      open.push_back({at.value, true});
      ir::ForEachOperand(*defs_[at.value.id], [&](Value v) { open.push_back({v, false}); });
    }
  }

  static std::vector<Value> WithoutCounter(std::vector<Value> values, const Loop& loop) {
    values.erase(values.begin() + static_cast<long>(loop.counter));
    return values;
  }

  // (state…, captured…, counter) -> state…: the header's instructions, then what follows until control is
  // back at the header.
  uint32_t MakeStep(const Loop& loop) {
    const uint32_t id = module_.AddFunction(f_.name + ".step");
    Function& step = module_.Get(id);
    const Block& header = f_.blocks[loop.header];
    const std::vector<Value> state = WithoutCounter(header.params, loop);
    for (Value v : state) step.results.push_back(f_.TypeOf(v));
    step.values = f_.values;
    std::vector<uint32_t> number(f_.blocks.size());
    uint32_t next = 1;
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      if (loop.contains[b] && b != loop.header) number[b] = next++;
    }
    step.blocks.push_back(header);
    Block& entry = step.blocks[0];
    entry.params = state;
    entry.params.insert(entry.params.end(), captured_.begin(), captured_.end());
    entry.params.push_back(header.params[loop.counter]);
    std::erase_if(entry.insts, [&](const Inst& inst) { return DecidesOnly(loop, inst); });
    entry.insts.insert(entry.insts.begin(), again_.begin(), again_.end());
    entry.term = {Terminator::Kind::kJump, ir::kNoValue, {header.term.edges[0]}, {}};
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      if (loop.contains[b] && b != loop.header) step.blocks.push_back(f_.blocks[b]);
    }
    const size_t blocks = step.blocks.size();
    for (size_t b = 0; b < blocks; ++b) LeadBack(step, b, loop, number);
    Renumber(step);
    return id;
  }

  // Edges to the header become returns; of a branch, in a block of their own.
  static void LeadBack(Function& step, size_t b, const Loop& loop,
                       const std::vector<uint32_t>& number) {
    const auto leave = [&](const Edge& e) {
      return Terminator{Terminator::Kind::kReturn, ir::kNoValue, {}, WithoutCounter(e.args, loop)};
    };
    const size_t edges = step.blocks[b].term.edges.size();
    for (size_t k = 0; k < edges; ++k) {
      Edge& e = step.blocks[b].term.edges[k];
      if (e.block != loop.header) {
        e.block = number[e.block];
      } else if (edges == 1) {
        step.blocks[b].term = leave(e);
        break;
      } else {
        Block back;
        back.term = leave(e);
        e = {static_cast<uint32_t>(step.blocks.size()), {}};
        step.blocks.push_back(std::move(back));
      }
    }
  }

  // In the header's place stands a call; its results are what the header's parameters were, so that nothing
  // else changes: its instructions run once more, as they do when the loop ends.
  void Replace(Loop& loop) {
    FindCaptures(loop);
    const uint32_t callee = ir::AddCheckpointedLoop(module_, MakeStep(loop));
    Block& header = f_.blocks[loop.header];
    std::vector<Value> first;
    for (Value v : header.params) {
      const ir::ValueInfo info = f_.values[v.id];
      first.push_back(f_.NewValue(info.type, info.name));
    }
    std::vector<Inst> front;
    const auto before = [&](Value v) {
      if (!IsInside(loop, v)) return v;
      front.push_back(*defs_[v.id]);  // a constant
      return front.back().results[0] = f_.NewValue(f_.TypeOf(v));
    };
    const Value end = before(loop.end), snapshots = before(header.term.snapshots);
    Inst call, last;
    call.op = Op::Call;
    call.callee = callee;
    call.results = WithoutCounter(header.params, loop);
    call.args = WithoutCounter(first, loop);
    call.args.insert(call.args.end(), captured_.begin(), captured_.end());
    call.args.insert(call.args.end(), {first[loop.counter], end, snapshots});
    last.op = Op::Max;
    last.args = {first[loop.counter], end};
    last.results = {header.params[loop.counter]};
    header.params = first;
    front.push_back(std::move(call));
    front.push_back(std::move(last));
    header.insts.insert(header.insts.begin(), front.begin(), front.end());
    header.term = {Terminator::Kind::kJump, ir::kNoValue, {header.term.edges[1]}, {}};
    RemoveBlocks(loop);
    FindDefinitions();
  }

  // The loop's, but its header.
  void RemoveBlocks(const Loop& loop) {
    std::vector<uint32_t> number(f_.blocks.size());
    std::vector<Block> kept;
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      if (loop.contains[b] && b != loop.header) continue;
      number[b] = static_cast<uint32_t>(kept.size());
      kept.push_back(std::move(f_.blocks[b]));
    }
    for (Block& b : kept) {
      for (Edge& e : b.term.edges) e.block = number[e.block];
    }
    f_.blocks = std::move(kept);
  }

  ir::Module& module_;
  Function& f_;
  std::vector<const Inst*> defs_;   // by value; bodies' have none
  std::vector<uint32_t> block_of_;  // by value
  std::vector<Value> captured_;
  std::vector<Inst> again_;
  std::vector<char> read_;  // by value: whether the loop itself reads it
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
