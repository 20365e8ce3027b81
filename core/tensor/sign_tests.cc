#include "core/tensor/sign_tests.h"

#include "core/tensor/statement_edit.h"

namespace pullback::tensor {

using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

bool SignTests::IsZero(const Each& each, Value v) const {
  const Inst* def = FindDef(each, v);
  if (!def) def = values_.DefOf(v);
  return def && def->op == Op::Const && def->bits == 0;
}

const Inst* SignTests::ClippedBy(const Each& each, const Inst& clip) const {
  if (clip.op != Op::Select || clip.guard.valid() || !IsZero(each, clip.args[1])) return nullptr;
  const Inst* test = FindDef(each, clip.args[0]);
  const bool tests = test && test->op == Op::Le && !test->guard.valid() &&
                     test->args[0] == clip.args[2] && IsZero(each, test->args[1]);
  const Inst* value = tests ? FindDef(each, clip.args[2]) : nullptr;
  return value && !value->guard.valid() ? value : nullptr;
}

bool SignTests::AsksForSign(const Each& each, Value v) const {
  int uses = 0, tests = 0;
  const auto count = [&](const Value& used) { uses += used == v; };
  for (const Inst& inst : each.body) {
    ir::ForEachOperand(inst, count);
    const bool test = inst.op == Op::Le || inst.op == Op::Gt;
    tests += test && inst.args[0] == v && inst.args[1] != v && IsZero(each, inst.args[1]);
  }
  for (const EachResult& r : each.results) {
    for (const ir::Affine& sub : r.out) ir::ForEachOperand(sub, count);
    for (const Value used : {r.value, r.second, r.guard}) uses += used.valid() && used == v;
  }
  return uses == tests;
}

}  // namespace pullback::tensor
