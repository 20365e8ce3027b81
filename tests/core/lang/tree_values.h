// Inside of tree_eval: values, and what is done with them whatever the program is.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/tensor.h"
#include "core/ir/ir.h"
#include "core/lang/ast.h"

namespace pullback::lang::tree_eval {

using ir::Op;
using ir::TrapKind;

struct Trapped {
  TrapKind kind;
};

// A scalar (no shape, one element), an array, or what is made of parts: a tuple, struct, closure or
// list (`tuple`), a box (`cell`). Elements as core/eval holds them.
struct Datum {
  DType elem = DType::kF64;
  std::vector<int64_t> shape;
  std::vector<uint64_t> bits;
  std::vector<Datum> tuple;
  enum class Kind : uint8_t { kTensor, kTuple, kList, kBox } kind = Kind::kTensor;
  std::shared_ptr<Datum> cell;
};

inline Datum Scalar(DType t, uint64_t bits) {
  return {t, {}, {bits}, {}, Datum::Kind::kTensor, nullptr};
}
inline Datum Int(int64_t v) { return Scalar(DType::kI64, static_cast<uint64_t>(v)); }
inline int64_t AsInt(const Datum& d) { return static_cast<int64_t>(d.bits[0]); }
inline bool AsBool(const Datum& d) { return d.bits[0] != 0; }

using Elementwise = std::function<std::vector<uint64_t>(const std::vector<uint64_t>&)>;

Datum Made(Datum::Kind kind, std::vector<Datum> parts);
Datum BoxOf(Datum inside);
int64_t CountOf(const std::vector<int64_t>& shape);
uint64_t Apply(Op op, DType t, std::vector<uint64_t> args);
uint64_t NumberOf(DType t, double v);
uint64_t One(DType t);
Op OpOf(BinaryOp op);
Op OpOf(int builtin);
Tensor ToTensor(const Datum& d);
Datum FromTensor(const Tensor& t);
void ForEachIndex(const std::vector<int64_t>& shape,
                  const std::function<void(const std::vector<int64_t>&)>& fn);
size_t Offset(const std::vector<int64_t>& shape, const std::vector<int64_t>& index);
std::vector<int64_t> BroadcastShape(const std::vector<Datum>& operands);
uint64_t BroadcastElement(const Datum& d, const std::vector<int64_t>& index);
std::vector<Datum> Map(const std::vector<DType>& types, const std::vector<Datum>& operands,
                       const Elementwise& fn);
Datum MapOp(Op op, DType result, const std::vector<Datum>& operands);

}  // namespace pullback::lang::tree_eval
