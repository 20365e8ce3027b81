#include <algorithm>

#include "core/tensor/body_graph.h"
#include "core/tensor/split_statement.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/tensor_ssa.h"

namespace pullback::tensor {
namespace {

using ir::Inst;
using ir::Op;

bool IsPlainHolds(const Inst* def) { return def && def->op == Op::Holds && !def->guard.valid(); }

void AddAll(std::vector<ir::Constraint>& to, ir::ConstraintSpan from) {
  for (const ir::Constraint& c : from) {
    if (std::find(to.begin(), to.end(), c) == to.end()) to.push_back(c);
  }
}

// [p0]·[p1]·e = [p0 ∧ p1]·e: a predicate says all that has to hold for it to be asked.
bool MergeOne(ir::Each& each) {
  for (Inst& inst : each.body) {
    if (inst.op == Op::Holds && inst.guard.valid()) {
      const Inst* outer = FindDef(each, inst.guard);
      if (!IsPlainHolds(outer)) continue;
      std::vector<ir::Constraint> both = outer->constraints.ToVector();
      AddAll(both, inst.constraints);
      inst.constraints = std::move(both);
      inst.guard = ir::kNoValue;
      return true;
    }
    if (inst.op != Op::And || inst.guard.valid()) continue;
    const Inst* a = FindDef(each, inst.args[0]);
    const Inst* b = FindDef(each, inst.args[1]);
    if (!IsPlainHolds(a) || !IsPlainHolds(b)) continue;
    std::vector<ir::Constraint> both = a->constraints.ToVector();
    AddAll(both, b->constraints);
    inst.op = Op::Holds;
    inst.args.clear();
    inst.constraints = std::move(both);
    return true;
  }
  return false;
}

// [p]·gen e = gen [p]·e, of a statement that stores or adds what has a guard.
void AdoptGuard(ir::Each& each) {
  ir::EachResult& r = each.results[0];
  const bool absent_is_zero = r.monoid == ir::Monoid::kGen || r.monoid == ir::Monoid::kSum;
  if (each.results.size() != 1 || !absent_is_zero || r.guard.valid()) return;
  const Inst* def = FindDef(each, r.value);
  if (def) r.guard = def->guard;
}

}  // namespace

void PushGuardsOut(ir::Each& each) {
  if (each.results.empty()) return;
  while (MergeOne(each)) {
  }
  AdoptGuard(each);
  MoveGuardToWhere(each);
  PruneBody(each);
}

void PushOutGens(ir::Function& f) {
  for (ir::Block& b : f.blocks) {
    for (Inst& inst : b.insts) {
      if (inst.each) PushGuardsOut(*inst.each);
    }
  }
}

}  // namespace pullback::tensor
