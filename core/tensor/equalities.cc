#include "core/tensor/equalities.h"

#include <algorithm>

#include "core/analysis/body_forms.h"
#include "core/ir/monoid.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {

using ir::Affine;
using ir::Inst;
using ir::Monoid;
using ir::Op;
using ir::Value;

std::set<Value> ReadersOf(const ir::Each& each, Value index) {
  std::set<Value> readers = {index};
  for (const Inst& inst : each.body) {
    bool reads = false;
    ir::ForEachOperand(inst, [&](Value v) { reads |= readers.contains(v); });
    if (reads) readers.insert(inst.results.begin(), inst.results.end());
  }
  return readers;
}

namespace {

// So many equalities of a statement are looked at.
constexpr int kMaxEqualities = 8;

class Equalities {
 public:
  Equalities(const ir::Each& each, const ir::Function& f) : each_(each) {
    analysis::BodyForms forms(each, f);
    for (const Inst& inst : each.body) {
      forms.Note(inst);
      if (inst.op != Op::Eq || f.TypeOf(inst.args[0]) != ir::Type::I64()) continue;
      if (++asked_ > kMaxEqualities) return;
      const auto form = [&](Value v) {
        return forms.FormOf(v, inst.guard).value_or(Affine::Of(v));
      };
      Solve(form(inst.args[0]) - form(inst.args[1]), inst.results[0]);
    }
  }

  std::vector<Equality> found;

 private:
  void Solve(const Affine& zero, Value condition) {
    for (size_t k = each_.indices.size(); k-- > 0;) {
      const Value var = each_.indices[k].var;
      const int64_t coeff = zero.Coeff(var);
      if (coeff != 1 && coeff != -1) continue;
      const std::set<Value> readers = ReadersOf(each_, var);
      const bool apart = std::all_of(zero.terms.begin(), zero.terms.end(), [&](const auto& t) {
        return t.value == var || !readers.contains(t.value);
      });
      if (apart) return found.push_back({k, SolveFor(zero, var), condition});
    }
  }

  const ir::Each& each_;
  int asked_ = 0;
};

// What the result, and what argmax and argmin compare, is of nothing.
uint64_t OfNothing(const ir::EachResult& r, const ir::Function& f) {
  const bool arg = ir::IsArg(r.monoid);
  const Monoid compared = r.monoid == Monoid::kArgMax ? Monoid::kMax : Monoid::kMin;
  return ir::MonoidIdentity(arg ? compared : r.monoid, f.TypeOf(r.value).elem);
}

// Whether it is the value `bits` where the condition is false. It may have a guard that says so.
bool IsElse(const ir::Each& each, Value v, uint64_t bits, Value condition) {
  const Inst* def = FindDef(each, v);
  if (!def || def->op != Op::Const || def->bits != bits) return false;
  if (!def->guard.valid()) return true;
  const Inst* guard = FindDef(each, def->guard);
  return guard && guard->op == Op::Not && guard->args[0] == condition;
}

}  // namespace

std::vector<Equality> EqualitiesOf(const ir::Each& each, const ir::Function& f) {
  return Equalities(each, f).found;
}

ResultTerm TermOf(const ir::Each& each, const ir::Function& f, const ir::EachResult& r) {
  const ResultTerm as_is{r.value, r.guard, false};
  if (r.guard.valid() || ir::Stores(r)) return as_is;
  const Inst* choice = FindDef(each, r.value);
  if (!choice || choice->op != Op::Select || choice->guard.valid()) return as_is;
  const Value condition = choice->args[0];
  if (!FindDef(each, condition) || !IsElse(each, choice->args[2], OfNothing(r, f), condition))
    return as_is;
  return {choice->args[1], condition, true};
}

}  // namespace pullback::tensor
