// exp and log; a part of math.cc.
#pragma once

#include "jit/llvm/device/double_double.h"

namespace {

struct Reduced {
  i64 k;
  Two r;  // |r| <= ln 2 / 2
};
// x = k ln 2 + r, for |x| < 1100.
Reduced ReduceExp(Two x) {
  const double k = Nearest(x.h * kLog2E.h);
  const double high = Fma(-k, 0x1.62e42fefa2000p-1, x.h);  // exact: the constant has 40 bits
  const Two r = Add({high, 0}, {Fma(-k, 0x1.9ef35793c6000p-41, 0), 0});
  return {static_cast<i64>(k), Add(r, {x.l, -k * 0x1.673007e5ed5e8p-81})};
}

// e^r - 1, |r| <= 0.35.
Two ExpM1Short(Two r) {
  const double x = r.h;
  double p = 1.0 / 1307674368000.0;
  p = Fma(p, x, 1.0 / 87178291200.0);
  p = Fma(p, x, 1.0 / 6227020800.0);
  p = Fma(p, x, 1.0 / 479001600.0);
  p = Fma(p, x, 1.0 / 39916800.0);
  p = Fma(p, x, 1.0 / 3628800.0);
  p = Fma(p, x, 1.0 / 362880.0);
  p = Fma(p, x, 1.0 / 40320.0);
  p = Fma(p, x, 1.0 / 5040.0);
  p = Fma(p, x, 1.0 / 720.0);
  p = Fma(p, x, 1.0 / 120.0);
  p = Fma(p, x, 1.0 / 24.0);
  p = Fma(p, x, 1.0 / 6.0);
  const double square = x * x;
  const Two half = {0.5 * square, 0.5 * Fma(x, x, -square)};
  const Two tail = Sum(half.h, square * x * p);
  const Two all = Sum(x, tail.h);
  return QuickSum(all.h, all.l + (tail.l + half.l + r.l * (1 + x)));
}

double Exp(Two x) {
  if (IsNan(x.h)) return x.h;
  if (x.h > 709.8) return kInf;
  if (x.h < -745.2) return 0;
  const Reduced e = ReduceExp(x);
  const Two m = ExpM1Short(e.r);
  return Scale(1 + (m.h + m.l), e.k);
}

double ExpM1(double x) {
  if (IsNan(x) || x == 0) return x;
  if (x > 709.8) return kInf;
  if (x < -40) return -1 + 0x1p-60;
  const Reduced e = ReduceExp({x, 0});
  const Two m = ExpM1Short(e.r);
  if (e.k == 0) return m.h + m.l;
  if (e.k > 60) return Scale(1 + (m.h + m.l), e.k);
  const double scale = Power(e.k);
  const Two sum = Sum(scale - 1, scale * m.h);
  return sum.h + (sum.l + scale * m.l);
}

// log of a positive, finite x, to some 100 bits; x.l may not be larger than a rounding of x.h.
Two Log(Two x) {
  i64 k = 0;
  if (x.h < 0x1p-1022) {
    x = {x.h * 0x1p64, x.l * 0x1p64};
    k = -64;
  }
  i64 e = static_cast<i64>(Bits(x.h) >> 52) - 1023;
  double m = FromBits((Bits(x.h) & ((u64{1} << 52) - 1)) | u64{1023} << 52);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++e;
  }
  const double low = Scale(x.l, -e);
  k += e;
  const Two s = Div(Add(Sum(m, -1), {low, 0}), Add(Sum(m, 1), {low, 0}));
  const Two z = Mul(s, s);
  const double x2 = z.h;
  double p = 1.0 / 27;
  p = Fma(p, x2, 1.0 / 25);
  p = Fma(p, x2, 1.0 / 23);
  p = Fma(p, x2, 1.0 / 21);
  p = Fma(p, x2, 1.0 / 19);
  p = Fma(p, x2, 1.0 / 17);
  p = Fma(p, x2, 1.0 / 15);
  p = Fma(p, x2, 1.0 / 13);
  p = Fma(p, x2, 1.0 / 11);
  p = Fma(p, x2, 1.0 / 9);
  p = Fma(p, x2, 1.0 / 7);
  // s + z s (1/3 + z (1/5 + z p)), the outer parts in two.
  const Two third = {0x1.5555555555555p-2, 0x1.5555555555555p-56};
  const Two fifth = {0x1.999999999999ap-3, -0x1.999999999999ap-57};
  const Two inner = Add(third, Mul(z, Add(fifth, Mul(z, p))));
  const Two log_m = Mul(Add(s, Mul(Mul(s, z), inner)), 2.0);
  return Add(Mul(kLn2, static_cast<double>(k)), log_m);
}

// Where log has no finite value; true when `out` is it.
bool LogCorner(double x, double* out) {
  if (IsNan(x) || x == kInf) {
    *out = x;
  } else if (x == 0) {
    *out = -kInf;
  } else if (x < 0) {
    *out = kNan;
  } else {
    return false;
  }
  return true;
}

double LogBase(double x, Two factor) {
  double corner = 0;
  if (LogCorner(x, &corner)) return corner;
  const Two y = Mul(Log({x, 0}), factor);
  return y.h + y.l;
}

double Log1p(double x) {
  double corner = 0;
  if (x == 0) return x;
  if (x == kInf || !(x > -1)) return LogCorner(1 + x, &corner) ? corner : 0;
  if (Abs(x) < 0x1p-54) return x;
  const Two y = Log(Sum(1, x));
  return y.h + y.l;
}

}  // namespace
