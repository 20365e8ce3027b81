// Where turns of a loop take rows of an array, statements of which an equation picks the rows that they read lose the indices that it
// gives: then they read rows next to their own, which the loop's blocks make, too (core/opt/row_asides.h).
//
//   each(i < n, j < n, l < s) where (i == j + 1) { … %z[i, l] … %z[j, l] … } sum [l] of (s)
//   each(i < n, l < s) where (1 <= i) { … %z[i, l] … %z[i - 1, l] … } sum [l] of (s)
//
// Comes before derivatives are taken.
#include <algorithm>
#include <set>

#include "core/tensor/normalise.h"
#include "core/tensor/turn_values.h"

namespace pullback::tensor {
namespace {

bool HasEquation(const ir::Inst& inst) {
  return inst.each && std::any_of(inst.each->where.begin(), inst.each->where.end(),
                                  [](const ir::Constraint& c) { return c.equality; });
}

bool IsPicked(const ir::Inst& inst, const std::set<ir::Value>& taken) {
  return HasEquation(inst) &&
         std::any_of(inst.each->body.begin(), inst.each->body.end(), [&](const ir::Inst& read) {
           return read.op == ir::Op::Index && taken.contains(read.args[0]);
         });
}

}  // namespace

bool PinTakenRows(ir::Function& f, const MayPin& may_pin) {
  const auto asks = [](const ir::Block& b) {
    return std::any_of(b.insts.begin(), b.insts.end(), HasEquation);
  };
  if (f.blocks.size() < 2 || std::none_of(f.blocks.begin(), f.blocks.end(), asks)) return false;
  const std::set<ir::Value> taken = TurnValues(f).ArraysTaken(f);
  const auto holds = [&](const ir::Block& b) {
    return std::any_of(b.insts.begin(), b.insts.end(),
                       [&](const ir::Inst& inst) { return IsPicked(inst, taken); });
  };
  if (taken.empty() || std::none_of(f.blocks.begin(), f.blocks.end(), holds)) return false;
  EliminatePinnedIndices(f, may_pin);
  SimplifyPredicates(f);
  KeepDiagonals(f);  // what is made where it holds alone, as is what reads that
  return true;
}

}  // namespace pullback::tensor
