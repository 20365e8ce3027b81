#include "core/loops/lowering.h"

namespace pullback::loops {

using ir::Op;
using ir::Value;

Lowering::Lowering(const ir::Function& function, Function& out)
    : f(function), e(out), arrays_(function.values.size()) {
  for (uint32_t id = 0; id < f.values.size(); ++id) {
    out.regs.push_back({f.values[id].type, false, f.values[id].name});
    alias_.push_back(Reg{id});
  }
}

std::vector<Reg> Lowering::Of(const std::vector<Value>& values) const {
  std::vector<Reg> regs;
  for (Value v : values) regs.push_back(Of(v));
  return regs;
}

ir::Affine Lowering::Of(const ir::Affine& a) const {
  ir::Affine mapped = a;
  for (ir::Affine::Term& t : mapped.terms) t.value = Of(t.value);
  ir::Canonicalise(mapped);
  return mapped;
}

void Lowering::SetShape(Value array, const std::vector<Value>& shape) {
  arrays_[array.id] = {array, shape};
}

void Lowering::CopyShape(Value array, Value from) { arrays_[array.id] = {Root(from), Shape(from)}; }

Value Lowering::Root(Value array) const {
  const Value root = arrays_[array.id].root;
  return root.valid() ? root : array;
}

Reg Lowering::Dim(Value array, int axis) {
  const std::vector<Value>& shape = Shape(array);
  if (!shape.empty()) return Of(shape[static_cast<size_t>(axis)]);
  return e.Dim(array, axis, Root(array));
}

std::vector<Reg> Lowering::Extents(Value array) {
  std::vector<Reg> extents;
  for (int axis = 0; axis < f.TypeOf(array).rank; ++axis) extents.push_back(Dim(array, axis));
  return extents;
}

void Lowering::CheckIndex(Reg sub, Reg extent, uint32_t loc) {
  const Reg above = e.Compare(Op::Ge, sub, e.I64(0));
  const Reg below = e.Compare(Op::Lt, sub, extent);
  e.Check(e.And(above, below), ir::TrapKind::kIndex, loc, {sub, extent});
}

void Lowering::CheckNonNegative(Reg size, uint32_t loc) {
  e.Check(e.Compare(Op::Ge, size, e.I64(0)), ir::TrapKind::kNegativeSize, loc, {size});
}

void Lowering::CheckDivisor(const ir::Inst& inst) {
  const bool divides = inst.op == Op::Div || inst.op == Op::Rem;
  if (!divides || !ir::MayTrap(inst, f)) return;
  const Reg nonzero = e.Compare(Op::Ne, Of(inst.args[1]), e.I64(0));
  e.Check(nonzero, ir::TrapKind::kDivideByZero, inst.loc);
}

void Lowering::Fail(const std::string& what) {
  if (status_.ok()) status_ = Status(Code::kInternal, "LOOPS_INVALID", "@" + f.name + ": " + what);
}

}  // namespace pullback::loops
