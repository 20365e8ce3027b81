// What a guard keeps from being evaluated, but could not trap, and is asked for under that guard alone, is evaluated
// everywhere: an equation behind a condition can be looked up then.
//
//   %k = index %rows[%t] if %c; %same = eq %k, %i if %c; %both = and %c, %same
//   %k = index %rows[%t]; %same = eq %k, %i; %both = and %c, %same
#include <algorithm>

#include "core/tensor/block_values.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Each;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kMostInsts = 256;  // of a body that is looked at

// Integers that are read along indices of the statement, each over all of its axis.
bool IsSafeRead(const Inst& statement, const Inst& read, const BlockValues& values) {
  if (read.op != Op::Index) return false;
  const Each& each = *statement.each;
  for (size_t axis = 0; axis < read.subs.size(); ++axis) {
    const auto place = PlaceOfIndex(each, read.subs[axis].AsValue());
    if (!place || !values.HasExtent(read.args[0], axis, each.indices[*place].extent, statement))
      return false;
  }
  return true;
}

// Whether nobody sees what v is where the guard is false.
bool IsSeenUnder(const Each& each, Value v, Value guard) {
  const auto implies = [&](Value condition) {
    return condition.valid() && ConditionsOf(each, condition).contains(guard);
  };
  const bool by_body = std::all_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
    bool reads = false;
    ir::ForEachOperand(inst, [&](Value operand) { reads |= operand == v; });
    if (!reads || (implies(inst.guard) && inst.guard != v)) return true;
    const bool joins = inst.op == Op::And && inst.guard != v;
    return joins && std::any_of(inst.args.begin(), inst.args.end(),
                                [&](Value arg) { return arg != v && implies(arg); });
  });
  return by_body && std::all_of(each.results.begin(), each.results.end(), [&](const auto& r) {
           const bool out = std::any_of(r.out.begin(), r.out.end(),
                                        [&](const ir::Affine& e) { return e.Coeff(v) != 0; });
           const bool reads = r.value == v || r.second == v || out;
           return r.guard != v && (!reads || implies(r.guard));
         });
}

}  // namespace

void FreeGuardedReads(ir::Function& f) {
  const BlockValues values(f);
  for (ir::Block& b : f.blocks) {
    for (Inst& statement : b.insts) {
      if (!statement.each || statement.results.empty() || statement.each->body.size() > kMostInsts)
        continue;
      for (Inst& inst : statement.each->body) {
        if (!inst.guard.valid() || f.TypeOf(inst.results[0]).IsFloat()) continue;
        const bool compares = inst.op == Op::Eq && f.TypeOf(inst.args[0]) == ir::Type::I64();
        if (!compares && !IsSafeRead(statement, inst, values)) continue;
        if (IsSeenUnder(*statement.each, inst.results[0], inst.guard)) inst.guard = ir::kNoValue;
      }
    }
  }
}

}  // namespace pullback::tensor
