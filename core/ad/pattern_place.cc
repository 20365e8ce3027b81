#include <algorithm>
#include <utility>

#include "core/ad/pattern_integers.h"
#include "core/analysis/predicate.h"

namespace pullback::ad {

using ir::Affine;
using ir::Constraint;
using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

// More than these, and a condition counts as true.
constexpr size_t kMaxConditions = 16;

PatternConditions Always() { return {PatternCondition{}}; }
PatternConditions Never() { return {}; }
PatternConditions If(Constraint c) { return {{{}, {std::move(c)}}}; }

}  // namespace

PatternConditions AnyOf(PatternConditions a, const PatternConditions& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a.size() > kMaxConditions ? Always() : a;
}

PatternConditions BothOf(const PatternConditions& a, const PatternConditions& b) {
  if (a.size() * b.size() > kMaxConditions) return a.size() < b.size() ? a : b;
  PatternConditions out;
  for (const PatternCondition& x : a) {
    for (const PatternCondition& y : b) {
      PatternCondition both = x;
      both.points.insert(both.points.end(), y.points.begin(), y.points.end());
      both.where.insert(both.where.end(), y.where.begin(), y.where.end());
      out.push_back(std::move(both));
    }
  }
  return out;
}

PatternPlace::PatternPlace(PatternIntegers& integers, const ir::Each& each,
                           std::map<Value, Affine> at)
    : all_(integers), at_(std::move(at)) {
  for (const Inst& inst : each.body) {
    for (Value v : inst.results) defs_[v] = &inst;
  }
}

const Inst* PatternPlace::DefinitionOf(Value v) const {
  const auto it = defs_.find(v);
  return it == defs_.end() ? all_.DefinitionOf(v) : it->second;
}

void PatternPlace::Assume(Value guard) {
  if (!guard.valid() || !assumed_.emplace(guard, true).second) return;
  const Inst* inst = DefinitionOf(guard);
  if (inst == nullptr) return;
  Assume(inst->guard);
  if (inst->op != Op::And) return;
  for (Value v : inst->args) Assume(v);
}

std::optional<Affine> PatternPlace::Form(const Affine& e) {
  Affine sum = Affine::Const(e.constant);
  for (const Affine::Term& t : e.terms) {
    const std::optional<Affine> term = Form(t.value);
    if (!term) return std::nullopt;
    sum = sum + *term * t.coeff;
  }
  return sum;
}

std::optional<Affine> PatternPlace::Form(Value v) {
  if (const auto it = at_.find(v); it != at_.end()) return it->second;
  const auto def = defs_.find(v);
  if (def == defs_.end()) return all_.Form(v);
  const Inst& inst = *def->second;
  if (inst.guard.valid() && assumed_.count(inst.guard) == 0) return std::nullopt;
  if (all_.function().TypeOf(v) != ir::Type::I64()) return std::nullopt;
  std::optional<Affine> form = FormOf(inst);
  if (form) at_[v] = *form;
  return form;
}

std::optional<Affine> PatternPlace::FormOf(const Inst& inst) {
  if (inst.op == Op::AffineOf) return Form(inst.subs[0]);
  if (ir::HasCallee(inst.op)) return std::nullopt;
  std::vector<Affine> operands;
  const auto add = [&](std::optional<Affine> form) {
    if (form) operands.push_back(std::move(*form));
    return form.has_value();
  };
  for (const Affine& sub : inst.subs) {
    if (!add(Form(sub))) return std::nullopt;
  }
  for (Value v : inst.args) {
    if (inst.op == Op::Index || inst.op == Op::Dim) break;
    if (!add(Form(v))) return std::nullopt;
  }
  return PatternForm(all_, inst, operands);
}

PatternConditions PatternPlace::Where(ir::ConstraintSpan constraints, bool wanted) {
  PatternConditions all = wanted ? Always() : Never();
  for (const Constraint& c : constraints) {
    const std::optional<Affine> e = Form(c.e);
    if (wanted) {
      if (e) all = BothOf(all, If({*e, c.equality}));
      continue;
    }
    if (!e) return Always();
    all = AnyOf(std::move(all), If({*e * -1 - Affine::Const(1), false}));
    if (c.equality) all = AnyOf(std::move(all), If({*e - Affine::Const(1), false}));
  }
  return all;
}

PatternConditions PatternPlace::Where(Value v, bool wanted) {
  const Inst* inst = DefinitionOf(v);
  if (inst == nullptr) return Always();
  if (!inst->guard.valid()) return WhereUnguarded(*inst, wanted);
  // false where its guard is.
  if (!wanted) return AnyOf(Where(inst->guard, false), WhereUnguarded(*inst, false));
  PatternPlace guarded = *this;
  guarded.Assume(inst->guard);
  return BothOf(Where(inst->guard), guarded.WhereUnguarded(*inst, true));
}

PatternConditions PatternPlace::WhereUnguarded(const Inst& inst, bool wanted) {
  switch (inst.op) {
    case Op::Const: return (inst.bits != 0) == wanted ? Always() : Never();
    case Op::Holds: return Where(inst.constraints, wanted);
    case Op::Not: return Where(inst.args[0], !wanted);
    case Op::And:
    case Op::Or:
      if ((inst.op == Op::And) == wanted)
        return BothOf(Where(inst.args[0], wanted), Where(inst.args[1], wanted));
      return AnyOf(Where(inst.args[0], wanted), Where(inst.args[1], wanted));
    case Op::Eq:
    case Op::Ne:
    case Op::Lt:
    case Op::Le:
    case Op::Gt:
    case Op::Ge: {
      if (auto exists = Exists(inst, wanted)) return std::move(*exists);
      return Compared(inst, wanted);
    }
    default: return Always();
  }
}

PatternConditions PatternPlace::Compared(const Inst& inst, bool wanted) {
  const auto a = Form(inst.args[0]), b = Form(inst.args[1]);
  if (!a || !b) return Always();
  const Affine above = *a - *b, one = Affine::Const(1);
  std::vector<Constraint> holds;
  switch (inst.op) {
    case Op::Lt: holds = {{above * -1 - one, false}}; break;
    case Op::Le: holds = {{above * -1, false}}; break;
    case Op::Gt: holds = {{above - one, false}}; break;
    case Op::Ge: holds = {{above, false}}; break;
    default: holds = {{above, true}}; break;
  }
  if ((inst.op == Op::Ne) != wanted) return {{{}, std::move(holds)}};
  PatternConditions either = If({above * -1 - one, false});
  if (holds[0].equality) return AnyOf(std::move(either), If({above - one, false}));
  return If({holds[0].e * -1 - one, false});
}

// The greatest of bools as numbers, where it is above 0: one of them is true.
std::optional<PatternConditions> PatternPlace::Exists(const Inst& inst, bool wanted) {
  if (inst.op != Op::Gt || Form(inst.args[1]) != Affine{}) return std::nullopt;
  const Inst* read = DefinitionOf(inst.args[0]);
  if (read == nullptr || read->op != Op::Index) return std::nullopt;
  const Inst* found = all_.DefinitionOf(read->args[0]);
  if (found == nullptr || !found->each) return std::nullopt;
  const ir::Each& each = *found->each;
  const ir::EachResult& r = each.results[all_.ResultNumber(read->args[0])];
  if (r.monoid != ir::Monoid::kMax || !ir::IsPrefixForm(each, r)) return std::nullopt;
  if (!wanted) return Always();
  PatternCondition points;
  std::map<Value, Affine> at;
  for (size_t k = 0; k < each.indices.size(); ++k) {
    const ir::IndexVar& i = each.indices[k];
    const std::optional<Affine> extent = all_.Form(i.extent);
    if (!extent) return Always();
    std::optional<Affine> sub;
    if (k < r.out.size()) {
      sub = Form(read->subs[k]);
      if (sub && *extent != all_.Form(r.shape[k]))
        points.where.push_back({*extent - Affine::Const(1) - *sub, false});
    } else {
      points.points.push_back(all_.NewPoint(i.var, *extent));
      sub = Affine::Of(points.points.back().var);
    }
    if (!sub) return Always();
    at[i.var] = *sub;
  }
  PatternPlace place(all_, each, std::move(at));
  const Inst* number = place.DefinitionOf(r.value);
  if (number == nullptr || number->op != Op::Cast) return std::nullopt;
  PatternConditions all = BothOf({points}, place.Where(each.where));
  if (r.guard.valid()) all = BothOf(all, place.Where(r.guard));
  if (number->guard.valid()) all = BothOf(all, place.Where(number->guard));
  return BothOf(all, place.Where(number->args[0]));
}

}  // namespace pullback::ad
