// Hyperbolic functions, powers, roots and remainders; a part of math.cc.
#pragma once

#include "jit/llvm/device/exp_log.h"
#include "jit/llvm/device/trigonometry.h"

namespace {

// ---------------------------------------------------------------------------------- hyperbolic --

double Sinh(double x) {
  const double a = Abs(x);
  if (IsNan(x) || a < 0x1p-28) return x;
  double y = 0;
  if (a > 40) {
    y = a > 711 ? kInf : Exp({a - 1, 0}) * 0x1.5bf0a8b145769p+0;  // e/2
  } else {
    const double t = ExpM1(a);
    y = 0.5 * (t + t / (t + 1));
  }
  return WithSign(y, x);
}

double Cosh(double x) {
  const double a = Abs(x);
  if (IsNan(x)) return x;
  if (a > 40) return a > 711 ? kInf : Exp({a - 1, 0}) * 0x1.5bf0a8b145769p+0;
  const double e = Exp({a, 0});
  return 0.5 * e + 0.5 / e;
}

double Tanh(double x) {
  const double a = Abs(x);
  if (IsNan(x) || a < 0x1p-28) return x;
  if (a > 22) return WithSign(1, x);
  const double t = ExpM1(2 * a);
  return WithSign(t / (t + 2), x);
}

double Asinh(double x) {
  const double a = Abs(x);
  if (!(a < kInf) || a < 0x1p-28) return x;
  if (a > 0x1p28) {
    const Two y = Add(Log({a, 0}), kLn2);
    return WithSign(y.h + y.l, x);
  }
  return WithSign(Log1p(a + a * a / (1 + Sqrt(1 + a * a))), x);
}

double Acosh(double x) {
  if (!(x >= 1)) return kNan;
  if (x == kInf) return x;
  if (x > 0x1p28) {
    const Two y = Add(Log({x, 0}), kLn2);
    return y.h + y.l;
  }
  const double t = x - 1;
  return Log1p(t + Sqrt(2 * t + t * t));
}

double Atanh(double x) {
  const double a = Abs(x);
  if (!(a <= 1)) return kNan;
  if (a == 1) return WithSign(kInf, x);
  if (a < 0x1p-28) return x;
  const Two y = Log(Div(Sum(1, a), Sum(1, -a)));
  return WithSign(0.5 * (y.h + y.l), x);
}

// ----------------------------------------------------------------------------------- the others --

// erf x = 2/√π e^(-x²) Σ 2ⁿ x^(2n+1) / (2n+1)!!: no term is negative.
double Erf(double x) {
  const double a = Abs(x);
  if (IsNan(x) || x == 0) return x;
  if (a > 6) return WithSign(1, x);
  if (a < 0x1p-28) {
    const Two y = Mul(kTwoOverRootPi, x);
    return y.h + y.l;
  }
  const Two square = Product(a, a);
  Two term = {a, 0}, sum = {a, 0};
  for (int n = 1; n < 200; ++n) {
    term = Div(Mul(term, square), {n + 0.5, 0});
    sum = Add(sum, term);
    if (term.h < sum.h * 0x1p-60) break;
  }
  const Reduced e = ReduceExp({-square.h, -square.l});
  const Two m = ExpM1Short(e.r);
  const Two y = Mul(Mul(sum, Add({1, 0}, m)), kTwoOverRootPi);
  return WithSign(Scale(y.h + y.l, e.k), x);
}

double Cbrt(double x) {
  const double a = Abs(x);
  if (!(a < kInf) || a == 0) return x;
  i64 down = 0;
  double m = a;
  if (m < 0x1p-1000) {
    m *= 0x1p300;
    down = -100;
  }
  const Two log = Log({m, 0});
  double y = Exp(Mul(log, {0x1.5555555555555p-2, 0x1.5555555555555p-56}));
  const Two square = Product(y, y);
  const Two cube = Mul(square, y);
  y -= ((cube.h - m) + cube.l) / (3 * square.h);
  return WithSign(Scale(y, down), x);
}

double Hypot(double x, double y) {
  double a = Abs(x), b = Abs(y);
  if (a == kInf || b == kInf) return kInf;
  if (IsNan(a) || IsNan(b)) return kNan;
  if (a < b) {
    const double t = a;
    a = b;
    b = t;
  }
  if (b == 0 || a > b * 0x1p60) return a + b;
  const double scale = a > 0x1p500 ? 0x1p-600 : a < 0x1p-500 ? 0x1p600 : 1;
  a *= scale;
  b *= scale;
  const Two s = Add(Product(a, a), Product(b, b));
  const double root = Sqrt(s.h);
  const Two back = Product(root, root);
  const double y0 = root + (((s.h - back.h) - back.l) + s.l) / (2 * root);
  return y0 / scale;
}

bool IsOdd(double y) {
  if (Abs(y) >= 0x1p53) return false;
  const i64 n = static_cast<i64>(y);
  return static_cast<double>(n) == y && (n & 1) != 0;
}
bool IsInteger(double y) {
  return Abs(y) >= 0x1p52 || static_cast<double>(static_cast<i64>(y)) == y;
}

double Pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (IsNan(x) || IsNan(y)) return kNan;
  const double a = Abs(x);
  const bool odd = IsOdd(y), negative = Bits(x) >> 63 != 0 && odd;
  const auto sign = [&](double v) { return negative ? -v : v; };
  if (Abs(y) == kInf) return a == 1 ? 1 : ((a > 1) == (y > 0) ? kInf : 0);
  if (a == 0) return sign(y > 0 ? 0 : kInf);
  if (a == kInf) return sign(y > 0 ? kInf : 0);
  if (x < 0 && !IsInteger(y)) return kNan;
  const Two log = Log({a, 0});
  if (Abs(log.h) * Abs(y) > 1000) return sign((log.h > 0) == (y > 0) ? kInf : 0);
  return sign(Exp(Mul(log, y)));
}

// Exact: the remainder of the quotient truncated, bit by bit.
double Rem(double x, double y) {
  u64 a = Bits(Abs(x)), b = Bits(Abs(y));
  if (IsNan(x) || IsNan(y) || Abs(x) == kInf || b == 0) return kNan;
  if (a < b) return x;
  // Mantissas of 53 bits; the exponents of subnormal numbers go below 1.
  const auto normal = [](u64 v, i64* e) {
    *e = v >> 52 == 0 ? 1 : static_cast<i64>(v >> 52);
    u64 m = v & ((u64{1} << 52) - 1);
    if (v >> 52 != 0) m |= u64{1} << 52;
    for (; m >> 52 == 0; --*e) m <<= 1;
    return m;
  };
  i64 e = 0, last = 0;
  a = normal(a, &e);
  b = normal(b, &last);
  for (; e > last; --e) {
    if (a >= b) a -= b;
    a <<= 1;
  }
  if (a >= b) a -= b;
  if (a == 0) return WithSign(0, x);
  for (; a >> 52 == 0; --e) a <<= 1;
  const u64 bits = e < 1 ? a >> (1 - e) : (a & ((u64{1} << 52) - 1)) | static_cast<u64>(e) << 52;
  return WithSign(FromBits(bits), x);
}

}  // namespace
