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
#include <algorithm>

#include "core/analysis/outer_values.h"
#include "core/analysis/predicate.h"
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
    if (!HasConditions(each) || !TakeSummands(each, r.value, terms) || terms.size() < 2 ||
        !LoseAxes(each, r, terms) || !NeverMeet(each, terms))
      return false;
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
    before.push_back(AddedUp(inst, k, sums));
    inst.results[k] = f_.NewLike(f_, inst.results[k]);  // for nobody
    return true;
  }

  static bool HasConditions(const Each& each) {
    return std::count_if(each.body.begin(), each.body.end(),
                         [](const Inst& inst) { return inst.op == Op::Holds; }) > 1;
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
  bool NeverMeet(const Each& each, const std::vector<Summand>& terms) {
    const analysis::Box box = outer_.BoxOf(each);
    analysis::Work work;
    for (size_t b = 1; b < terms.size(); ++b) {
      for (size_t a = 0; a < b; ++a) {
        const auto *const first = ConditionOf(each, terms[a]), *const second =
                                                                   ConditionOf(each, terms[b]);
        if (!first || !second) return false;
        std::vector<ir::Constraint> both(first->constraints.begin(), first->constraints.end());
        both.insert(both.end(), second->constraints.begin(), second->constraints.end());
        if (!analysis::ProvesEmpty(both, box, work)) return false;
      }
    }
    return true;
  }
  // Not of a quotient: where no term is, 0 / 0 is not 0.
  static const Inst* ConditionOf(const Each& each, const Summand& term) {
    if (std::any_of(term.factors.begin(), term.factors.end(),
                    [](const auto& factor) { return factor.first->op == Op::Div; }))
      return nullptr;
    const Inst* def = FindDef(each, term.value);
    const Inst* guard = def && def->guard.valid() ? FindDef(each, def->guard) : nullptr;
    return guard && guard->op == Op::Holds ? guard : nullptr;
  }

  Inst AddedUp(const Inst& inst, size_t k, const ir::Values& sums) {
    const EachResult& whole = inst.each->results[k];
    Inst all;
    all.op = Op::Each;
    all.loc = inst.loc;
    all.results = {inst.results[k]};
    all.each = std::make_unique<Each>();
    EachResult r;
    r.shape = whole.shape;
    for (const Value extent : whole.shape) {
      all.each->indices.push_back({f_.NewValue(ir::Type::I64()), extent});
      r.out.push_back(Affine::Of(all.each->indices.back().var));
    }
    for (const Value sum : sums) {
      const ir::Type t = f_.TypeOf(sum).Element();
      Inst read;
      read.op = Op::Index;
      read.loc = inst.loc;
      read.args = {sum};
      read.subs = ir::AffineSpan(r.out);
      read.results = {f_.NewValue(t)};
      const Value element = read.results[0];
      all.each->body.push_back(std::move(read));
      if (!r.value.valid()) {
        r.value = element;
        continue;
      }
      Inst add;
      add.op = Op::Add;
      add.loc = inst.loc;
      add.args = {r.value, element};
      add.results = {f_.NewValue(t)};
      r.value = add.results[0];
      all.each->body.push_back(std::move(add));
    }
    all.each->results.push_back(std::move(r));
    return all;
  }

  ir::Function& f_;
  const analysis::OuterValues outer_;  // of the function as it was
};

}  // namespace

bool SplitReductions(ir::Function& f) { return ReductionSplitter(f).Run(); }

}  // namespace pullback::tensor
