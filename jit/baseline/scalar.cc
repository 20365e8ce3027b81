#include "jit/baseline/scalar.h"

#include <array>
#include <cstdint>

#include "core/loops/scalar_ops.h"

namespace pullback::jit {
namespace {

using ir::Op;
namespace x86 = asmjit::x86;
using Id = x86::Inst::Id;
using Label = asmjit::Label;
using Site = const ScalarSite&;

bool IsFloat(DType t) { return t == DType::kF64 || t == DType::kF32; }
bool IsF64(Site s) { return s.operand == DType::kF64; }
x86::Gp G(Site s, int k) { return s.x[k].as<x86::Gp>(); }
x86::Xmm F(Site s, int k) { return s.x[k].as<x86::Xmm>(); }
x86::Gp GTo(Site s) { return s.to.as<x86::Gp>(); }
x86::Xmm FTo(Site s) { return s.to.as<x86::Xmm>(); }

// The instruction for f64 or for f32.
void Emit(Site s, Id f64, Id f32, const x86::Xmm& to, const x86::Xmm& from) {
  s.a.emit(IsF64(s) ? f64 : f32, to, from);
}
void CompareFloats(Site s, const x86::Xmm& x, const x86::Xmm& y) {
  Emit(s, Id::kIdUcomisd, Id::kIdUcomiss, x, y);
}
void LoadBits(Site s, const x86::Xmm& to, uint64_t f64, uint32_t f32) {
  s.a.mov(x86::rax, IsF64(s) ? f64 : f32);
  s.a.movq(to, x86::rax);
}
void LoadSign(Site s, const x86::Xmm& to) { LoadBits(s, to, uint64_t{1} << 63, uint32_t{1} << 31); }

template <Id kF64, Id kF32, Id kInt>
void Binary(Site s) {
  if (IsFloat(s.operand)) {
    s.a.movaps(FTo(s), F(s, 0));
    Emit(s, kF64, kF32, FTo(s), F(s, 1));
  } else {
    s.a.mov(GTo(s), G(s, 0));
    s.a.emit(kInt, GTo(s), G(s, 1));
  }
}

// Division is total: its zero check came before, and -1 is the wrapped negation. A divisor of 0 counts
// as 1, so that a division whose check went never traps.
void DivideInts(Site s, bool remainder) {
  x86::Assembler& a = s.a;
  const Label whole = a.newLabel();
  const Label done = a.newLabel();
  a.mov(x86::rax, G(s, 0));
  a.mov(x86::rcx, G(s, 1));
  a.lea(x86::rdx, x86::ptr(x86::rcx, 1));
  a.cmp(x86::rdx, 1);
  a.ja(whole);
  if (remainder) {
    a.xor_(x86::edx, x86::edx);
  } else {
    a.test(x86::rcx, x86::rcx);
    a.jz(done);
    a.neg(x86::rax);
  }
  a.jmp(done);
  a.bind(whole);
  a.cqo();
  a.idiv(x86::rcx);
  a.bind(done);
  a.mov(GTo(s), remainder ? x86::rdx : x86::rax);
}

void Divide(Site s) {
  if (!IsFloat(s.operand)) return DivideInts(s, false);
  s.a.movaps(FTo(s), F(s, 0));
  Emit(s, Id::kIdDivsd, Id::kIdDivss, FTo(s), F(s, 1));
}

void Negate(Site s) {
  if (!IsFloat(s.operand)) {
    s.a.mov(GTo(s), G(s, 0));
    s.a.neg(GTo(s));
    return;
  }
  LoadSign(s, FTo(s));
  s.a.xorps(FTo(s), F(s, 0));
}

void Absolute(Site s) {
  if (IsFloat(s.operand)) {
    LoadBits(s, FTo(s), ~uint64_t{0} >> 1, ~uint32_t{0} >> 1);
    s.a.andps(FTo(s), F(s, 0));
    return;
  }
  s.a.mov(GTo(s), G(s, 0));
  s.a.neg(GTo(s));
  s.a.cmovs(GTo(s), G(s, 0));
}

void Sign(Site s) {
  x86::Assembler& a = s.a;
  if (!IsFloat(s.operand)) {
    a.mov(x86::rax, G(s, 0));
    a.sar(x86::rax, 63);
    a.mov(GTo(s), G(s, 0));
    a.neg(GTo(s));
    a.shr(GTo(s), 63);
    a.or_(GTo(s), x86::rax);
    return;
  }
  const Label done = a.newLabel();
  const Label above = a.newLabel();
  const Label below = a.newLabel();
  a.movaps(FTo(s), F(s, 0));
  a.xorps(x86::xmm0, x86::xmm0);
  CompareFloats(s, F(s, 0), x86::xmm0);
  a.jp(done);
  a.ja(above);
  a.jb(below);
  a.xorps(FTo(s), FTo(s));
  a.jmp(done);
  a.bind(above);
  LoadBits(s, FTo(s), 0x3ff0000000000000, 0x3f800000);
  a.jmp(done);
  a.bind(below);
  LoadBits(s, FTo(s), 0xbff0000000000000, 0xbf800000);
  a.bind(done);
}

// (x ? y || x != x) ? x : y. The machine's min and max are x ? y ? x : y.
template <Id kF64, Id kF32, Id kMoveY>
void Extremum(Site s) {
  x86::Assembler& a = s.a;
  if (!IsFloat(s.operand)) {
    a.mov(GTo(s), G(s, 0));
    a.cmp(G(s, 0), G(s, 1));
    a.emit(kMoveY, GTo(s), G(s, 1));
    return;
  }
  const Label done = a.newLabel();
  a.movaps(FTo(s), F(s, 0));
  CompareFloats(s, F(s, 0), F(s, 0));
  a.jp(done);
  Emit(s, kF64, kF32, FTo(s), F(s, 1));
  a.bind(done);
}

// The modes of roundsd, without the inexact exception.
enum RoundMode : int { kDown = 9, kUp = 10, kToZero = 11 };

void RoundBy(Site s, const x86::Xmm& to, const x86::Xmm& from, RoundMode mode) {
  s.a.emit(IsF64(s) ? Id::kIdRoundsd : Id::kIdRoundss, to, from, asmjit::Imm(mode));
}

template <RoundMode kMode>
void RoundTo(Site s) {
  s.a.xorps(FTo(s), FTo(s));
  RoundBy(s, FTo(s), F(s, 0), kMode);
}

// Half away from zero: truncates x + (the largest number below a half, with x's sign).
void Round(Site s) {
  LoadSign(s, x86::xmm0);
  s.a.andps(x86::xmm0, F(s, 0));
  LoadBits(s, FTo(s), 0x3fdfffffffffffff, 0x3effffff);
  s.a.orps(FTo(s), x86::xmm0);
  Emit(s, Id::kIdAddsd, Id::kIdAddss, FTo(s), F(s, 0));
  RoundBy(s, FTo(s), FTo(s), kToZero);
}

void SquareRoot(Site s) {
  s.a.xorps(FTo(s), FTo(s));
  Emit(s, Id::kIdSqrtsd, Id::kIdSqrtss, FTo(s), F(s, 0));
}

void SetFlag(Site s, Id set) {
  s.a.emit(set, x86::al);
  s.a.movzx(GTo(s).r32(), x86::al);
}

// Unordered sets parity: equal only without it, unequal with it.
void SetEqual(Site s, bool equal) {
  s.a.emit(equal ? Id::kIdSete : Id::kIdSetne, x86::al);
  s.a.emit(equal ? Id::kIdSetnp : Id::kIdSetp, x86::cl);
  s.a.emit(equal ? Id::kIdAnd : Id::kIdOr, x86::al, x86::cl);
  s.a.movzx(GTo(s).r32(), x86::al);
}

template <bool kEqual>
void Equality(Site s) {
  if (IsFloat(s.operand)) {
    CompareFloats(s, F(s, 0), F(s, 1));
    return SetEqual(s, kEqual);
  }
  s.a.cmp(G(s, 0), G(s, 1));
  SetFlag(s, kEqual ? Id::kIdSete : Id::kIdSetne);
}

// Of floats only "above" is false when unordered, so that "less" is asked the other way round.
template <Id kFloat, bool kSwapped, Id kInt>
void Order(Site s) {
  if (IsFloat(s.operand)) {
    CompareFloats(s, F(s, kSwapped ? 1 : 0), F(s, kSwapped ? 0 : 1));
    return SetFlag(s, kFloat);
  }
  s.a.cmp(G(s, 0), G(s, 1));
  SetFlag(s, kInt);
}

void Not(Site s) {
  s.a.mov(GTo(s), G(s, 0));
  s.a.xor_(GTo(s), 1);
}

void Select(Site s) {
  x86::Assembler& a = s.a;
  if (!IsFloat(s.result)) {
    a.mov(GTo(s), G(s, 2));
    a.test(G(s, 0), G(s, 0));
    a.cmovnz(GTo(s), G(s, 1));
    return;
  }
  const Label done = a.newLabel();
  a.movaps(FTo(s), F(s, 1));
  a.test(G(s, 0), G(s, 0));
  a.jnz(done);
  a.movaps(FTo(s), F(s, 2));
  a.bind(done);
}

// Truncates and saturates; NaN gives 0. The machine gives INT64_MIN for whatever does not fit.
void FloatToInt(Site s) {
  x86::Assembler& a = s.a;
  const Label done = a.newLabel();
  const Label nan = a.newLabel();
  a.emit(IsF64(s) ? Id::kIdCvttsd2si : Id::kIdCvttss2si, GTo(s), F(s, 0));
  a.mov(x86::rax, uint64_t{1} << 63);
  a.cmp(GTo(s), x86::rax);
  a.jne(done);
  a.xorps(x86::xmm0, x86::xmm0);
  CompareFloats(s, F(s, 0), x86::xmm0);
  a.jp(nan);
  a.jb(done);
  a.dec(GTo(s));
  a.jmp(done);
  a.bind(nan);
  a.xor_(GTo(s).r32(), GTo(s).r32());
  a.bind(done);
}

void CastFloat(Site s) {
  x86::Assembler& a = s.a;
  if (s.result == DType::kI64) return FloatToInt(s);
  if (s.result == DType::kBool) {
    a.xorps(x86::xmm0, x86::xmm0);
    CompareFloats(s, F(s, 0), x86::xmm0);
    return SetEqual(s, false);
  }
  if (s.result == s.operand) {
    a.movaps(FTo(s), F(s, 0));
    return;
  }
  a.xorps(FTo(s), FTo(s));
  Emit(s, Id::kIdCvtsd2ss, Id::kIdCvtss2sd, FTo(s), F(s, 0));
}

void CastInt(Site s) {
  x86::Assembler& a = s.a;
  if (IsFloat(s.result)) {
    a.xorps(FTo(s), FTo(s));
    a.emit(s.result == DType::kF64 ? Id::kIdCvtsi2sd : Id::kIdCvtsi2ss, FTo(s), G(s, 0));
  } else if (s.result == DType::kBool) {
    a.test(G(s, 0), G(s, 0));
    SetFlag(s, Id::kIdSetne);
  } else {
    a.mov(GTo(s), G(s, 0));
  }
}

void Cast(Site s) { return IsFloat(s.operand) ? CastFloat(s) : CastInt(s); }

void IntRemainder(Site s) { DivideInts(s, true); }

// Called: WriteScalar never sees it with a float.
constexpr void (*kCalled)(Site) = nullptr;

struct Row {
  Op op;
  void (*write)(Site);
  bool math = false;
};

#define ROW(Name, ...) {Op::Name, __VA_ARGS__}
#define MATH(Name) {Op::Name, kCalled, true}

constexpr Row kRows[] = {
    ROW(Add, Binary<Id::kIdAddsd, Id::kIdAddss, Id::kIdAdd>),
    ROW(Sub, Binary<Id::kIdSubsd, Id::kIdSubss, Id::kIdSub>),
    ROW(Mul, Binary<Id::kIdMulsd, Id::kIdMulss, Id::kIdImul>),
    ROW(Div, Divide),
    ROW(Rem, IntRemainder, true),
    ROW(Neg, Negate),
    ROW(Abs, Absolute),
    ROW(Sign, Sign),
    ROW(Min, Extremum<Id::kIdMinsd, Id::kIdMinss, Id::kIdCmovge>),
    ROW(Max, Extremum<Id::kIdMaxsd, Id::kIdMaxss, Id::kIdCmovle>),
    ROW(Floor, RoundTo<kDown>),
    ROW(Ceil, RoundTo<kUp>),
    ROW(Round, Round),
    ROW(Trunc, RoundTo<kToZero>),
    ROW(Sqrt, SquareRoot),
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
    ROW(Eq, Equality<true>),
    ROW(Ne, Equality<false>),
    ROW(Lt, Order<Id::kIdSeta, true, Id::kIdSetl>),
    ROW(Le, Order<Id::kIdSetae, true, Id::kIdSetle>),
    ROW(Gt, Order<Id::kIdSeta, false, Id::kIdSetg>),
    ROW(Ge, Order<Id::kIdSetae, false, Id::kIdSetge>),
    ROW(And, Binary<Id::kIdNone, Id::kIdNone, Id::kIdAnd>),
    ROW(Or, Binary<Id::kIdNone, Id::kIdNone, Id::kIdOr>),
    ROW(Not, Not),
    ROW(Select, Select),
    ROW(Cast, Cast),
};
#undef ROW
#undef MATH

constexpr std::array<const Row*, ir::kOpCount> kTable = [] {
  std::array<const Row*, ir::kOpCount> table{};
  for (const Row& row : kRows) table[static_cast<size_t>(row.op)] = &row;
  return table;
}();

static_assert(loops::CoversEveryOp(kRows), "an op of ops.def has no row, or two");

}  // namespace

bool HasScalarCode(Op op) { return kTable[static_cast<size_t>(op)] != nullptr; }

void WriteScalar(Op op, const ScalarSite& site) { kTable[static_cast<size_t>(op)]->write(site); }

bool IsMathCall(Op op, DType operand) {
  return kTable[static_cast<size_t>(op)]->math && IsFloat(operand);
}

}  // namespace pullback::jit
