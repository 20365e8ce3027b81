// Instructions of the block graph, one function each; the table at the end says which.
#include <algorithm>
#include <array>

#include "core/loops/bounds.h"
#include "core/loops/liveness.h"
#include "core/loops/lowering.h"
#include "core/loops/statement.h"

namespace pullback::loops {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;
using Dies = SortedValues;

void LowerScalar(Lowering& l, const Inst& inst, const Dies&) { l.Scalar(inst, inst.results[0]); }

void LowerConst(Lowering& l, const Inst& inst, const Dies&) {
  l.SetAlias(inst.results[0], l.e.Const(l.f.TypeOf(inst.results[0]), inst.bits));
}

void LowerAffineOf(Lowering& l, const Inst& inst, const Dies&) {
  l.SetAlias(inst.results[0], l.e.Linear(l.Of(inst.subs[0])));
}

void LowerHolds(Lowering& l, const Inst& inst, const Dies&) {
  l.SetAlias(inst.results[0], l.Holds(inst.constraints));
}

void LowerDim(Lowering& l, const Inst& inst, const Dies&) {
  l.SetAlias(inst.results[0], l.Dim(inst.args[0], static_cast<int>(inst.bits)));
}

void LowerZeros(Lowering& l, const Inst& inst, const Dies&) {
  const Bounds& bounds = l.Here();
  for (Value size : inst.args) {
    if (bounds.Prove(ir::Affine::Of(size)) == Bounds::kNever)
      l.CheckNonNegative(l.Of(size), inst.loc);
  }
  Alloc(l, inst.results[0], inst.args, /*zeroed=*/true, inst.loc);
}

// Checks the subscripts where they are not proven; the row-major offset of the element.
Reg CheckedOffset(Lowering& l, const Inst& inst) {
  const std::vector<Reg> extents = l.Extents(inst.args[0]);
  const Bounds& bounds = l.Here();
  std::vector<ir::Affine> subs;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    subs.push_back(l.Of(inst.subs[axis]));
    const ir::Affine last =
        l.sizes.Extent(inst.args[0], static_cast<int>(axis)) - ir::Affine::Const(1);
    const bool proven = bounds.Prove(inst.subs[axis]) != Bounds::kNever &&
                        bounds.Prove(last - inst.subs[axis]) != Bounds::kNever;
    if (!proven) l.CheckIndex(l.e.Linear(subs.back()), extents[axis], inst.loc);
  }
  return l.e.Offset(subs, extents);
}

void LowerIndex(Lowering& l, const Inst& inst, const Dies&) {
  l.e.Load(inst.args[0], CheckedOffset(l, inst), inst.results[0]);
}

void LowerUpdate(Lowering& l, const Inst& inst, const Dies&) {
  const Reg offset = CheckedOffset(l, inst);
  l.MakeUnique(inst.args[0], inst.results[0]);
  l.e.Store(inst.results[0], offset, l.Of(inst.args[1]));
}

void LowerAddAt(Lowering& l, const Inst& inst, const Dies&) {
  const Reg offset = CheckedOffset(l, inst);
  l.MakeUnique(inst.args[0], inst.results[0]);
  const Reg old = l.e.Load(inst.results[0], offset);
  const Reg sum = l.e.Scalar(Op::Add, {old, l.Of(inst.args[1])}, l.e.TypeOf(old));
  l.e.Store(inst.results[0], offset, sum);
}

// The operand of add_arrays that dies here and so can take the sum; kNoValue: neither does.
Value TakesSum(const Inst& inst, const Dies& dies) {
  for (Value v : inst.args) {
    if (Contains(dies, v)) return v;
  }
  return ir::kNoValue;
}

void LowerAddArrays(Lowering& l, const Inst& inst, const Dies& dies) {
  const Value result = inst.results[0];
  const std::vector<Reg> extents = l.Extents(inst.args[0]);
  l.CheckSameSizes(extents, l.Extents(inst.args[1]), inst.loc);
  Reg count = l.e.I64(1);
  for (Reg extent : extents) count = l.e.Mul(count, extent);
  std::vector<Reg> from = {inst.args[0], inst.args[1]};
  const Value taken = TakesSum(inst, dies);
  if (taken.valid()) {
    l.MakeUnique(taken, result);
    std::replace(from.begin(), from.end(), taken, result);
  } else {
    Node node;
    node.kind = Node::Kind::kAlloc;
    node.args = extents;
    node.results = {result};
    node.loc = inst.loc;
    l.e.Append(std::move(node));
    l.sizes.CopyShape(result, inst.args[0]);
  }
  const Reg i = l.e.OpenFor(l.e.I64(0), count, l.e.function().NewReg(ir::Type::I64(), "o"));
  Emitter::About about;
  if (extents.size() == 1)
    about.rows.push_back({i, i, {}, {}});  // of more axes, i is their common offset
  const Reg x = l.e.Load(from[0], i, ir::kNoValue, about);
  const Reg y = l.e.Load(from[1], i, ir::kNoValue, about);
  l.e.Store(result, i, l.e.Scalar(Op::Add, {x, y}, l.e.TypeOf(x)), {i}, about);
  l.e.CloseFor();
}

void LowerPlain(Lowering& l, const Inst& inst, Node::Kind kind) {
  Node node;
  node.kind = kind;
  node.args = l.Of(inst.args);
  node.results = ir::ToVector(inst.results);
  l.e.Append(std::move(node));
}

void LowerCall(Lowering& l, const Inst& inst, const Dies&) { l.Call(inst, inst.results); }
void LowerTapeNew(Lowering& l, const Inst& inst, const Dies&) {
  LowerPlain(l, inst, Node::Kind::kTapeNew);
}
void LowerPush(Lowering& l, const Inst& inst, const Dies&) {
  LowerPlain(l, inst, Node::Kind::kPush);
}
void LowerPop(Lowering& l, const Inst& inst, const Dies&) { LowerPlain(l, inst, Node::Kind::kPop); }

void LowerCheck(Lowering& l, const Inst& inst, const Dies&) {
  std::vector<Reg> details = l.Of(inst.args);
  details.erase(details.begin());
  l.e.Check(l.Of(inst.args[0]), static_cast<ir::TrapKind>(inst.bits), inst.loc, std::move(details));
  l.sizes.Passed(inst.args[0]);
}

void LowerEach(Lowering& l, const Inst& inst, const Dies&) { LowerStatement(l, inst); }

// ThreadBoxes has replaced boxes.
void LowerBox(Lowering& l, const Inst&, const Dies&) { l.Fail("a box in the final IR"); }

void LowerList(Lowering& l, const Inst& inst, const Dies&) {
  const auto length = [&] {
    Node len;
    len.kind = Node::Kind::kList;
    len.op = Op::ListLen;
    len.args = {inst.args[0]};
    len.results = {l.e.function().NewReg(ir::Type::I64())};
    return l.e.Append(std::move(len)).results[0];
  };
  switch (inst.op) {
    case Op::ListOf: l.CheckNonNegative(l.Of(inst.args[0]), inst.loc); break;
    case Op::ListGet:
    case Op::ListSet:
    case Op::ListTake: l.CheckIndex(l.Of(inst.args[1]), length(), inst.loc); break;
    case Op::ListPop: {
      const Reg n = length();
      l.CheckIndex(l.e.Sub(n, l.e.I64(1)), n, inst.loc);
      break;
    }
    default: break;
  }
  Node node;
  node.kind = Node::Kind::kList;
  node.op = inst.op;
  node.args = l.Of(inst.args);
  node.results = ir::ToVector(inst.results);
  node.loc = inst.loc;
  l.e.Append(std::move(node));
}

// The pipeline has checked that derivative operators and markers are gone.
void LowerDerivative(Lowering& l, const Inst&, const Dies&) {
  l.Fail("a derivative operator in the final IR");
}

struct Row {
  Op op;
  void (*lower)(Lowering&, const Inst&, const Dies&);
};
constexpr Row kRows[] = {
    {Op::Cast, LowerScalar},     {Op::Select, LowerScalar},
    {Op::Const, LowerConst},     {Op::AffineOf, LowerAffineOf},
    {Op::Holds, LowerHolds},     {Op::Dim, LowerDim},
    {Op::Zeros, LowerZeros},     {Op::Index, LowerIndex},
    {Op::Update, LowerUpdate},   {Op::AddAt, LowerAddAt},
    {Op::Each, LowerEach},       {Op::AddArrays, LowerAddArrays},
    {Op::Call, LowerCall},       {Op::Check, LowerCheck},
    {Op::TapeNew, LowerTapeNew}, {Op::Push, LowerPush},
    {Op::Pop, LowerPop},         {Op::Fit, LowerList},
    {Op::ListNew, LowerList},    {Op::ListOf, LowerList},
    {Op::ListLen, LowerList},    {Op::ListGet, LowerList},
    {Op::ListSet, LowerList},    {Op::ListTake, LowerList},
    {Op::ListPush, LowerList},   {Op::ListPop, LowerList},
    {Op::BoxNew, LowerBox},      {Op::BoxGet, LowerBox},
    {Op::BoxSet, LowerBox},      {Op::Jvp, LowerDerivative},
    {Op::Vjp, LowerDerivative},  {Op::StopGradient, LowerDerivative},
};

constexpr bool HasRow(Op op) {
  return std::any_of(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.op == op; });
}
#define OP(name, mnemonic, arity, rule, flags) \
  static_assert(ir::TypeRule::rule != ir::TypeRule::Own || HasRow(Op::name));
#include "core/ir/ops.def"
#undef OP

}  // namespace

void LowerInst(Lowering& l, const Inst& inst, const Dies& dies) {
  l.sizes.Define(inst);
  l.e.At(inst.loc);
  for (const Row& row : kRows) {
    if (row.op == inst.op) return row.lower(l, inst, dies);
  }
  LowerScalar(l, inst, dies);
}

std::vector<Value> ConsumedBy(const ir::Function& f, const Inst& inst, const Dies& dies) {
  switch (inst.op) {
    case Op::Update:
    case Op::AddAt: return {inst.args[0]};
    case Op::Each: {
      std::vector<Value> added_to;
      for (const ir::EachResult& r : inst.each->results) {
        if (r.into.valid()) added_to.push_back(r.into);
      }
      return added_to;
    }
    case Op::AddArrays: {
      const Value taken = TakesSum(inst, dies);
      return taken.valid() ? std::vector<Value>{taken} : std::vector<Value>{};
    }
    case Op::Call:
    case Op::Push:
    case Op::Pop:
    case Op::Fit:
    case Op::ListOf:
    case Op::ListSet:
    case Op::ListTake:
    case Op::ListPush:
    case Op::ListPop: break;
    default: return {};
  }
  std::vector<Value> consumed;
  for (Value v : inst.args) {
    if (IsCounted(f.TypeOf(v))) consumed.push_back(v);
  }
  return consumed;
}

}  // namespace pullback::loops
