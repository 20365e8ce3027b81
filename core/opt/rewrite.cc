#include "core/opt/rewrite.h"

#include <bit>

#include "core/ir/literal.h"

namespace pullback::opt {
namespace {

using ir::Inst;
using ir::Op;
using ir::Type;
using ir::Value;

struct ReadRule {
  RuleId id;
  Term pattern, replacement;
};

// The rules with patterns, by the op at their root.
const std::vector<ReadRule>& RulesFor(Op op) {
  static const std::vector<std::vector<ReadRule>> by_op = [] {
    std::vector<std::vector<ReadRule>> read(ir::kOpCount);
    for (size_t k = 0; k < Rules().size(); ++k) {
      const Rule& rule = Rules()[k];
      if (!rule.IsPattern()) continue;
      ReadRule r{static_cast<RuleId>(k), ParseTerm(rule.left), ParseTerm(rule.right)};
      read[static_cast<size_t>(r.pattern.op)].push_back(std::move(r));
    }
    return read;
  }();
  return by_op[static_cast<size_t>(op)];
}

}  // namespace

void SetConst(Inst& inst, uint64_t bits) {
  inst.op = Op::Const;
  inst.args.clear();
  inst.subs.clear();
  inst.constraints.clear();
  inst.bits = bits;
  inst.loc = 0;
}

Rewriter::Outcome Rewriter::Apply(Inst& inst, std::vector<Inst>& made) {
  for (const ReadRule& read : RulesFor(inst.op)) {
    if (left_ == 0) return Outcome::kNone;
    if (!MayMatch(read.pattern, inst) || !options_.May(read.id)) continue;
    if (!Matches(Get(read.id), read.pattern, inst)) continue;
    const Outcome outcome = Replace(inst, read.replacement, made);
    if (outcome == Outcome::kNone) continue;
    --left_;
    options_.Take(read.id);
    return outcome;
  }
  return Outcome::kNone;
}

// The ops of its operands would do. Turns away nearly everything at once.
bool Rewriter::MayMatch(const Term& pattern, const Inst& inst) const {
  const bool commutes = (ir::Info(pattern.op).flags & ir::kCommutes) != 0;
  const auto may = [&](const Term& t, Value v) {
    if (t.kind == Term::Kind::kOp) return defs_.Of(v).op == t.op;
    if (t.kind == Term::Kind::kVariable || t.kind == Term::Kind::kBuild) return true;
    return defs_.Of(v).op == Op::Const;
  };
  for (size_t k = 0; k < pattern.operands.size(); ++k) {
    const Term& t = pattern.operands[k];
    if (!may(t, inst.args[k]) && !(commutes && may(t, inst.args[1 - k]))) return false;
  }
  return true;
}

bool Rewriter::IsInDomain(Domain domain, const Inst& inst) const {
  if (domain == Domain::kAny) return true;
  const Type t = f_.TypeOf(inst.args[0]);
  const bool is_int = t == Type::I64(), is_float = t.IsScalar() && t.IsFloat();
  switch (domain) {
    case Domain::kBool: return t == Type::Bool();
    case Domain::kFloat: return is_float;
    case Domain::kNumber: return is_int || is_float;
    case Domain::kDiscrete: return is_int || t == Type::Bool();
    case Domain::kRing: return is_int || (is_float && options_.fast_math);
    case Domain::kFast: return is_float && options_.fast_math;
    case Domain::kAny: break;
  }
  return true;
}

bool Rewriter::Matches(const Rule& rule, const Term& pattern, const Inst& inst) {
  if (!IsInDomain(rule.domain, inst)) return false;
  once_ = rule.once;
  bound_.fill(ir::kNoValue);
  extents_ = nullptr;
  return MatchOperands(pattern, inst.args, {});
}

bool Rewriter::MatchOperands(const Term& term, ir::ValueSpan args, const Pending& rest) {
  Pending all = rest;
  const size_t begin = all.count;
  for (size_t k = 0; k < args.size(); ++k) all.pairs[all.count++] = {&term.operands[k], args[k]};
  const auto saved = bound_;
  if (MatchAll(all)) return true;
  bound_ = saved;
  if ((ir::Info(term.op).flags & ir::kCommutes) == 0) return false;
  std::swap(all.pairs[begin].second, all.pairs[begin + 1].second);
  return MatchAll(all);
}

bool Rewriter::MatchAll(Pending pending) {
  while (pending.count > 0) {
    const auto [term, v] = pending.pairs[--pending.count];
    switch (term->kind) {
      case Term::Kind::kVariable: {
        Value& bound = bound_[static_cast<size_t>(term->variable)];
        if (bound.valid() && bound != v) return false;
        bound = v;
        break;
      }
      case Term::Kind::kNumber:
        if (!IsNumber(v, term->number)) return false;
        break;
      case Term::Kind::kBool:
        if (!defs_.IsConst(v) || f_.TypeOf(v) != Type::Bool() ||
            (defs_.Bits(v) != 0) != term->truth)
          return false;
        break;
      case Term::Kind::kBuild:
        extents_ = defs_.ExtentsOf(v);
        if (!extents_) return false;
        break;
      case Term::Kind::kExtent: return false;
      case Term::Kind::kOp: {
        const Definitions::Def& d = defs_.Of(v);
        if (d.op != term->op || !defs_.Holds(v) || (once_ && UsesOf(v) != 1)) return false;
        return MatchOperands(*term, d.args, pending);
      }
    }
  }
  return true;
}

// Of a float by its bits, so that 0 and -0 are two.
bool Rewriter::IsNumber(Value v, double number) const {
  if (!defs_.IsConst(v)) return false;
  const Type t = f_.TypeOf(v);
  if (t == Type::I64()) return static_cast<int64_t>(defs_.Bits(v)) == static_cast<int64_t>(number);
  return t.IsFloat() && defs_.Bits(v) == ir::FloatBits(t.elem, number);
}

int Rewriter::UsesOf(Value v) {
  if (uses_.empty()) {
    uses_.resize(f_.values.size());
    const auto count = [&](Value used) { ++uses_[used.id]; };
    for (const ir::Block& b : f_.blocks) {
      for (const Inst& inst : b.insts) ir::ForEachOperand(inst, count);
      ir::ForEachTermOperand(b.term, count);
    }
  }
  return v.id < uses_.size() ? uses_[v.id] : 1;  // made by a rule, for one reader
}

Rewriter::Outcome Rewriter::Replace(Inst& inst, const Term& by, std::vector<Inst>& made) {
  const Type t = f_.TypeOf(inst.results[0]);
  switch (by.kind) {
    case Term::Kind::kVariable:
      return ReplaceByValue(inst, bound_[static_cast<size_t>(by.variable)]);
    case Term::Kind::kExtent: return ReplaceByValue(inst, extents_->values[inst.bits]);
    case Term::Kind::kBool: SetConst(inst, by.truth); break;
    case Term::Kind::kNumber:
      SetConst(inst, t.IsFloat() ? ir::FloatBits(t.elem, by.number)
                                 : static_cast<uint64_t>(static_cast<int64_t>(by.number)));
      break;
    case Term::Kind::kOp:
      inst.args = MakeOperands(by, inst, made);
      inst.op = by.op;
      break;
    case Term::Kind::kBuild: return Outcome::kNone;
  }
  return Outcome::kChanged;
}

// A guard is a value of its own body (core/ir/verifier.h), so that a value from outside cannot stand for one.
bool Rewriter::IsGuardFromOutside(Value guard, Value v) {
  if (f_.TypeOf(guard) != Type::Bool()) return false;
  if (home_.empty()) FindGuards();
  const auto home = [&](Value x) { return x.id < home_.size() ? home_[x.id] : 0; };
  return guard.id < is_guard_.size() && is_guard_[guard.id] && home(v) != home(guard);
}

void Rewriter::FindGuards() {
  is_guard_.assign(f_.values.size(), false);
  home_.assign(f_.values.size(), 0);
  uint32_t statements = 0;
  for (const ir::Block& b : f_.blocks) {
    for (const Inst& statement : b.insts) {
      if (!statement.each) continue;
      ++statements;
      for (const Inst& inst : statement.each->body) {
        for (const Value r : inst.results) home_[r.id] = statements;
        if (inst.guard.valid()) is_guard_[inst.guard.id] = true;
      }
      for (const ir::EachResult& r : statement.each->results) {
        if (r.guard.valid()) is_guard_[r.guard.id] = true;
      }
    }
  }
}

// Where inst is guarded, v must be 0 outside the guard as well.
Rewriter::Outcome Rewriter::ReplaceByValue(const Inst& inst, Value v) {
  if (IsGuardFromOutside(inst.results[0], v)) return Outcome::kNone;
  if (inst.guard.valid() && !(defs_.Of(v).known && defs_.Of(v).guard == inst.guard))
    return Outcome::kNone;
  renaming_.Set(inst.results[0], v);
  return Outcome::kRenamed;
}

std::vector<Value> Rewriter::MakeOperands(const Term& term, const Inst& root,
                                          std::vector<Inst>& made) {
  std::vector<Value> operands;
  for (const Term& t : term.operands) operands.push_back(Make(t, root, made));
  return operands;
}

// Nested operations of replacements have the type of the whole.
Value Rewriter::Make(const Term& term, const Inst& root, std::vector<Inst>& made) {
  if (term.kind == Term::Kind::kVariable) return bound_[static_cast<size_t>(term.variable)];
  Inst inst;
  inst.args = MakeOperands(term, root, made);
  inst.op = term.op;
  inst.guard = root.guard;
  inst.loc = root.loc;
  inst.results = {f_.NewValue(f_.TypeOf(root.results[0]))};
  made.push_back(std::move(inst));
  return made.back().results[0];
}

}  // namespace pullback::opt
