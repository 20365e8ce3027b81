#include "core/loops/lowering.h"

namespace pullback::loops {

using ir::Op;
using ir::Value;

Lowering::Lowering(const ir::Function& function, Function& out, const Destinations& where,
                   const LowerOptions& options)
    : f(function),
      e(out),
      sizes(function),
      checked(function, sizes),
      destinations(where),
      contractions(options.contractions),
      columns(options.columns),
      segments(options.segments) {
  for (uint32_t id = 0; id < f.values.size(); ++id) {
    out.regs.push_back({f.values[id], false, f.names[id]});
    alias_.push_back(Reg{id});
  }
  for (const ir::Inst& inst : f.blocks[0].insts) {
    if (inst.op == Op::Dim) extents_.insert(inst.results[0]);
  }
}

void Lowering::SetAlias(Value v, Reg r) {
  alias_[v.id] = r;
  std::string& name = e.function().regs[r.id].name;
  if (name.empty()) name = f.names[v.id];
}

std::vector<Reg> Lowering::Of(ir::ValueSpan values) const {
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

const Bounds& Lowering::Here() {
  if (!here_ || here_version_ != sizes.version()) {
    here_.emplace(sizes);
    here_->AddKnown(sizes.PassedChecks(), 0);
    here_version_ = sizes.version();
  }
  return *here_;
}

Reg Lowering::Dim(Value array, int axis) {
  const std::vector<Value>& shape = sizes.Shape(array);
  if (!shape.empty()) return Of(shape[static_cast<size_t>(axis)]);
  return e.Dim(array, axis, sizes.Root(array));
}

std::vector<Reg> Lowering::Extents(Value array) {
  std::vector<Reg> extents;
  for (int axis = 0; axis < f.TypeOf(array).rank; ++axis) extents.push_back(Dim(array, axis));
  return extents;
}

void Lowering::MakeUnique(Value array, Value result) {
  Node node;
  node.kind = Node::Kind::kUnique;
  node.args = {array};
  node.results = {result};
  e.Append(std::move(node));
  sizes.CopyShape(result, array);
}

void Lowering::CheckIndex(Reg sub, Reg extent, uint32_t loc, std::vector<Proof> proofs) {
  const Reg above = e.Compare(Op::Ge, sub, e.I64(0));
  const Reg below = e.Compare(Op::Lt, sub, extent);
  e.Check(e.And(above, below), ir::TrapKind::kIndex, loc, {sub, extent}, std::move(proofs));
}

void Lowering::CheckDivisor(Reg divisor, uint32_t loc, std::vector<Proof> proofs) {
  const Reg nonzero = e.Compare(Op::Ne, divisor, e.I64(0));
  e.Check(nonzero, ir::TrapKind::kDivideByZero, loc, {}, std::move(proofs));
}

void Lowering::CheckNonNegative(Reg size, uint32_t loc) {
  e.Check(e.Compare(Op::Ge, size, e.I64(0)), ir::TrapKind::kNegativeSize, loc, {size});
}

void Lowering::CheckSameSizes(const std::vector<Reg>& a, const std::vector<Reg>& b, uint32_t loc) {
  for (size_t axis = 0; axis < a.size(); ++axis) {
    if (a[axis] == b[axis]) continue;
    const Reg same = e.Compare(Op::Eq, a[axis], b[axis]);
    e.Check(same, ir::TrapKind::kSizeMismatch, loc, {a[axis], b[axis]});
  }
}

void Lowering::Scalar(const ir::Inst& inst, Reg into) {
  if (inst.op == Op::SMul) return Fail("a strong multiply in the final IR");
  const bool divides = inst.op == Op::Div || inst.op == Op::Rem;
  if (divides && ir::MayTrap(inst, f)) CheckDivisor(Of(inst.args[1]), inst.loc);
  e.Scalar(inst.op, Of(inst.args), e.TypeOf(into), into);
}

void Lowering::Call(const ir::Inst& inst, ir::ValueSpan into) {
  Node node;
  node.kind = Node::Kind::kCall;
  node.args = Of(inst.args);
  node.results = ir::ToVector(into);
  node.callee = inst.callee;
  node.loc = inst.loc;
  e.Append(std::move(node));
}

Reg Lowering::Holds(ir::ConstraintSpan constraints) {
  Reg all = ir::kNoValue;
  for (const ir::Constraint& c : constraints) all = e.And(all, e.Holds({Of(c.e), c.equality}));
  return all.valid() ? all : e.Const(ir::Type::Bool(), 1);
}

void Lowering::Fail(const std::string& what) {
  if (status_.ok()) status_ = Status(Code::kInternal, "LOOPS_INVALID", "@" + f.name + ": " + what);
}

}  // namespace pullback::loops
