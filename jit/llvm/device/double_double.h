// Numbers as bits, and numbers in two parts; a part of math.cc.
#pragma once

namespace {

using i64 = long long;
using u64 = unsigned long long;
using u128 = unsigned __int128;

constexpr double kInf = __builtin_inf();
constexpr double kNan = __builtin_nan("");

u64 Bits(double x) { return __builtin_bit_cast(u64, x); }
double FromBits(u64 b) { return __builtin_bit_cast(double, b); }
double Abs(double x) { return FromBits(Bits(x) & ~(u64{1} << 63)); }
double WithSign(double x, double sign) {
  return FromBits((Bits(x) & ~(u64{1} << 63)) | (Bits(sign) & u64{1} << 63));
}
bool IsNan(double x) { return x != x; }
double Fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
double Sqrt(double x) { return __builtin_sqrt(x); }
// To the nearest integer, ties to even, of |x| < 2^51.
double Nearest(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

// 2^k, -1022 <= k <= 1023.
double Power(i64 k) { return FromBits(static_cast<u64>(k + 1023) << 52); }
// x * 2^k of an x near 1, rounded once.
double Scale(double x, i64 k) {
  if (k > 1023) return x * 0x1p1023 * Power(k > 2046 ? 1023 : k - 1023);
  if (k < -1022) return k < -1100 ? x * 0x1p-1022 * 0x1p-1022 : x * Power(k + 200) * 0x1p-200;
  return x * Power(k);
}

// ------------------------------------------------------------------------------- double-double --

struct Two {
  double h, l;
};
Two Sum(double a, double b) {
  const double s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
Two QuickSum(double a, double b) {  // |a| >= |b|
  const double s = a + b;
  return {s, b - (s - a)};
}
Two Product(double a, double b) {
  const double p = a * b;
  return {p, Fma(a, b, -p)};
}
Two Add(Two a, Two b) {
  const Two s = Sum(a.h, b.h);
  return QuickSum(s.h, s.l + (a.l + b.l));
}
Two Mul(Two a, Two b) {
  const Two p = Product(a.h, b.h);
  return QuickSum(p.h, p.l + (a.h * b.l + a.l * b.h));
}
Two Mul(Two a, double b) {
  const Two p = Product(a.h, b);
  return QuickSum(p.h, p.l + a.l * b);
}
Two Div(Two a, Two b) {
  const double q = a.h / b.h;
  const Two p = Mul(b, q);
  const double rest = ((a.h - p.h) - p.l) + a.l;
  return QuickSum(q, rest / b.h);
}

constexpr Two kLn2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
constexpr Two kLog2E = {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};
constexpr Two kLog10E = {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57};
constexpr Two kTwoOverRootPi = {0x1.20dd750429b6dp+0, 0x1.1ae3a914fed80p-56};
constexpr Two kHalfPi = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};

}  // namespace
