#include "core/tensor/linear_values.h"

namespace pullback::tensor {

using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

bool LinearValues::Reads(const Inst& inst) const {
  bool reads = false;
  ir::ForEachOperand(inst, [&](Value v) { reads = reads || Holds(v); });
  if (!inst.each) return reads;
  for (const EachResult& r : inst.each->results) reads = reads || (r.into.valid() && Holds(r.into));
  return reads;
}

bool LinearValues::Add(const Inst& inst) {
  if (!Reads(inst)) return true;
  if (inst.each) return AddStatement(inst);
  if (!IsLinear(inst)) return false;
  values_.insert(inst.results[0]);
  return true;
}

bool LinearValues::IsLinear(const Inst& inst) const {
  if (inst.results.size() != 1 || (inst.guard.valid() && Holds(inst.guard))) return false;
  const auto holds = [&](size_t k) { return Holds(inst.args[k]); };
  const auto fits = [&](size_t k) { return Fits(inst.args[k]); };
  switch (inst.op) {
    case Op::Index: return holds(0);
    case Op::Neg: return true;
    case Op::AddArrays:
    case Op::Add:
    case Op::Sub: return fits(0) && fits(1);
    case Op::SMul: return holds(0) != holds(1);
    case Op::Select: return !holds(0) && fits(1) && fits(2);
    default: return false;
  }
}

bool LinearValues::AddStatement(const Inst& inst) {
  LinearValues inside(this);
  for (const Inst& body : inst.each->body) {
    if (body.op == Op::Const && body.bits == 0) inside.own_zeros_.insert(body.results[0]);
    if (!inside.Add(body)) return false;
  }
  for (const EachResult& r : inst.each->results) {
    const bool adds = r.monoid == ir::Monoid::kSum || r.monoid == ir::Monoid::kGen;
    if (r.into.valid() || r.second.valid() || (inside.Holds(r.value) && !adds)) return false;
    if (r.guard.valid() && inside.Holds(r.guard)) return false;
  }
  for (size_t k = 0; k < inst.results.size(); ++k) {
    if (inside.Holds(inst.each->results[k].value)) values_.insert(inst.results[k]);
  }
  return true;
}

}  // namespace pullback::tensor
