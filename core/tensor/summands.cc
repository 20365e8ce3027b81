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

// The terms of one value. A product is taken apart by the first factor that is a sum.
class SummandTaker {
 public:
  SummandTaker(const Each& each, std::vector<Summand>& terms) : each_(each), terms_(terms) {}

  bool Take(Value v, bool negative) {
    if (++looked_at_ > kMostLookedAt) return false;
    const Inst* def = FindDef(each_, v);
    const Op op = def && !def->guard.valid() ? def->op : Op::Const;
    if (op == Op::Neg) return Take(def->args[0], !negative);
    if (op == Op::Add || op == Op::Sub)
      return Take(def->args[0], negative) && Take(def->args[1], negative != (op == Op::Sub));
    const size_t factors = op == Op::Mul || op == Op::SMul ? 2 : op == Op::Div ? 1 : 0;
    const size_t before = terms_.size();
    for (size_t arg = 0; arg < factors; ++arg) {
      factors_.emplace_back(def, arg);
      const bool taken = Take(def->args[arg], negative);
      factors_.pop_back();
      if (!taken) return false;
      if (terms_.size() > before + 1) return true;
      terms_.resize(before);
    }
    terms_.push_back({v, negative, factors_});
    return terms_.size() <= kMostSummands;
  }

 private:
  static constexpr int kMostLookedAt = 200;  // a square is looked at twice

  const Each& each_;
  std::vector<Summand>& terms_;
  std::vector<std::pair<const Inst*, size_t>> factors_;
  int looked_at_ = 0;
};

bool IsOfTheStatement(const Each& each, Value v) {
  return PlaceOfIndex(each, v) || FindDef(each, v);
}

}  // namespace

bool TakeSummands(const Each& each, Value of, std::vector<Summand>& terms) {
  return SummandTaker(each, terms).Take(of, false);
}

std::set<Value> MadeOf(const Each& each, const Summand& term) {
  std::set<Value> used = {term.value};
  for (const auto& [product, arg] : term.factors) {
    for (size_t k = 0; k < product->args.size(); ++k) {
      if (k != arg) used.insert(product->args[k]);
    }
  }
  for (auto inst = each.body.rbegin(); inst != each.body.rend(); ++inst) {
    const bool is_used = std::any_of(inst->results.begin(), inst->results.end(),
                                     [&](Value v) { return used.contains(v); });
    if (is_used) ir::ForEachOperand(*inst, [&](Value v) { used.insert(v); });
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
