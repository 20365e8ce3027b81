// Calls in the bodies of statements become text where the callee branches but does not loop: what stands in a block
// is guarded by the condition under which the block is reached, so that an arm runs where it is taken. The loops that
// come of it hold ifs instead of calls, which back ends run several points at a time.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/ir/dominance.h"
#include "core/opt/merge_arms.h"
#include "core/opt/rename.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Inst;
using ir::Op;
using ir::Terminator;
using ir::Value;

constexpr size_t kMaxBlocks = 24;
constexpr size_t kMaxInsts = 800;      // of a callee
constexpr size_t kMostInlined = 1500;  // of a statement by then

bool AllScalars(const ir::Function& f, ir::ValueSpan values) {
  return std::all_of(values.begin(), values.end(), [&](Value v) { return f.TypeOf(v).IsScalar(); });
}

bool MayStandInBody(const ir::Function& f, const Inst& inst) {
  if (inst.op == Op::Call) return AllScalars(f, inst.args) && AllScalars(f, inst.results);
  return ir::Info(inst.op).rule != ir::TypeRule::Own || inst.op == Op::Const ||
         inst.op == Op::AffineOf;
}

bool CanBeInlined(const ir::Function& f) {
  if (f.blocks.size() > kMaxBlocks || f.HasRule()) return false;
  const ir::Dominators dominators(f);
  size_t insts = 0;
  bool returns = false;
  for (uint32_t b : dominators.order()) {
    const ir::Block& block = f.blocks[b];
    insts += block.insts.size();
    returns |= block.term.kind == Terminator::Kind::kReturn;
    const auto stands = [&](const Inst& inst) { return MayStandInBody(f, inst); };
    if (!std::all_of(block.insts.begin(), block.insts.end(), stands)) return false;
    for (const ir::Edge& e : block.term.edges) {
      if (dominators.Dominates(e.block, b)) return false;  // a loop
    }
  }
  return returns && insts <= kMaxInsts;
}

// The text of one callee in one body.
class BodyText {
 public:
  BodyText(ir::Function& into, const ir::Function& callee, const Inst& call,
           std::vector<Inst>& made, ArmText& text)
      : f_(into),
        callee_(callee),
        call_(call),
        made_(made),
        text_(text),
        dominators_(callee),
        guards_(callee.blocks.size()),
        edges_(callee.blocks.size()) {}

  // The values that the call gives.
  std::vector<Value> Write() {
    guards_[0] = call_.guard;
    for (size_t k = 0; k < call_.args.size(); ++k) copies_[callee_.params()[k]] = call_.args[k];
    std::vector<Value> results;
    std::vector<uint32_t> returns;
    for (uint32_t b : dominators_.order()) {
      if (b != 0) Enter(b);
      for (const Inst& inst : callee_.blocks[b].insts) Copy(inst, guards_[b]);
      Leave(b);
      if (callee_.blocks[b].term.kind == Terminator::Kind::kReturn) returns.push_back(b);
    }
    for (size_t k = 0; k < call_.results.size(); ++k) {
      std::vector<std::pair<Value, Value>> choices;
      for (uint32_t b : returns)
        choices.emplace_back(guards_[b], copies_.at(callee_.blocks[b].term.results[k]));
      results.push_back(Only(Choose(choices, call_.guard)));
    }
    return results;
  }

 private:
  struct Incoming {
    Value guard;
    const ir::Edge* edge;
  };

  // A block is reached where one of its edges is taken: wherever the block that dominates it is, if all ways
  // lead here.
  void Enter(uint32_t b) {
    const std::vector<Incoming>& in = edges_[b];
    if (AlwaysReaches(dominators_.Idom(b), b)) {
      guards_[b] = guards_[dominators_.Idom(b)];
    } else {
      guards_[b] = in[0].guard;
      for (size_t k = 1; k < in.size(); ++k) guards_[b] = Bool(Op::Or, {guards_[b], in[k].guard});
    }
    const ir::Values& params = callee_.blocks[b].params;
    for (size_t k = 0; k < params.size(); ++k) {
      std::vector<std::pair<Value, Value>> choices;
      for (const Incoming& i : in) choices.emplace_back(i.guard, copies_.at(i.edge->args[k]));
      copies_[params[k]] = Choose(choices, guards_[b]);
    }
  }

  void Leave(uint32_t b) {
    const Terminator& term = callee_.blocks[b].term;
    for (size_t e = 0; e < term.edges.size(); ++e) {
      Value guard = guards_[b];
      if (term.kind == Terminator::Kind::kBranch) {
        const Value condition = copies_.at(term.cond);
        const Value here = e == 0 ? condition : Bool(Op::Not, {condition});
        guard = guard.valid() ? Bool(Op::And, {guard, here}) : here;
      }
      edges_[term.edges[e].block].push_back({guard, &term.edges[e]});
    }
  }

  bool AlwaysReaches(uint32_t from, uint32_t to) const {
    std::vector<char> seen(callee_.blocks.size());
    std::vector<uint32_t> work = {from};
    while (!work.empty()) {
      const uint32_t b = work.back();
      work.pop_back();
      if (b == to || seen[b]) continue;
      seen[b] = 1;
      if (callee_.blocks[b].term.edges.empty()) return false;
      for (const ir::Edge& e : callee_.blocks[b].term.edges) work.push_back(e.block);
    }
    return true;
  }

  // The value whose guard is true; one of them is.
  Value Choose(const std::vector<std::pair<Value, Value>>& choices, Value guard) {
    Value chosen = choices.back().second;
    for (size_t k = choices.size() - 1; k-- > 0;) {
      const auto& [condition, value] = choices[k];
      if (value == chosen) continue;
      chosen = Make(Op::Select, f_.TypeOf(value), {condition, value, chosen}, guard);
    }
    return chosen;
  }

  // As what a guarded call gives: 0 where it is not made.
  Value Only(Value v) {
    const bool own = std::any_of(made_.begin(), made_.end(), [&](const Inst& inst) {
      return inst.guard == call_.guard && inst.results[0] == v;
    });
    if (!call_.guard.valid() || own) return v;
    return Make(Op::Select, f_.TypeOf(v), {call_.guard, v, v}, call_.guard);
  }

  Value Bool(Op op, const std::vector<Value>& args) {
    return Make(op, ir::Type::Bool(), args, ir::kNoValue);
  }
  Value Make(Op op, ir::Type type, const std::vector<Value>& args, Value guard) {
    Inst inst;
    inst.op = op;
    inst.loc = call_.loc;
    inst.args = args;
    inst.guard = guard;
    inst.results = {f_.NewValue(type)};
    text_.values.insert(inst.results[0]);
    made_.push_back(std::move(inst));
    return made_.back().results[0];
  }

  void Copy(const Inst& inst, Value guard) {
    Inst copy = inst;
    ir::ForEachOperand(copy, [&](Value& v) { v = copies_.at(v); });
    ir::CanonicaliseAffines(copy);
    if (inst.op != Op::Const) copy.guard = guard;
    for (Value& v : copy.results) {
      const Value fresh = f_.NewLike(callee_, v);
      copies_[v] = fresh;
      v = fresh;
      text_.values.insert(v);
      if (copy.guard != call_.guard) text_.arms.insert(v);
    }
    made_.push_back(std::move(copy));
  }

  ir::Function& f_;
  const ir::Function& callee_;
  const Inst& call_;
  std::vector<Inst>& made_;
  ArmText& text_;
  const ir::Dominators dominators_;
  std::vector<Value> guards_;  // by block: where it is reached; kNoValue: everywhere
  std::vector<std::vector<Incoming>> edges_;
  std::map<Value, Value> copies_;
};

bool InlineInto(const ir::Module& m, ir::Function& f, std::vector<Inst>& body, Renaming& renaming,
                ArmText& text, const RewriteOptions& options) {
  std::vector<Inst> made;
  bool changed = false;
  for (size_t k = 0; k < body.size(); ++k) {
    Inst& inst = body[k];
    renaming.Apply(inst);
    const ir::Function* callee = inst.op == Op::Call ? &m.Get(inst.callee) : nullptr;
    if (callee == nullptr || callee == &f || made.size() + (body.size() - k) > kMostInlined ||
        !CanBeInlined(*callee) || !options.Take(RuleId::kInlineInStatement)) {
      made.push_back(std::move(inst));
      continue;
    }
    const Inst call = std::move(inst);
    const std::vector<Value> results = BodyText(f, *callee, call, made, text).Write();
    for (size_t r = 0; r < results.size(); ++r) renaming.Set(call.results[r], results[r]);
    changed = true;
  }
  body = std::move(made);
  return changed;
}

template <typename Fn>
bool OverBodies(ir::Function& f, Fn&& change) {
  Renaming renaming(f);
  bool changed = false;
  for (ir::Block& b : f.blocks) {
    for (Inst& inst : b.insts) {
      if (inst.each) changed |= change(*inst.each, renaming);
    }
  }
  if (changed) renaming.Apply(f);
  return changed;
}

}  // namespace

bool InlineBodies(ir::Module& module, const RewriteOptions& options) {
  bool any = false;
  for (auto& f : module.functions) {
    ArmText text;
    any |= OverBodies(*f, [&](ir::Each& each, Renaming& renaming) {
      return InlineInto(module, *f, each.body, renaming, text, options);
    });
    if (text.arms.empty()) continue;
    EliminateCommonSubexpressions(*f, options);  // so that equal conditions are one
    OverBodies(*f, [&](ir::Each& each, Renaming& renaming) {
      return MergeArms(*f, each, text, renaming);
    });
  }
  return any;
}

}  // namespace pullback::opt
