#include "jit/llvm/emit_scalar.h"

#include <llvm/IR/Intrinsics.h>

#include <array>
#include <bit>
#include <limits>

#include "core/loops/scalar_ops.h"

namespace pullback::jit {
namespace {

using ir::Op;
using llvm::CmpInst;
using llvm::Value;
using llvm::Intrinsic::ID;
namespace Intrinsic = llvm::Intrinsic;

bool IsFloat(DType t) { return t == DType::kF64 || t == DType::kF32; }
Value* X(const OpSite& s) { return s.args[0]; }
Value* Y(const OpSite& s) { return s.args[1]; }
Value* Zero(const OpSite& s) { return llvm::Constant::getNullValue(X(s)->getType()); }
Value* Int(const OpSite& s, int64_t v) { return llvm::ConstantInt::getSigned(X(s)->getType(), v); }

template <ID kIntrinsic>
Value* Unary(OpSite& s) {
  return s.b.CreateUnaryIntrinsic(kIntrinsic, X(s));
}

Value* Math(OpSite& s) {
  const char* name = ir::Info(s.op).mnemonic;
  const bool f64 = s.operand == DType::kF64;
  if (s.lanes > 0) return s.m.CallMathOnLanes(s.b, name, f64, s.args);
  return s.b.CreateCall(s.m.Math(name, f64), s.args);
}

template <CmpInst::Predicate kFloat, CmpInst::Predicate kSigned, CmpInst::Predicate kUnsigned>
Value* Compare(OpSite& s) {
  if (IsFloat(s.operand)) return s.b.CreateFCmp(kFloat, X(s), Y(s));
  return s.b.CreateICmp(s.operand == DType::kBool ? kUnsigned : kSigned, X(s), Y(s));
}

// Division is total: a divisor of 0 (whose trap comes before) or -1 is replaced by 1, and the
// quotient of -1 is the wrapped negation.
Value* SafeDivisor(OpSite& s) {
  Value* odd = s.b.CreateICmpULE(s.b.CreateAdd(Y(s), Int(s, 1)), Int(s, 1));
  return s.b.CreateSelect(odd, Int(s, 1), Y(s));
}

Value* DivInt(OpSite& s) {
  Value* quotient = s.b.CreateSDiv(X(s), SafeDivisor(s));
  return s.b.CreateSelect(s.b.CreateICmpEQ(Y(s), Int(s, -1)), s.b.CreateNeg(X(s)), quotient);
}

// (x ? y || x != x) ? x : y, where ? is the comparison. As two selects, one for each condition, InstCombine of LLVM 19 makes
// `x > 0` of `fabs(x) > 0` in max(fabs(x), 0).
template <CmpInst::Predicate kFloat, CmpInst::Predicate kSigned>
Value* Extremum(OpSite& s) {
  if (!IsFloat(s.operand)) {
    return s.b.CreateSelect(s.b.CreateICmp(kSigned, X(s), Y(s)), X(s), Y(s));
  }
  Value* first = s.b.CreateOr(s.b.CreateFCmp(kFloat, X(s), Y(s)), s.b.CreateFCmpUNO(X(s), X(s)));
  return s.b.CreateSelect(first, X(s), Y(s));
}

Value* Sign(OpSite& s) {
  llvm::Type* type = X(s)->getType();
  if (!IsFloat(s.operand)) {
    Value* negative = s.b.CreateSExt(s.b.CreateICmpSLT(X(s), Zero(s)), type);
    return s.b.CreateOr(negative, s.b.CreateZExt(s.b.CreateICmpSGT(X(s), Zero(s)), type));
  }
  Value* one = llvm::ConstantFP::get(type, 1);
  Value* below =
      s.b.CreateSelect(s.b.CreateFCmpOLT(X(s), Zero(s)), llvm::ConstantFP::get(type, -1), Zero(s));
  Value* ordered = s.b.CreateSelect(s.b.CreateFCmpOGT(X(s), Zero(s)), one, below);
  return s.b.CreateSelect(s.b.CreateFCmpUNO(X(s), X(s)), X(s), ordered);
}

Value* Cast(OpSite& s) {
  llvm::Type* type = X(s)->getType()->getWithNewType(s.m.TypeOf(s.result));
  if (s.operand == s.result) return X(s);
  if (s.result == DType::kBool) {
    return IsFloat(s.operand) ? s.b.CreateFCmpUNE(X(s), Zero(s)) : s.b.CreateICmpNE(X(s), Zero(s));
  }
  if (IsFloat(s.operand)) {
    if (IsFloat(s.result)) return s.b.CreateFPCast(X(s), type);
    return s.b.CreateIntrinsic(Intrinsic::fptosi_sat, {type, X(s)->getType()}, {X(s)});
  }
  if (s.result == DType::kI64) return s.b.CreateZExt(X(s), type);
  return s.operand == DType::kBool ? s.b.CreateUIToFP(X(s), type) : s.b.CreateSIToFP(X(s), type);
}

struct Row {
  Op op;
  Value* (*emit)(OpSite&);
};

#define BINARY(Name, on_float, on_int) \
  {Op::Name, [](OpSite& s) { return IsFloat(s.operand) ? s.b.on_float : s.b.on_int; }}
#define COMPARE(Name, FLOAT, SIGNED, UNSIGNED) \
  {Op::Name, Compare<CmpInst::FLOAT, CmpInst::SIGNED, CmpInst::UNSIGNED>}
#define MATH(Name) {Op::Name, Math}

constexpr Row kRows[] = {
    BINARY(Add, CreateFAdd(X(s), Y(s)), CreateAdd(X(s), Y(s))),
    BINARY(Sub, CreateFSub(X(s), Y(s)), CreateSub(X(s), Y(s))),
    BINARY(Mul, CreateFMul(X(s), Y(s)), CreateMul(X(s), Y(s))),
    BINARY(Neg, CreateFNeg(X(s)), CreateNeg(X(s))),
    {Op::Div,
     [](OpSite& s) { return IsFloat(s.operand) ? s.b.CreateFDiv(X(s), Y(s)) : DivInt(s); }},
    {Op::Rem,
     [](OpSite& s) { return IsFloat(s.operand) ? Math(s) : s.b.CreateSRem(X(s), SafeDivisor(s)); }},
    {Op::Abs,
     [](OpSite& s) -> Value* {
       if (IsFloat(s.operand)) return s.b.CreateUnaryIntrinsic(Intrinsic::fabs, X(s));
       return s.b.CreateBinaryIntrinsic(Intrinsic::abs, X(s), s.b.getFalse());
     }},
    {Op::Sign, Sign},
    {Op::Min, Extremum<CmpInst::FCMP_OLT, CmpInst::ICMP_SLT>},
    {Op::Max, Extremum<CmpInst::FCMP_OGT, CmpInst::ICMP_SGT>},
    {Op::Floor, Unary<Intrinsic::floor>},
    {Op::Ceil, Unary<Intrinsic::ceil>},
    {Op::Round, Unary<Intrinsic::round>},
    {Op::Trunc, Unary<Intrinsic::trunc>},
    {Op::Sqrt, Unary<Intrinsic::sqrt>},
    MATH(Cbrt),
    MATH(Exp),
    MATH(Exp2),
    MATH(Expm1),
    MATH(Log),
    MATH(Log2),
    MATH(Log10),
    MATH(Log1p),
    MATH(Sin),
    MATH(Cos),
    MATH(Tan),
    MATH(Asin),
    MATH(Acos),
    MATH(Atan),
    MATH(Sinh),
    MATH(Cosh),
    MATH(Tanh),
    MATH(Asinh),
    MATH(Acosh),
    MATH(Atanh),
    MATH(Erf),
    MATH(Pow),
    MATH(Atan2),
    MATH(Hypot),
    COMPARE(Eq, FCMP_OEQ, ICMP_EQ, ICMP_EQ),
    COMPARE(Ne, FCMP_UNE, ICMP_NE, ICMP_NE),
    COMPARE(Lt, FCMP_OLT, ICMP_SLT, ICMP_ULT),
    COMPARE(Le, FCMP_OLE, ICMP_SLE, ICMP_ULE),
    COMPARE(Gt, FCMP_OGT, ICMP_SGT, ICMP_UGT),
    COMPARE(Ge, FCMP_OGE, ICMP_SGE, ICMP_UGE),
    {Op::And, [](OpSite& s) { return s.b.CreateAnd(X(s), Y(s)); }},
    {Op::Or, [](OpSite& s) { return s.b.CreateOr(X(s), Y(s)); }},
    {Op::Not, [](OpSite& s) { return s.b.CreateNot(X(s)); }},
    {Op::Select, [](OpSite& s) { return s.b.CreateSelect(X(s), Y(s), s.args[2]); }},
    {Op::Cast, Cast},
};
#undef BINARY
#undef COMPARE
#undef MATH

using Emit = Value* (*)(OpSite&);

constexpr std::array<Emit, ir::kOpCount> kEmit = [] {
  std::array<Emit, ir::kOpCount> table{};
  for (const Row& row : kRows) table[static_cast<size_t>(row.op)] = row.emit;
  return table;
}();

static_assert(loops::CoversEveryOp(kRows), "an op of ops.def has no row, or two");

}  // namespace

bool HasScalarRow(Op op) { return kEmit[static_cast<size_t>(op)] != nullptr; }

Value* EmitOp(OpSite site) { return kEmit[static_cast<size_t>(site.op)](site); }

llvm::Constant* EmitConst(const ModuleEmitter& m, DType t, uint64_t bits) {
  switch (t) {
    case DType::kF64:
      return llvm::ConstantFP::get(m.TypeOf(t), llvm::APFloat(std::bit_cast<double>(bits)));
    case DType::kF32:
      return llvm::ConstantFP::get(
          m.TypeOf(t), llvm::APFloat(std::bit_cast<float>(static_cast<uint32_t>(bits))));
    case DType::kI64: return llvm::ConstantInt::get(m.i64, bits);
    case DType::kBool: break;
  }
  return llvm::ConstantInt::getBool(m.context, bits != 0);
}

llvm::Value* EmitCombine(OpSite site, ir::Monoid monoid) {
  site.op = ir::MonoidOp(monoid);
  return EmitOp(site);
}

llvm::Constant* EmitIdentity(const ModuleEmitter& m, DType t, ir::Monoid monoid) {
  return EmitConst(m, t, ir::MonoidIdentity(monoid, t));
}

}  // namespace pullback::jit
