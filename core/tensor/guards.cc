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
    std::vector<ir::Constraint> both = a->constraints;
    both.insert(both.end(), b->constraints.begin(), b->constraints.end());
    inst.op = ir::Op::Holds;
    inst.args.clear();
    inst.constraints = std::move(both);
  }
}

// A result whose value is 0 wherever the value's guard is false takes that guard: an absent term for
// one that is zero.
void AdoptValueGuards(ir::Each& each) {
  for (ir::EachResult& r : each.results) {
    if (r.guard.valid()) continue;
    if (r.monoid != ir::Monoid::kGen && r.monoid != ir::Monoid::kSum) continue;
    if (const Inst* def = FindDef(each, r.value)) r.guard = def->guard;
  }
}

// Whether they speak of indices and outer values only: `where` does not see the body.
bool AreOutsideBody(const ir::Each& each, const std::vector<ir::Constraint>& constraints) {
  bool outside = true;
  for (const ir::Constraint& c : constraints)
    ir::ForEachOperand(c.e, [&](Value v) { outside &= FindDef(each, v) == nullptr; });
  return outside;
}

// A guard that all results share, and that is a conjunction of affine constraints, moves to `where`.
void MoveSharedGuard(ir::Each& each) {
  const Value guard = each.results.empty() ? Value{} : each.results[0].guard;
  if (!guard.valid()) return;
  for (const ir::EachResult& r : each.results) {
    if (r.guard != guard) return;
  }
  const Inst* def = FindDef(each, guard);
  if (!def || def->op != ir::Op::Holds || def->guard.valid()) return;
  if (!AreOutsideBody(each, def->constraints)) return;
  each.where.insert(each.where.end(), def->constraints.begin(), def->constraints.end());
  for (ir::EachResult& r : each.results) r.guard = ir::kNoValue;
  for (Inst& inst : each.body) {
    if (inst.guard == guard) inst.guard = ir::kNoValue;
  }
  PruneBody(each);
}

// A sum over nothing, into all indices at once, stores.
void StoreSumsOfOneTerm(ir::Each& each) {
  for (ir::EachResult& r : each.results) {
    if (r.monoid == ir::Monoid::kSum && r.out.size() == each.indices.size() && !r.out.empty() &&
        IsPrefixForm(each, r)) {
      r.monoid = ir::Monoid::kGen;
    }
  }
}

}  // namespace

void HoistGuards(ir::Function& f) {
  for (ir::Block& b : f.blocks) {
    for (Inst& inst : b.insts) {
      if (!inst.each) continue;
      MergeConjunctions(*inst.each);
      AdoptValueGuards(*inst.each);
      MoveSharedGuard(*inst.each);
      StoreSumsOfOneTerm(*inst.each);
    }
  }
}

}  // namespace pullback::tensor
