#include "tests/core/lang/tree_values.h"

#include "core/eval/scalar_ops.h"
#include "core/lang/builtins.h"

namespace pullback::lang::tree_eval {

Datum Made(Datum::Kind kind, std::vector<Datum> parts) {
  return {DType::kF64, {}, {}, std::move(parts), kind, nullptr};
}

Datum BoxOf(Datum inside) {
  Datum box = Made(Datum::Kind::kBox, {});
  box.cell = std::make_shared<Datum>(std::move(inside));
  return box;
}

int64_t CountOf(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

uint64_t Apply(Op op, DType t, std::vector<uint64_t> args) {
  if (eval::DividesByZero(op, t, args.data())) throw Trapped{TrapKind::kDivideByZero};
  return eval::EvalScalar(op, t, args.data());
}

uint64_t NumberOf(DType t, double v) {
  uint64_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  return t == DType::kF64 ? bits : eval::EvalCast(DType::kF64, t, bits);
}

uint64_t One(DType t) { return t == DType::kI64 ? 1 : NumberOf(t, 1.0); }

Op OpOf(BinaryOp op) {
  static constexpr Op kOps[] = {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Rem,
                                Op::Pow, Op::Add, Op::Eq,  Op::Ne,  Op::Lt,
                                Op::Le,  Op::Gt,  Op::Ge,  Op::And, Op::Or};
  return kOps[static_cast<int>(op)];
}

Op OpOf(int builtin) {
  switch (static_cast<Builtin>(builtin)) {
#define PB_CASE(e, n, k) \
  case Builtin::e: return Op::e;
    PB_SCALAR_BUILTINS(PB_CASE)
#undef PB_CASE
    default: return Op::Select;
  }
}

Tensor ToTensor(const Datum& d) {
  Tensor t{d.elem, d.shape, {}};
  const size_t size = DTypeSize(d.elem);
  t.data.resize(d.bits.size() * size);
  for (size_t i = 0; i < d.bits.size(); ++i) {
    const uint64_t v = d.bits[i];
    std::memcpy(t.data.data() + i * size, &v, size);
  }
  return t;
}

Datum FromTensor(const Tensor& t) {
  Datum d{t.dtype, t.shape, {}, {}, Datum::Kind::kTensor, nullptr};
  const size_t size = DTypeSize(t.dtype);
  for (int64_t i = 0; i < t.ElementCount(); ++i) {
    uint64_t v = 0;
    std::memcpy(&v, t.data.data() + static_cast<size_t>(i) * size, size);
    d.bits.push_back(v);
  }
  return d;
}

// Calls fn on every index of a box, in row-major order.
void ForEachIndex(const std::vector<int64_t>& shape,
                  const std::function<void(const std::vector<int64_t>&)>& fn) {
  if (CountOf(shape) == 0) return;
  std::vector<int64_t> index(shape.size());
  while (true) {
    fn(index);
    size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

size_t Offset(const std::vector<int64_t>& shape, const std::vector<int64_t>& index) {
  int64_t at = 0;
  for (size_t i = 0; i < shape.size(); ++i) at = at * shape[i] + index[i];
  return static_cast<size_t>(at);
}

// --- broadcasting

std::vector<int64_t> BroadcastShape(const std::vector<Datum>& operands) {
  std::vector<int64_t> shape;
  for (const Datum& d : operands) {
    if (d.shape.size() > shape.size())
      shape.insert(shape.begin(), d.shape.size() - shape.size(), 1);
    const size_t skipped = shape.size() - d.shape.size();
    for (size_t i = 0; i < d.shape.size(); ++i) {
      int64_t& s = shape[skipped + i];
      if (s != d.shape[i] && s != 1 && d.shape[i] != 1) throw Trapped{TrapKind::kSizeMismatch};
      if (s == 1) s = d.shape[i];
    }
  }
  return shape;
}

uint64_t BroadcastElement(const Datum& d, const std::vector<int64_t>& index) {
  const size_t skipped = index.size() - d.shape.size();
  std::vector<int64_t> at;
  for (size_t i = 0; i < d.shape.size(); ++i)
    at.push_back(d.shape[i] == 1 ? 0 : index[skipped + i]);
  return d.bits[Offset(d.shape, at)];
}

// Several results by one function.
std::vector<Datum> Map(const std::vector<DType>& types, const std::vector<Datum>& operands,
                       const Elementwise& fn) {
  const std::vector<int64_t> shape = BroadcastShape(operands);
  std::vector<Datum> out;
  for (DType t : types) out.push_back({t, shape, {}, {}, Datum::Kind::kTensor, nullptr});
  ForEachIndex(shape, [&](const std::vector<int64_t>& index) {
    std::vector<uint64_t> args;
    for (const Datum& d : operands) args.push_back(BroadcastElement(d, index));
    const std::vector<uint64_t> results = fn(args);
    for (size_t i = 0; i < out.size(); ++i) out[i].bits.push_back(results[i]);
  });
  return out;
}

Datum MapOp(Op op, DType result, const std::vector<Datum>& operands) {
  const DType t = operands[operands.size() == 3 ? 1 : 0].elem;
  return Map({result}, operands,
             [&](const std::vector<uint64_t>& args) { return std::vector{Apply(op, t, args)}; })[0];
}

}  // namespace pullback::lang::tree_eval
