#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "core/analysis/outer_values.h"
#include "core/tensor/implied_bounds.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/value_guards.h"

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

// A result whose value is 0 wherever a guard is false takes that guard: an absent term for one that is
// zero.
void AdoptValueGuards(ir::Each& each, const ir::Function& f) {
  GuardsOfValues guards(each, f);
  for (ir::EachResult& r : each.results) {
    if (r.guard.valid()) continue;
    if (r.monoid != ir::Monoid::kGen && r.monoid != ir::Monoid::kSum) continue;
    r.guard = guards.Of(r.value);
  }
}

// What only terms under a guard read is read under that guard: of an absent term nothing is out of range.
void GuardReads(ir::Each& each) {
  std::set<Value> guards;
  for (const ir::EachResult& r : each.results) guards.insert(r.guard);
  if (guards.size() != 1 || !guards.begin()->valid()) return;
  const Value guard = *guards.begin();
  std::set<Value> free = {
      guard};  // what the subscripts of results, and the guard itself, are made of
  for (const ir::EachResult& r : each.results) {
    for (const ir::Affine& a : r.out) ir::ForEachOperand(a, [&](Value v) { free.insert(v); });
  }
  for (auto inst = each.body.rbegin(); inst != each.body.rend(); ++inst) {
    const bool needed = std::any_of(inst->results.begin(), inst->results.end(),
                                    [&](Value v) { return free.contains(v); });
    if (needed) ir::ForEachOperand(*inst, [&](Value v) { free.insert(v); });
  }
  bool known = false;  // whether the guard's definition is in front
  for (Inst& inst : each.body) {
    if (known && inst.op == ir::Op::Index && !inst.guard.valid() && !free.contains(inst.results[0]))
      inst.guard = guard;
    known |= !inst.results.empty() && inst.results[0] == guard;
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

// What of the indices holds wherever a result has a term: where what is stored or added is 0 its element is, or has, none.
// Of a scan that adds, where it adds nothing along a whole run, its elements are 0, as if the run had no points.
class TermsSpace {
 public:
  TermsSpace(const ir::Each& each, const ir::Function& f, const analysis::OuterValues& outer)
      : each_(each), f_(f), outer_(outer), needs_(each, f) {}

  std::vector<ir::Constraint> Of(const ir::EachResult& r) {
    const bool scan = r.monoid == ir::Monoid::kScanSum || r.monoid == ir::Monoid::kScanLinear;
    if (!scan && r.monoid != ir::Monoid::kGen && r.monoid != ir::Monoid::kSum) return {};
    const size_t indices = scan ? r.outer : each_.indices.size();
    const Value added = r.monoid == ir::Monoid::kScanLinear ? r.second : r.value;
    std::set<Value> needs = ConditionsOf(each_, r.guard);
    needs.merge(needs_.Of(added));
    std::vector<ir::Constraint> all;
    for (Value v : needs) {
      const std::vector<ir::Constraint> said = SaidBy(v);
      std::copy_if(said.begin(), said.end(), std::back_inserter(all),
                   [&](const ir::Constraint& c) { return SpeaksOf(c, indices); });
    }
    return all;
  }

 private:
  std::vector<ir::Constraint> SaidBy(Value condition) {
    const Inst* def = FindDef(each_, condition);
    if (!def) return {};
    if (def->op == ir::Op::Holds) return def->constraints.ToVector();
    if (!bounds_) bounds_.emplace(each_, f_, outer_.BoxOf(each_));
    return bounds_->Of(condition);
  }
  // Of the first indices and of outer values only.
  bool SpeaksOf(const ir::Constraint& c, size_t indices) const {
    bool only = true;
    ir::ForEachOperand(c.e, [&](Value v) {
      const auto place = PlaceOfIndex(each_, v);
      only &= place ? *place < indices : FindDef(each_, v) == nullptr;
    });
    return only;
  }

  const ir::Each& each_;
  const ir::Function& f_;
  const analysis::OuterValues& outer_;
  std::optional<ImpliedBounds> bounds_;  // where some condition is no affine constraint
  NeedsOfValues needs_;
};

// What all results say of the space becomes part of `where`.
void NarrowSpace(ir::Each& each, const ir::Function& f, const analysis::OuterValues& outer) {
  if (each.results.empty()) return;
  const auto contains = [](const std::vector<ir::Constraint>& all, const ir::Constraint& c) {
    return std::find(all.begin(), all.end(), c) != all.end();
  };
  TermsSpace space(each, f, outer);
  std::vector<ir::Constraint> shared = space.Of(each.results[0]);
  for (size_t k = 1; k < each.results.size() && !shared.empty(); ++k) {
    const std::vector<ir::Constraint> other = space.Of(each.results[k]);
    std::erase_if(shared, [&](const ir::Constraint& c) { return !contains(other, c); });
  }
  for (const ir::Constraint& c : shared) {
    if (!contains(each.where, c)) each.where.push_back(c);
  }
}

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
  const analysis::OuterValues outer(f);
  for (ir::Block& b : f.blocks) {
    for (Inst& inst : b.insts) {
      if (!inst.each) continue;
      MergeEqualPredicates(*inst.each);
      MergeConjunctions(*inst.each);
      AdoptValueGuards(*inst.each, f);
      MoveSharedGuard(*inst.each);
      GuardReads(*inst.each);
      NarrowSpace(*inst.each, f, outer);
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
