#include "core/ad/reversible.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/ad/counters.h"
#include "core/ad/loop_parts.h"

namespace pullback::ad {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;
using Defs = Definitions;

// Of an odd number, modulo 2^64 (Newton's iteration doubles the bits that are right).
int64_t InverseOf(int64_t odd) {
  const auto c = static_cast<uint64_t>(odd);
  uint64_t x = c;
  for (int bits = 3; bits < 64; bits *= 2) x *= 2 - c * x;
  return static_cast<int64_t>(x);
}

bool IsLogical(const Inst& inst, const ir::Function& f) {
  const bool equals = inst.op == Op::Eq || inst.op == Op::Ne;
  return inst.op == Op::Not || (equals && f.TypeOf(inst.args[0]) == ir::Type::Bool());
}

bool IsInvertible(const Inst& inst, Value by, const ir::Function& f, const Defs& defs) {
  if (IsLogical(inst, f)) return inst.args.size() == 1 || inst.args[0] != inst.args[1];
  const std::optional<Affine> form = FormOf(inst, f, defs);
  return form && form->Coeff(by) % 2 != 0;
}

// The values of one turn that are known, and how.
class Turn {
 public:
  Turn(const ir::Function& f, const ReverseFlow& flow, const Defs& defs,
       const std::function<bool(Value)>& at_hand, uint32_t header)
      : f_(f), flow_(flow), defs_(defs), at_hand_(at_hand), header_(header) {
    const uint32_t latch = flow.preds[header][1].block;
    for (uint32_t b : flow.dominators.order()) {  // what every turn runs
      if (!flow.IsLoopBodyOf(b, header) || !flow.dominators.Dominates(b, latch)) continue;
      for (const Inst& inst : f.blocks[b].insts) {
        if (inst.results.size() != 1 || !IsInteger(f.TypeOf(inst.results[0]))) continue;
        if (IsLogical(inst, f) || FormOf(inst, f, defs)) insts_.push_back(&inst);
      }
    }
  }

  bool IsInvariant(Value v) const {
    return IsInteger(f_.TypeOf(v)) && !flow_.IsLoopBodyOf(flow_.def_block[v.id], header_);
  }
  bool Knows(Value v) const { return known_.count(v) != 0 || at_hand_(v) || IsInvariant(v); }

  // Everything that follows from `known`, forwards and backwards.
  void Start(std::set<Value> known) {
    known_ = std::move(known);
    steps_.clear();
    for (size_t before = SIZE_MAX; before != steps_.size();) {
      before = steps_.size();
      for (const Inst* inst : insts_) Visit(*inst);
    }
  }
  const std::vector<UndoStep>& steps() const { return steps_; }

 private:
  void Visit(const Inst& inst) {
    std::set<Value> unknown;
    ir::ForEachOperand(inst, [&](Value v) {
      if (!Knows(v)) unknown.insert(v);
    });
    const Value result = inst.results[0];
    if (unknown.empty() && !Knows(result)) Learn(inst, result);
    if (unknown.size() != 1 || !Knows(result)) return;
    const Value v = *unknown.begin();
    if (IsInteger(f_.TypeOf(v)) && IsInvertible(inst, v, f_, defs_)) Learn(inst, v);
  }
  void Learn(const Inst& inst, Value v) {
    known_.insert(v);
    steps_.push_back({&inst, v});
  }

  const ir::Function& f_;
  const ReverseFlow& flow_;
  const Defs& defs_;
  const std::function<bool(Value)>& at_hand_;
  uint32_t header_;
  std::vector<const Inst*> insts_;
  std::set<Value> known_;
  std::vector<UndoStep> steps_;
};

// The steps that `needed` takes; adds what they read.
std::vector<UndoStep> StepsFor(std::set<Value>& needed, const std::vector<UndoStep>& steps) {
  std::vector<UndoStep> kept;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (!needed.count(step->target)) continue;
    kept.push_back(*step);
    const Value result = step->inst->results[0];
    if (result != step->target) needed.insert(result);
    ir::ForEachOperand(*step->inst, [&](Value v) {
      if (v != step->target) needed.insert(v);
    });
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

}  // namespace

ReversibleIntegers Reversible::Find(uint32_t header, const std::vector<char>& wanted) const {
  const Predecessor& latch = flow_.preds[header][1];
  const ir::Values& args = f_.blocks[latch.block].term.edges[latch.edge].args;
  const ir::Values& params = f_.blocks[header].params;
  std::vector<size_t> found;
  bool any = false;
  for (size_t k = 0; k < params.size(); ++k) {
    if (IsInteger(f_.TypeOf(params[k]))) found.push_back(k);
    any |= IsInteger(f_.TypeOf(params[k])) && wanted[params[k].id];
  }
  if (!any) return {};
  Turn turn(f_, flow_, defs_, at_hand_, header);
  for (size_t before = SIZE_MAX; before != found.size();) {
    before = found.size();
    std::set<Value> known;
    for (size_t k : found) known.insert(args[k]);
    turn.Start(std::move(known));
    std::erase_if(found, [&](size_t k) { return !turn.Knows(params[k]); });
  }
  // Those that are wanted, and what undoing them takes.
  ReversibleIntegers out;
  std::set<Value> needed;
  std::set<size_t> taken;
  for (size_t k : found) {
    if (wanted[params[k].id]) taken.insert(k);
  }
  for (size_t before = SIZE_MAX; before != taken.size();) {
    before = taken.size();
    for (size_t k : taken) needed.insert(params[k]);
    out.steps = StepsFor(needed, turn.steps());
    for (size_t k : found) {
      if (needed.count(args[k])) taken.insert(k);
    }
  }
  for (size_t k : taken) out.params.push_back(params[k]);
  for (Value v : needed) {
    if (turn.IsInvariant(v) && !at_hand_(v)) out.invariants.push_back(v);
  }
  return out;
}

Value Reversible::Emit(ir::Builder& b, const UndoStep& step,
                       const std::function<Value(Value)>& get) const {
  const Inst& inst = *step.inst;
  const Value result = inst.results[0];
  if (IsLogical(inst, f_)) {
    const auto operand = [&](Value v) { return get(v == step.target ? result : v); };
    std::vector<Value> args;
    for (Value v : inst.args) args.push_back(operand(v));
    return b.Make(inst.op, args);  // each is its own inverse
  }
  const Affine form = *FormOf(inst, f_, defs_);
  Affine sum = Affine::Const(form.constant);
  for (const Affine::Term& t : form.terms) {
    if (t.value != step.target) sum = sum + Affine::Of(get(t.value)) * t.coeff;
  }
  if (step.target == result) return b.AffineOf(sum);
  return b.AffineOf((Affine::Of(get(result)) - sum) * InverseOf(form.Coeff(step.target)));
}

}  // namespace pullback::ad
