#include "core/opt/evaluate.h"

#include "core/ir/comparisons.h"

namespace pullback::opt {
namespace {

using ir::Inst;
using ir::Op;
using ir::Type;
using Bits = std::optional<uint64_t>;

Bits OfInts(Op op, uint64_t a, uint64_t b) {
  switch (op) {
    case Op::Add: return a + b;
    case Op::Sub: return a - b;
    case Op::Mul: return a * b;
    default: return std::nullopt;
  }
}

// Double arithmetic rounded once more to f32 is exact for + - * /: 53 >= 2*24 + 2 bits.
Bits OfFloats(Op op, DType type, double a, double b) {
  switch (op) {
    case Op::Add: return FloatBits(type, a + b);
    case Op::Sub: return FloatBits(type, a - b);
    case Op::Mul: return FloatBits(type, a * b);
    case Op::Div: return FloatBits(type, a / b);
    case Op::SMul: return FloatBits(type, a == 0 ? 0 : a * b);
    default: return std::nullopt;
  }
}

Bits OfCast(const Inst& inst, Type from, Type to, const Definitions& defs) {
  if (!to.IsFloat()) return std::nullopt;
  if (from == Type::I64() && to.elem == DType::kF64)
    return FloatBits(to.elem, static_cast<double>(*defs.Int(inst.args[0])));
  if (from.IsFloat()) return FloatBits(to.elem, defs.AsDouble(inst.args[0]));
  return std::nullopt;
}

}  // namespace

Bits Evaluate(const ir::Function& f, const Inst& inst, const Definitions& defs) {
  if (inst.args.empty() || inst.args.size() > 2) return std::nullopt;
  for (ir::Value v : inst.args) {
    if (!f.TypeOf(v).IsScalar() || !defs.IsConst(v)) return std::nullopt;
  }
  const ir::Value a = inst.args[0];
  const Type from = f.TypeOf(a), to = f.TypeOf(inst.results[0]);
  if (inst.op == Op::Cast) return OfCast(inst, from, to, defs);
  if (inst.args.size() == 1) {
    if (inst.op == Op::Not) return defs.Bits(a) ^ 1;
    if (inst.op == Op::Neg && to.IsFloat()) return FloatBits(to.elem, -defs.AsDouble(a));
    return std::nullopt;
  }
  const ir::Value b = inst.args[1];
  if (to == Type::Bool() && inst.op != Op::And && inst.op != Op::Or) {
    return from.IsFloat() ? ir::Compare(inst.op, defs.AsDouble(a), defs.AsDouble(b))
                          : ir::Compare(inst.op, *defs.Int(a), *defs.Int(b));
  }
  if (to == Type::I64()) return OfInts(inst.op, defs.Bits(a), defs.Bits(b));
  if (to.IsFloat()) return OfFloats(inst.op, to.elem, defs.AsDouble(a), defs.AsDouble(b));
  return std::nullopt;
}

}  // namespace pullback::opt
