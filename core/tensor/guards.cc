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

// f64 only: bits of other types say something else.
bool IsFactor(const Inst* def, const ir::Function& f) {
  if (!def || f.TypeOf(def->results[0]) != ir::Type::F64() || def->op != ir::Op::Const ||
      def->guard.valid())
    return false;
  const double factor = std::bit_cast<double>(def->bits);
  return std::isfinite(factor) && factor > 0;
}

// What is found of a body's values by what defines them; of each value once.
template <typename Found>
class OfValues {
 protected:
  OfValues(const ir::Each& each, const ir::Function& f) : each_(each), f_(f) {
    for (const Inst& inst : each.body) {
      for (Value v : inst.results) definitions_[v.id] = &inst;
    }
  }

  using Known = std::unordered_map<uint32_t, Found>;
  const Inst* DefOf(Value v) const {
    const auto it = definitions_.find(v.id);
    return it == definitions_.end() ? nullptr : it->second;
  }
  template <typename Find>
  Found Look(Known& known, Value v, const Find& find) {
    const Inst* def = DefOf(v);
    if (!def || depth_ == kDeepest) return Found{};
    if (const auto it = known.find(v.id); it != known.end()) return it->second;
    ++depth_;
    Found found = find(*def);
    --depth_;
    return known[v.id] = std::move(found);
  }
  bool IsZero(Value v) const {
    const Inst* def = DefOf(v);
    return def && def->op == ir::Op::Const && def->bits == 0;
  }

  const ir::Each& each_;
  const ir::Function& f_;

 private:
  static constexpr int kDeepest = 100;  // operands of operands

  std::unordered_map<uint32_t, const Inst*> definitions_;
  int depth_ = 0;
};

// Guards outside of which values of a body are 0.
class GuardsOfValues : private OfValues<Value> {
 public:
  GuardsOfValues(const ir::Each& each, const ir::Function& f) : OfValues(each, f) {}

  // Where this is false the value is 0; kNoValue: nothing is known.
  Value Of(Value v) {
    return Look(values_, v, [&](const Inst& def) { return OfValue(def, v); });
  }

 private:
  // A guard outside of which v is absent: 0 because something was never there, an element that an array does
  // not have or a factor under a bracket. A product is absent with any of its factors, a sum with both terms.
  Value OfAbsent(Value v) {
    return Look(absent_, v, [&](const Inst& def) -> Value {
      if (def.guard.valid()) return def.guard;
      if (def.op == ir::Op::Add || def.op == ir::Op::Sub) {
        const Value guard = OfAbsent(def.args[0]);
        return guard.valid() && guard == OfAbsent(def.args[1]) ? guard : ir::kNoValue;
      }
      const bool product = def.op == ir::Op::Mul || def.op == ir::Op::SMul;
      if (!product && def.op != ir::Op::Neg) return ir::kNoValue;
      for (Value factor : def.args) {
        if (const Value guard = OfAbsent(factor); guard.valid()) return guard;
      }
      return ir::kNoValue;
    });
  }

  // Where no factor is absent all must be 0, since 0 * inf is not.
  Value OfValue(const Inst& def, Value v) {
    if (const Value guard = OfAbsent(v); guard.valid()) return guard;
    const auto of = [&](size_t k) { return Of(def.args[k]); };
    switch (def.op) {
      case ir::Op::SMul:
      case ir::Op::Cast:
      case ir::Op::Neg: return of(0);
      case ir::Op::Mul:
        if (IsFactor(DefOf(def.args[0]), f_)) return of(1);
        if (IsFactor(DefOf(def.args[1]), f_)) return of(0);
        [[fallthrough]];
      case ir::Op::Add:
      case ir::Op::Sub: {
        const Value a = of(0);
        return a.valid() && a == of(1) ? a : ir::kNoValue;
      }
      case ir::Op::Select: return OfSelect(def);
      default: return ir::kNoValue;
    }
  }
  Value OfSelect(const Inst& def) {
    const bool zero = IsZero(def.args[2]) && !DefOf(def.args[2])->guard.valid();
    if (!zero || !DefOf(def.args[0])) return ir::kNoValue;
    // The arm's own guard says more where it is under the condition.
    const Value arm = OfAbsent(def.args[1]);
    const bool more = arm.valid() && ConditionsOf(each_, arm).contains(def.args[0]);
    return more ? arm : def.args[0];
  }

  Known values_, absent_;
};

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

// What holds wherever a value of a body is not 0: more than one guard says, as a product has with any of its factors.
class NeedsOfValues : private OfValues<std::set<Value>> {
 public:
  NeedsOfValues(const ir::Each& each, const ir::Function& f) : OfValues(each, f) {}

  // Bools of the body.
  std::set<Value> Of(Value v) {
    return Look(values_, v, [&](const Inst& def) { return OfValue(def, v); });
  }

 private:
  using Needs = std::set<Value>;

  static Needs Both(Needs a, const Needs& b) {
    a.insert(b.begin(), b.end());
    return a;
  }
  static Needs Either(Needs a, const Needs& b) {
    std::erase_if(a, [&](Value v) { return !b.contains(v); });
    return a;
  }

  // Wherever it is there at all (GuardsOfValues).
  Needs OfAbsent(Value v) {
    return Look(absent_, v, [&](const Inst& def) {
      Needs own = ConditionsOf(each_, def.guard);
      const auto of = [&](size_t k) { return OfAbsent(def.args[k]); };
      switch (def.op) {
        case ir::Op::Mul:
        case ir::Op::SMul: return Both(std::move(own), Both(of(0), of(1)));
        case ir::Op::Add:
        case ir::Op::Sub: return Both(own, Either(of(0), of(1)));
        case ir::Op::Neg: return Both(own, of(0));
        default: return own;
      }
    });
  }

  Needs OfValue(const Inst& def, Value v) {
    Needs absent = OfAbsent(v);
    const auto of = [&](size_t k) { return Of(def.args[k]); };
    switch (def.op) {
      case ir::Op::SMul:
      case ir::Op::Cast:
      case ir::Op::Neg: return Both(absent, of(0));
      case ir::Op::Mul:
        if (IsFactor(DefOf(def.args[0]), f_)) return Both(absent, of(1));
        if (IsFactor(DefOf(def.args[1]), f_)) return Both(absent, of(0));
        [[fallthrough]];
      case ir::Op::Add:
      case ir::Op::Sub: return Both(absent, Either(of(0), of(1)));
      case ir::Op::Select:
        if (!IsZero(def.args[2])) return absent;
        return Both(Both(absent, of(1)), ConditionsOf(each_, def.args[0]));
      default: return absent;
    }
  }
  Known values_, absent_;
};

// What of the indices holds wherever a result has a term: where what is stored or added is 0 its element is, or has, none.
// Of a scan that adds, where it adds nothing along a whole run, its elements are 0, as if the run had no points.
class TermsSpace {
 public:
  TermsSpace(const ir::Each& each, const ir::Function& f) : each_(each), needs_(each, f) {}

  std::vector<ir::Constraint> Of(const ir::EachResult& r) {
    const bool scan = r.monoid == ir::Monoid::kScanSum || r.monoid == ir::Monoid::kScanLinear;
    if (!scan && r.monoid != ir::Monoid::kGen && r.monoid != ir::Monoid::kSum) return {};
    const size_t indices = scan ? r.outer : each_.indices.size();
    const Value added = r.monoid == ir::Monoid::kScanLinear ? r.second : r.value;
    std::set<Value> needs = ConditionsOf(each_, r.guard);
    needs.merge(needs_.Of(added));
    std::vector<ir::Constraint> all;
    for (Value v : needs) {
      const Inst* def = FindDef(each_, v);
      if (!def || def->op != ir::Op::Holds) continue;
      std::copy_if(def->constraints.begin(), def->constraints.end(), std::back_inserter(all),
                   [&](const ir::Constraint& c) { return SpeaksOf(c, indices); });
    }
    return all;
  }

 private:
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
  NeedsOfValues needs_;
};

// What all results say of the space becomes part of `where`.
void NarrowSpace(ir::Each& each, const ir::Function& f) {
  if (each.results.empty()) return;
  const auto contains = [](const std::vector<ir::Constraint>& all, const ir::Constraint& c) {
    return std::find(all.begin(), all.end(), c) != all.end();
  };
  TermsSpace space(each, f);
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
  for (ir::Block& b : f.blocks) {
    for (Inst& inst : b.insts) {
      if (!inst.each) continue;
      MergeEqualPredicates(*inst.each);
      MergeConjunctions(*inst.each);
      AdoptValueGuards(*inst.each, f);
      MoveSharedGuard(*inst.each);
      NarrowSpace(*inst.each, f);
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
