#include "core/tensor/summands.h"

#include <algorithm>

#include "core/ir/monoid.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {

using ir::Each;
using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

void NoteUsed(const Each& each, Value v, std::set<Value>& used) {
  if (!used.insert(v).second) return;
  if (const Inst* def = FindDef(each, v))
    ir::ForEachOperand(*def, [&](const Value& of) { NoteUsed(each, of, used); });
}

bool IsOfTheStatement(const Each& each, Value v) {
  return PlaceOfIndex(each, v) || FindDef(each, v);
}

}  // namespace

bool TakeSummands(const Each& each, Summand of, std::vector<Summand>& terms) {
  const Inst* def = FindDef(each, of.value);
  const Op op = def && !def->guard.valid() ? def->op : Op::Const;
  const auto with = [&](size_t arg, bool negative) {
    return Summand{def->args[arg], of.negative != negative, of.factors};
  };
  if (op == Op::Neg) return TakeSummands(each, with(0, true), terms);
  if (op == Op::Add || op == Op::Sub)
    return TakeSummands(each, with(0, false), terms) &&
           TakeSummands(each, with(1, op == Op::Sub), terms);
  const size_t factors = op == Op::Mul || op == Op::SMul ? 2 : op == Op::Div ? 1 : 0;
  for (size_t arg = 0; arg < factors; ++arg) {
    std::vector<Summand> inner;
    Summand factor = with(arg, false);
    factor.factors.emplace_back(def, arg);
    if (!TakeSummands(each, std::move(factor), inner)) return false;
    if (inner.size() == 1) continue;
    terms.insert(terms.end(), inner.begin(), inner.end());
    return terms.size() <= kMostSummands;
  }
  terms.push_back(std::move(of));
  return terms.size() <= kMostSummands;
}

std::set<Value> MadeOf(const Each& each, const Summand& term) {
  std::set<Value> used;
  NoteUsed(each, term.value, used);
  for (const auto& [product, arg] : term.factors) {
    for (size_t k = 0; k < product->args.size(); ++k) {
      if (k != arg) NoteUsed(each, product->args[k], used);
    }
  }
  return used;
}

bool IsConditionAsNumber(const Inst* def, const ir::Function& f) {
  return def && def->op == Op::Cast && !def->guard.valid() &&
         f.TypeOf(def->args[0]) == ir::Type::Bool();
}

Inst WithSummand(const Inst& statement, const Summand& term, ir::Function& f,
                 std::vector<Inst>& before) {
  CopiedStatement copy = CopyStatement(statement, f);
  Each& each = *copy.inst.each;
  const auto copied = [&](Value v) {
    const auto fresh = copy.fresh.find(v.id);
    return fresh == copy.fresh.end() ? v : fresh->second;
  };
  Value value = copied(term.value);
  if (const Inst* def = FindDef(each, value); IsConditionAsNumber(def, f)) {
    Inst one;
    one.op = Op::Const;
    one.bits = ir::MonoidIdentity(ir::Monoid::kProd, f.TypeOf(value).elem);
    one.guard = def->args[0];
    one.results = {f.NewLike(f, value)};
    value = one.results[0];
    each.body.push_back(std::move(one));
  }
  const auto append = [&](Inst inst) {
    const Inst* def = FindDef(each, value);
    inst.guard = def ? def->guard : ir::kNoValue;
    inst.results = {f.NewLike(f, value)};
    value = inst.results[0];
    const bool inside = std::any_of(inst.args.begin(), inst.args.end(),
                                    [&](Value v) { return IsOfTheStatement(each, v); });
    (inside ? each.body : before).push_back(std::move(inst));
  };
  if (term.negative) {
    Inst negative;
    negative.op = Op::Neg;
    negative.args = {value};
    append(std::move(negative));
  }
  for (auto factor = term.factors.rbegin(); factor != term.factors.rend(); ++factor) {
    Inst product;
    product.op = factor->first->op;
    product.loc = factor->first->loc;
    for (Value arg : factor->first->args) product.args.push_back(copied(arg));
    product.args[factor->second] = value;
    append(std::move(product));
  }
  each.results[0].value = value;
  PruneBody(each);
  return std::move(copy.inst);
}

}  // namespace pullback::tensor
