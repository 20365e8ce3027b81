// A sum whose terms are sums of parts that never meet, of which some are the same along an axis of the result, is a sum for
// each part: a layer of pairs, concat(x[i], x[j]) @ w, is that of one and that of the other.
//
//   z = each(i, j, l, k) { (x[i, k] if k < d + x[j, k - d] if d <= k) * w[k, l] } sum [i, j, l]
//                           u = each(i, j, l, k) { x[i, k] * w[k, l] if k < d } sum [i, j, l]
//                           v = each(i, j, l, k) { x[j, k - d] * w[k, l] if d <= k } sum [i, j, l]
//                           z = each(i, j, l) { u[i, j, l] + v[i, j, l] } gen [i, j, l]
//
// of which u and v lose an axis (compact.cc). No point has a term in two of them, so no term is rounded otherwise than
// before; the terms are added up in another order.
//
// So is a sum of terms that data place, [p[t] == i] * x[t] - [q[t] == i] * x[t]: each is stored where its own data say.
#include <algorithm>
#include <set>

#include "core/analysis/outer_values.h"
#include "core/analysis/predicate.h"
#include "core/ir/statements.h"
#include "core/tensor/normalise.h"
#include "core/tensor/split_statement.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/summands.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

class ReductionSplitter {
 public:
  explicit ReductionSplitter(ir::Function& f) : f_(f), outer_(f) {}

  bool Run() {
    bool changed = false;
    for (ir::Block& b : f_.blocks) {
      std::vector<Inst> made;
      for (Inst& inst : b.insts) {
        for (size_t k = 0; inst.each && k < inst.results.size(); ++k)
          changed |= Split(inst, k, made);
        made.push_back(std::move(inst));
      }
      b.insts = std::move(made);
    }
    return changed;
  }

 private:
  bool Split(Inst& inst, size_t k, std::vector<Inst>& before) {
    const Each& each = *inst.each;
    const EachResult& r = each.results[k];
    if (r.monoid != ir::Monoid::kSum || r.into.valid() || r.guard.valid() || r.out.empty() ||
        r.out.size() == each.indices.size() || !HasElementByIndices(each, r))
      return false;
    std::vector<Summand> terms;
    if (!HasConditions(each) || !TakeSummands(each, r.value, terms) || terms.size() < 2)
      return false;
    const bool fewer = LoseAxes(each, r, terms) && NeverMeet(each, terms);
    if (!fewer && !AreAtPlaces(each, r, terms)) return false;
    const Inst one = ResultAlone(inst, k, f_);
    terms.clear();
    if (!TakeSummands(*one.each, one.each->results[0].value, terms)) return false;
    ir::Values sums;
    for (const Summand& term : terms) {
      Inst sum = WithSummand(one, term, f_, before);
      sum.results = {f_.NewLike(f_, inst.results[k])};
      sums.push_back(sum.results[0]);
      before.push_back(std::move(sum));
    }
    AddUp(inst, k, sums, fewer, before);
    inst.results[k] = f_.NewLike(f_, inst.results[k]);  // for nobody
    return true;
  }

  static bool HasConditions(const Each& each) {
    return std::count_if(each.body.begin(), each.body.end(), [](const Inst& inst) {
             return inst.op == Op::Holds || inst.op == Op::Eq;
           }) > 1;
  }
  // Whether the result has an axis along which some terms, and not all of them, are the same.
  static bool LoseAxes(const Each& each, const EachResult& r, const std::vector<Summand>& terms) {
    return std::any_of(r.out.begin(), r.out.end(), [&](const Affine& a) {
      const auto named = std::count_if(terms.begin(), terms.end(), [&](const Summand& term) {
        return MadeOf(each, term).contains(a.AsValue());
      });
      return named > 0 && named < static_cast<std::ptrdiff_t>(terms.size()) &&
             !IsNamedByWhere(each, a.AsValue());
    });
  }
  static bool IsNamedByWhere(const Each& each, Value v) {
    return std::any_of(each.where.begin(), each.where.end(),
                       [&](const ir::Constraint& c) { return c.e.Coeff(v) != 0; });
  }

  // Whether no point has two of the terms.
  bool NeverMeet(const Each& each, const std::vector<Summand>& terms) const {
    const analysis::Box box = outer_.BoxOf(each);
    analysis::Work work;
    for (size_t b = 1; b < terms.size(); ++b) {
      for (size_t a = 0; a < b; ++a) {
        const Inst* first = FindDef(each, ConditionOf(each, terms[a]));
        const Inst* second = FindDef(each, ConditionOf(each, terms[b]));
        if (!first || !second || first->op != Op::Holds || second->op != Op::Holds) return false;
        std::vector<ir::Constraint> both(first->constraints.begin(), first->constraints.end());
        both.insert(both.end(), second->constraints.begin(), second->constraints.end());
        if (analysis::Simplify(both, box, work) != analysis::Truth::kFalse) return false;
      }
    }
    return true;
  }
  // Where it is not absent. Not of a quotient: where no term is, 0 / 0 is not 0.
  Value ConditionOf(const Each& each, const Summand& term) const {
    const Inst* def = FindDef(each, term.value);
    if (!def || std::any_of(term.factors.begin(), term.factors.end(),
                            [](const auto& factor) { return factor.first->op == Op::Div; }))
      return {};
    return IsConditionAsNumber(def, f_) ? def->args[0] : def->guard;
  }

  // Whether data say for each term at which place of some axis it is: it is stored there, and no index is searched.
  // Not of terms that all are under one condition: these are stored together.
  bool AreAtPlaces(const Each& each, const EachResult& r, const std::vector<Summand>& terms) const {
    const Value first = ConditionOf(each, terms[0]);
    const bool one = std::all_of(terms.begin(), terms.end(), [&](const Summand& term) {
      return ConditionOf(each, term) == first;
    });
    return !one && std::all_of(terms.begin(), terms.end(), [&](const Summand& term) {
      const std::set<Value> conditions = ConditionsOf(each, ConditionOf(each, term));
      return std::any_of(conditions.begin(), conditions.end(), [&](Value v) {
        const Inst* same = FindDef(each, v);
        return same && same->op == Op::Eq &&
               (IsPlace(each, r, same->args[0], same->args[1]) ||
                IsPlace(each, r, same->args[1], same->args[0]));
      });
    });
  }
  static bool IsPlace(const Each& each, const EachResult& r, Value index, Value data) {
    const Inst* read = FindDef(each, data);
    return CountNaming(r, index) > 0 && read && read->op == Op::Index &&
           !MadeOf(each, {data}).contains(index);
  }

  // By elements, which their reader may take. Else they are there as a whole: the later ones are added to the first in place
  // (accumulate.cc).
  void AddUp(const Inst& inst, size_t k, const ir::Values& sums, bool by_elements,
             std::vector<Inst>& before) {
    Value all = sums[0];
    for (size_t term = 1; term < sums.size(); ++term) {
      Inst add;
      add.op = Op::AddArrays;
      add.loc = inst.loc;
      add.args = {all, sums[term]};
      all = term + 1 == sums.size() ? inst.results[k] : f_.NewLike(f_, all);
      add.results = {all};
      before.push_back(by_elements ? ir::SumAsStatement(f_, add, inst.each->results[k].shape)
                                   : std::move(add));
    }
  }

  ir::Function& f_;
  const analysis::OuterValues outer_;  // of the function as it was
};

}  // namespace

bool SplitReductions(ir::Function& f) { return ReductionSplitter(f).Run(); }

}  // namespace pullback::tensor
