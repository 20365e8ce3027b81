#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <unordered_map>

#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Inst;
using ir::Value;

// and(holds(p), holds(q)) is holds(p and q).
void MergeConjunctions(ir::Each& each) {
  for (Inst& inst : each.body) {
    if (inst.op != ir::Op::And) continue;
    const Inst* a = FindDef(each, inst.args[0]);
    const Inst* b = FindDef(each, inst.args[1]);
    if (!a || !b || a->op != ir::Op::Holds || b->op != ir::Op::Holds) continue;
    if (a->guard != inst.guard || b->guard != inst.guard) continue;
    std::vector<ir::Constraint> both = a->constraints.ToVector();
    both.insert(both.end(), b->constraints.begin(), b->constraints.end());
    inst.op = ir::Op::Holds;
    inst.args.clear();
    inst.constraints = std::move(both);
  }
}

size_t HashOf(const Inst& holds) {
  size_t hash = holds.guard.id;
  const auto mix = [&](uint64_t x) { hash = hash * 0x9e3779b97f4a7c15 + x; };
  for (const ir::Constraint& c : holds.constraints) {
    mix(static_cast<uint64_t>(c.e.constant));
    for (const ir::Affine::Term& t : c.e.terms) mix(t.value.id + static_cast<uint64_t>(t.coeff));
  }
  return hash;
}

// Equal predicates, which passes before have brought into one form, are one guard.
void MergeEqualPredicates(ir::Each& each) {
  std::unordered_map<size_t, const Inst*> known;
  std::unordered_map<uint32_t, Value> same;
  for (const Inst& inst : each.body) {
    if (inst.op != ir::Op::Holds) continue;
    const Inst* first = known.try_emplace(HashOf(inst), &inst).first->second;
    const bool equal =
        first != &inst && first->guard == inst.guard &&
        ir::ConstraintSpan(first->constraints) == ir::ConstraintSpan(inst.constraints);
    if (equal) same[inst.results[0].id] = first->results[0];
  }
  if (same.empty()) return;
  for (Inst& inst : each.body) ReplaceValues(inst, same);
  for (ir::EachResult& r : each.results) {
    for (Value* v : {&r.value, &r.guard, &r.second}) {
      if (const auto it = same.find(v->id); it != same.end()) *v = it->second;
    }
  }
  PruneBody(each);
}

// How far a value is followed.
constexpr int kMaxDepth = 4;

// f64 only: bits of other types say something else.
bool IsFactor(const Inst* def, const ir::Function& f) {
  if (!def || f.TypeOf(def->results[0]) != ir::Type::F64() || def->op != ir::Op::Const ||
      def->guard.valid())
    return false;
  const double factor = std::bit_cast<double>(def->bits);
  return std::isfinite(factor) && factor > 0;
}

// A guard outside of which v is absent: 0 because something was never there, an element that an array does
// not have or a factor under a bracket. A product is absent with any of its factors, a sum with both terms.
Value GuardOfAbsent(const ir::Each& each, Value v, int depth = 0) {
  const Inst* def = FindDef(each, v);
  if (!def || depth == kMaxDepth) return ir::kNoValue;
  if (def->guard.valid()) return def->guard;
  if (def->op == ir::Op::Add || def->op == ir::Op::Sub) {
    const Value guard = GuardOfAbsent(each, def->args[0], depth + 1);
    const bool both = guard.valid() && guard == GuardOfAbsent(each, def->args[1], depth + 1);
    return both ? guard : ir::kNoValue;
  }
  const bool product = def->op == ir::Op::Mul || def->op == ir::Op::SMul;
  if (!product && def->op != ir::Op::Neg) return ir::kNoValue;
  for (Value factor : def->args) {
    if (const Value guard = GuardOfAbsent(each, factor, depth + 1); guard.valid()) return guard;
  }
  return ir::kNoValue;
}

// Where this is false the value is 0; kNoValue: nothing is known. Where no factor is absent all must be 0,
// since 0 * inf is not.
Value GuardOfValue(const ir::Each& each, const ir::Function& f, Value v, int depth = 0) {
  const Inst* def = FindDef(each, v);
  if (!def || depth == kMaxDepth) return ir::kNoValue;
  if (const Value guard = GuardOfAbsent(each, v); guard.valid()) return guard;
  const auto of = [&](size_t k) { return GuardOfValue(each, f, def->args[k], depth + 1); };
  switch (def->op) {
    case ir::Op::SMul:
    case ir::Op::Cast:
    case ir::Op::Neg: return of(0);
    case ir::Op::Mul:
      if (IsFactor(FindDef(each, def->args[0]), f)) return of(1);
      if (IsFactor(FindDef(each, def->args[1]), f)) return of(0);
      [[fallthrough]];
    case ir::Op::Add:
    case ir::Op::Sub: {
      const Value a = of(0);
      return a.valid() && a == of(1) ? a : ir::kNoValue;
    }
    case ir::Op::Select: {
      const Inst* other = FindDef(each, def->args[2]);
      const bool zero =
          other && other->op == ir::Op::Const && !other->guard.valid() && other->bits == 0;
      if (!zero || !FindDef(each, def->args[0])) return ir::kNoValue;
      // The arm's own guard says more where it is under the condition.
      const Value arm = GuardOfAbsent(each, def->args[1], depth + 1);
      const bool more = arm.valid() && ConditionsOf(each, arm).contains(def->args[0]);
      return more ? arm : def->args[0];
    }
    default: return ir::kNoValue;
  }
}

// A result whose value is 0 wherever a guard is false takes that guard: an absent term for one that is
// zero.
void AdoptValueGuards(ir::Each& each, const ir::Function& f) {
  for (ir::EachResult& r : each.results) {
    if (r.guard.valid()) continue;
    if (r.monoid != ir::Monoid::kGen && r.monoid != ir::Monoid::kSum) continue;
    r.guard = GuardOfValue(each, f, r.value);
  }
}

// Whether they speak of indices and outer values only: `where` does not see the body.
bool AreOutsideBody(const ir::Each& each, ir::ConstraintSpan constraints) {
  bool outside = true;
  for (const ir::Constraint& c : constraints)
    ir::ForEachOperand(c.e, [&](Value v) { outside &= FindDef(each, v) == nullptr; });
  return outside;
}

// What of a conjunction is affine constraints becomes part of `where`: it is true at all points from then on.
class PartsToWhere {
 public:
  explicit PartsToWhere(ir::Each& each) : each_(each) {}

  void Move(Value guard) {
    const Value rest = RestOf(guard, 0);
    if (true_.empty() && by_.empty()) return;
    for (Inst& inst : each_.body) {
      if (true_.contains(inst.guard)) inst.guard = ir::kNoValue;
      ReplaceValues(inst, by_);
    }
    for (ir::EachResult& r : each_.results) {
      r.guard = rest;
      for (Value* v : {&r.value, &r.second}) {
        if (const auto it = by_.find(v->id); it != by_.end()) *v = it->second;
      }
    }
    PruneBody(each_);
  }

 private:
  static constexpr int kDeepest = 16;

  // kNoValue: nothing is left.
  Value RestOf(Value v, int depth) {
    Inst* def = DefOf(v);
    if (!def || depth == kDeepest) return v;
    if (def->op == ir::Op::Holds && AreOutsideBody(each_, def->constraints)) {
      each_.where.insert(each_.where.end(), def->constraints.begin(), def->constraints.end());
      // It says then what its own guard does.
      return Becomes(v, def->guard.valid() ? RestOf(def->guard, depth + 1) : ir::kNoValue);
    }
    if (def->guard.valid()) return v;
    if (def->op != ir::Op::And || !DefOf(def->args[0]) || !DefOf(def->args[1])) return v;
    const Value a = RestOf(def->args[0], depth + 1), b = RestOf(def->args[1], depth + 1);
    if (a.valid() && b.valid()) {
      def->args = {a, b};
      return v;
    }
    return Becomes(v, a.valid() ? a : b);
  }
  Value Becomes(Value v, Value rest) {
    if (rest.valid()) {
      by_[v.id] = rest;
    } else {
      true_.insert(v);
    }
    return rest;
  }
  Inst* DefOf(Value v) {
    for (Inst& inst : each_.body) {
      if (!inst.results.empty() && inst.results[0] == v) return &inst;
    }
    return nullptr;
  }

  ir::Each& each_;
  std::set<Value> true_;
  std::unordered_map<uint32_t, Value> by_;  // what is left of others
};

// A guard that all results share moves to `where`, as far as it is affine constraints: strides and data stay.
void MoveSharedGuard(ir::Each& each) {
  const Value guard = each.results.empty() ? Value{} : each.results[0].guard;
  if (!guard.valid()) return;
  for (const ir::EachResult& r : each.results) {
    if (r.guard != guard) return;
  }
  PartsToWhere(each).Move(guard);
}

// Whether every index stands alone in some subscript, so that no two points have one element.
bool TellsPointsApart(const ir::Each& each, const ir::EachResult& r) {
  const auto is_index = [&](Value v) {
    return std::any_of(each.indices.begin(), each.indices.end(),
                       [v](const ir::IndexVar& i) { return i.var == v; });
  };
  const auto alone = [&](const ir::Affine& a, Value v) {
    return a.Coeff(v) != 0 && std::all_of(a.terms.begin(), a.terms.end(), [&](const auto& t) {
             return t.value == v || (!is_index(t.value) && !FindDef(each, t.value));
           });
  };
  return std::all_of(each.indices.begin(), each.indices.end(), [&](const ir::IndexVar& i) {
    return std::any_of(r.out.begin(), r.out.end(),
                       [&](const ir::Affine& a) { return alone(a, i.var); });
  });
}

}  // namespace

void HoistGuards(ir::Function& f) {
  for (ir::Block& b : f.blocks) {
    for (Inst& inst : b.insts) {
      if (!inst.each) continue;
      MergeEqualPredicates(*inst.each);
      MergeConjunctions(*inst.each);
      AdoptValueGuards(*inst.each, f);
      MoveSharedGuard(*inst.each);
    }
  }
}

void StoreSingleTerms(ir::Function& f) {
  for (ir::Block& b : f.blocks) {
    for (Inst& inst : b.insts) {
      if (!inst.each) continue;
      for (ir::EachResult& r : inst.each->results) {
        if (r.monoid == ir::Monoid::kSum && !r.out.empty() && TellsPointsApart(*inst.each, r))
          r.monoid = ir::Monoid::kGen;
      }
    }
  }
}

}  // namespace pullback::tensor
