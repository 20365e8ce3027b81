#include "core/ad/early_cotangents.h"

#include <algorithm>
#include <utility>

#include "core/ad/partials.h"
#include "core/base/flat_lists.h"
#include "core/base/status.h"

namespace pullback::ad {

using ir::Inst;
using ir::Op;
using ir::Terminator;
using ir::Value;

namespace {

constexpr size_t kMostPaths = 8;
constexpr int kMostVisits = 256;
constexpr int kMostDeep = 8;  // of what a factor is made of

// Whether the result is linear in that operand, with a factor that does not depend on it.
// Of what is added to an array: the array.
bool IsLinear(const Inst& inst, size_t operand, const ir::Function& f) {
  switch (inst.op) {
    case Op::Add:
    case Op::Sub:
    case Op::AddArrays:
    case Op::Neg: return true;
    case Op::AddAt: return operand == 0;
    case Op::Mul: return inst.args[0] != inst.args[1];
    case Op::Div: return operand == 0 && inst.args[0] != inst.args[1];
    case Op::Cast: return f.TypeOf(inst.results[0]).IsFloat();
    default: return false;
  }
}

}  // namespace

EarlyCotangents::EarlyCotangents(const ir::Function& f, const ReverseFlow& flow,
                                 std::function<size_t(uint32_t)> sums_of)
    : f_(f),
      flow_(flow),
      sums_of_(std::move(sums_of)),
      uses_(f.values.size()),
      defs_(f.values.size()),
      ordinal_(f.values.size(), -1) {
  NoteUses();
  FindFollowing();
}

void EarlyCotangents::NoteUses() {
  for (uint32_t b : flow_.dominators.order()) {
    int number = 0;
    for (const Inst& inst : f_.blocks[b].insts) {
      for (Value v : inst.results) {
        defs_[v.id] = &inst;
        ordinal_[v.id] = number;
      }
      ++number;
      if (inst.each) {
        ir::ForEachOperand(inst, [&](Value v) { uses_[v.id].push_back({b, &inst, SIZE_MAX}); });
        continue;
      }
      for (size_t k = 0; k < inst.args.size(); ++k) uses_[inst.args[k].id].push_back({b, &inst, k});
    }
    const Terminator& term = f_.blocks[b].term;
    for (size_t k = 0; k < term.results.size(); ++k)
      uses_[term.results[k].id].push_back({b, nullptr, k});
    for (size_t e = 0; e < term.edges.size(); ++e) {
      const ir::Values& args = term.edges[e].args;
      for (size_t k = 0; k < args.size(); ++k) uses_[args[k].id].push_back({b, nullptr, k, e});
    }
  }
}

void EarlyCotangents::FindFollowing() {
  if (flow_.exit == kNoExit) return;
  const auto number = [this](uint32_t b) { return b == flow_.exit ? 0 : b == 0 ? flow_.exit : b; };
  backwards_.emplace(FlatLists(f_.blocks.size(), [&](auto add) {
    for (uint32_t b : flow_.dominators.order()) {
      for (const ir::Edge& e : f_.blocks[b].term.edges) add(number(e.block), number(b));
    }
  }));
}

// Whether a run that is at that place passes the block, once.
bool EarlyCotangents::Follows(uint32_t block, Place at) const {
  if (!backwards_ || flow_.InCycle(block)) return false;
  const auto number = [this](uint32_t b) { return b == flow_.exit ? 0 : b == 0 ? flow_.exit : b; };
  return backwards_->Dominates(number(block), number(at.block));
}

bool EarlyCotangents::IsKnown(Value v, Place at) const {
  Search search{at, {}, {}};
  return FindPaths(v, search);
}

bool EarlyCotangents::FindPaths(Value v, Search& search) const {
  if (++search.visits > kMostVisits) return false;
  return std::all_of(uses_[v.id].begin(), uses_[v.id].end(), [&](const Use& use) {
    return use.inst ? FollowInst(use, search) : FollowTerminator(use, search);
  });
}

// Comparisons, checks, roundings: what has no derivative by its operands.
bool EarlyCotangents::HasNoCotangent(const Inst& inst) const {
  if (inst.each || inst.op == Op::Call) return false;
  return inst.op == Op::Dim || RuleOf(inst.op) == Rule::kConstant ||
         (inst.op == Op::Cast && !f_.TypeOf(inst.results[0]).IsFloat());
}

bool EarlyCotangents::FollowInst(const Use& use, Search& search) const {
  const Inst& inst = *use.inst;
  if (search.at.IsInLoop(use.block) || HasNoCotangent(inst)) return true;
  if (!Follows(use.block, search.at)) return false;
  const auto follow = [&](Value result) {
    search.so_far.steps.push_back({&inst, use.operand});
    const bool found = FindPaths(result, search);
    search.so_far.steps.pop_back();
    return found;
  };
  if (inst.op == Op::Call)
    return use.operand < sums_of_(inst.callee) && follow(inst.results[use.operand]);
  if (inst.each || inst.results.size() != 1 || !IsLinear(inst, use.operand, f_)) return false;
  for (size_t k = 0; k < inst.args.size(); ++k) {
    const bool factor = inst.op == Op::Mul || inst.op == Op::Div;
    if (factor && k != use.operand && !CanBeMade(inst.args[k], search.at, 0)) return false;
  }
  return follow(inst.results[0]);
}

bool EarlyCotangents::FollowTerminator(const Use& use, Search& search) const {
  const Terminator& term = f_.blocks[use.block].term;
  const Place& at = search.at;
  if (at.IsInLoop(use.block) && at.IsInLoop(term.edges[use.edge].block)) return true;
  if (!Follows(use.block, at) && !at.IsInLoop(use.block)) return false;
  if (term.kind == Terminator::Kind::kReturn) {
    if (search.paths.size() == kMostPaths) return false;
    search.so_far.result = use.operand;
    search.paths.push_back(search.so_far);
    return true;
  }
  const ir::Edge& e = term.edges[use.edge];
  return (term.edges.size() == 1 || at.IsInLoop(use.block)) && Follows(e.block, at) &&
         FindPaths(f_.blocks[e.block].params[use.operand], search);
}

bool EarlyCotangents::IsThere(Value v, Place at) const {
  const uint32_t b = flow_.def_block[v.id];
  return b == at.block ? ordinal_[v.id] < at.inst : flow_.dominators.Dominates(b, at.block);
}

bool EarlyCotangents::CanBeMade(Value v, Place at, int depth) const {
  if (IsThere(v, at)) return true;
  const Inst* def = defs_[v.id];
  if (!def || def->each || depth == kMostDeep || def->results.size() != 1 || !def->subs.empty() ||
      (ir::Info(def->op).flags & ir::kPure) == 0 || ir::MayTrap(*def, f_))
    return false;
  return std::all_of(def->args.begin(), def->args.end(),
                     [&](Value x) { return CanBeMade(x, at, depth + 1); });
}

Value EarlyCotangents::MakeAgain(Value v, Place at, ir::Builder& b,
                                 const std::function<Value(Value)>& here) const {
  if (IsThere(v, at)) return here(v);
  Inst copy = *defs_[v.id];
  for (Value& x : copy.args) x = MakeAgain(x, at, b, here);
  copy.results = {b.function().NewValue(f_.TypeOf(v))};
  return b.Append(std::move(copy)).results[0];
}

Value EarlyCotangents::Make(Value v, Place at, ir::Builder& b,
                            const std::function<Value(size_t)>& seed,
                            const std::function<Value(Value)>& here) const {
  Search search{at, {}, {}};
  PB_CHECK(FindPaths(v, search));
  const std::function<Value(Value)> primal = [&](Value x) { return MakeAgain(x, at, b, here); };
  Value sum;
  for (const Path& p : search.paths) {
    Value w = seed(p.result);
    for (auto step = p.steps.rbegin(); step != p.steps.rend() && w.valid(); ++step) {
      const Inst& inst = *step->inst;
      const auto k = static_cast<int>(step->operand);
      if (RuleOf(inst.op) == Rule::kStructural && inst.op != Op::Cast) continue;  // passed on
      w = inst.op == Op::Cast ? b.Cast(w, f_.TypeOf(inst.args[0]).elem)
                              : Times(b, w, PartialOf({b, inst, primal}, k));
    }
    if (w.valid()) sum = sum.valid() ? b.Add(sum, w) : w;
  }
  return sum;
}

}  // namespace pullback::ad
