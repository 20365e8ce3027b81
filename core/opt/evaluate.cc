#include "core/opt/evaluate.h"

#include <cmath>

#include "core/base/math.h"
#include "core/ir/comparisons.h"
#include "core/ir/literal.h"

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

// The functions of the math table, by the table: what runs calls it too, bit for bit. Not what gives NaN.
template <typename T>
Bits OfMath(const MathFunction& fn, DType type, T a, T b) {
  const T value = CallMath(fn, a, b);
  return std::isnan(value) ? std::nullopt : Bits(ir::FloatBits(type, value));
}
Bits OfFunction(Op op, DType type, double a, double b) {
  if (op == Op::Sqrt) return a >= 0 ? Bits(ir::FloatBits(type, std::sqrt(a))) : std::nullopt;
  if ((ir::Info(op).flags & ir::kLibm) == 0) return std::nullopt;
  const MathFunction* fn = FindMath(ir::Info(op).mnemonic);
  if (fn == nullptr) return std::nullopt;
  if (type == DType::kF64) return OfMath(*fn, type, a, b);
  return OfMath(*fn, type, static_cast<float>(a), static_cast<float>(b));
}

// Double arithmetic rounded once more to f32 is exact for + - * /: 53 >= 2*24 + 2 bits.
Bits OfFloats(Op op, DType type, double a, double b) {
  switch (op) {
    case Op::Add: return ir::FloatBits(type, a + b);
    case Op::Sub: return ir::FloatBits(type, a - b);
    case Op::Mul: return ir::FloatBits(type, a * b);
    case Op::Div: return ir::FloatBits(type, a / b);
    case Op::SMul: return ir::FloatBits(type, a == 0 ? 0 : a * b);
    default: return OfFunction(op, type, a, b);
  }
}

Bits OfCast(const Inst& inst, Type from, Type to, const Definitions& defs) {
  if (!to.IsFloat()) return std::nullopt;
  if (from == Type::I64() && to.elem == DType::kF64)
    return ir::FloatBits(to.elem, static_cast<double>(*defs.Int(inst.args[0])));
  if (from.IsFloat()) return ir::FloatBits(to.elem, defs.AsDouble(inst.args[0]));
  return std::nullopt;
}

// Of a check that a size is there: n / 2 >= 0.
Bits OfSize(const ir::Function& f, const Inst& inst, const Definitions& defs) {
  const bool asks = inst.op == Op::Ge && f.TypeOf(inst.args[0]) == Type::I64() &&
                    defs.Int(inst.args[1]) == int64_t{0};
  return asks && defs.IsSize(inst.args[0]) ? Bits(1) : std::nullopt;
}

}  // namespace

Bits Evaluate(const ir::Function& f, const Inst& inst, const Definitions& defs) {
  if (const Bits is_size = OfSize(f, inst, defs)) return is_size;
  if (inst.args.empty() || inst.args.size() > 2) return std::nullopt;
  for (ir::Value v : inst.args) {
    if (!f.TypeOf(v).IsScalar() || !defs.IsConst(v)) return std::nullopt;
  }
  const ir::Value a = inst.args[0];
  const Type from = f.TypeOf(a), to = f.TypeOf(inst.results[0]);
  if (inst.op == Op::Cast) return OfCast(inst, from, to, defs);
  if (inst.args.size() == 1) {
    if (inst.op == Op::Not) return defs.Bits(a) ^ 1;
    if (inst.op == Op::Neg && to.IsFloat()) return ir::FloatBits(to.elem, -defs.AsDouble(a));
    return to.IsFloat() ? OfFunction(inst.op, to.elem, defs.AsDouble(a), 0) : std::nullopt;
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
