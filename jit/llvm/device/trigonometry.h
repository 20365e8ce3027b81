// sin, cos, tan and their inverses; a part of math.cc.
#pragma once

#include "jit/llvm/device/double_double.h"

namespace {

struct Angle {
  int quadrant;
  Two r;  // |r| <= π/4
};

// 2/π, 1280 bits.
constexpr u64 kTwoOverPi[] = {
    0xa2f9836e4e441529u, 0xfc2757d1f534ddc0u, 0xdb6295993c439041u, 0xfe5163abdebbc561u,
    0xb7246e3a424dd2e0u, 0x06492eea09d1921cu, 0xfe1deb1cb129a73eu, 0xe88235f52ebb4484u,
    0xe99c7026b45f7e41u, 0x3991d639835339f4u, 0x9c845f8bbdf9283bu, 0x1ff897ffde05980fu,
    0xef2f118b5a0a6d1fu, 0x6d367ecf27cb09b7u, 0x4f463f669e5fea2du, 0x7527bac7ebe5f17bu,
    0x3d0739f78a5292eau, 0x6bfb5fb11f8d5d08u, 0x56033046fc7b6babu, 0xf0cfbc209af4361du};

// Bits [at, at + 64) of five words, lowest first; what lies outside is 0.
u64 WordAt(const u64* p, i64 at) {
  if (at >= 320) return 0;
  const i64 word = at / 64, shift = at % 64;
  const u64 low = p[word] >> shift;
  return shift == 0 || word == 4 ? low : low | p[word + 1] << (64 - shift);
}

// Payne and Hanek: the bits of 2/π that matter, times the 53 bits of a positive x.
Angle ReduceLarge(double x) {
  const i64 e = static_cast<i64>(Bits(x) >> 52) - 1075;
  const u64 m = (Bits(x) & ((u64{1} << 52) - 1)) | u64{1} << 52;
  const i64 first = e < 66 ? 0 : (e - 66) / 64 + 1;  // earlier words give multiples of 4
  u64 p[5] = {};
  u64 carry = 0;
  for (int i = 0; i < 4; ++i) {
    const u128 product = static_cast<u128>(kTwoOverPi[first + 3 - i]) * m + carry;
    p[i] = static_cast<u64>(product);
    carry = static_cast<u64>(product >> 64);
  }
  p[4] = carry;
  const i64 point = 64 * (first + 4) - e;  // so many bits are the fraction
  int quadrant = static_cast<int>(WordAt(p, point) & 3);
  u128 fraction = static_cast<u128>(WordAt(p, point - 64)) << 64 | WordAt(p, point - 128);
  const bool upper = (fraction >> 127) != 0;
  if (upper) {
    fraction = -fraction;
    ++quadrant;
  }
  const double a = static_cast<double>(static_cast<u64>(fraction >> 85)) * 0x1p-43;
  const double b =
      static_cast<double>(static_cast<u64>(fraction >> 42) & ((u64{1} << 43) - 1)) * 0x1p-86;
  const double c =
      static_cast<double>(static_cast<u64>(fraction) & ((u64{1} << 42) - 1)) * 0x1p-128;
  const Two high = QuickSum(a, b);
  Two r = Mul(QuickSum(high.h, high.l + c), kHalfPi);
  if (upper) r = {-r.h, -r.l};
  return {quadrant & 3, r};
}

// Of a positive, finite x.
Angle Reduce(double x) {
  if (x > 1e5) return ReduceLarge(x);
  const double k = Nearest(x * 0x1.45f306dc9c883p-1);
  const double high = Fma(-k, 0x1.921fb54400000p+0, x);  // exact: the constant has 33 bits
  const Two middle = Product(-k, 0x1.0b4611a600000p-34);
  const Two r = Add(Add({high, 0}, middle), {-k * 0x1.3198a2e037073p-69, 0});
  return {static_cast<int>(static_cast<i64>(k) & 3), r};
}

double SinShort(Two r) {
  const double z = r.h * r.h;
  double p = -1.0 / 121645100408832000.0;
  p = Fma(p, z, 1.0 / 355687428096000.0);
  p = Fma(p, z, -1.0 / 1307674368000.0);
  p = Fma(p, z, 1.0 / 6227020800.0);
  p = Fma(p, z, -1.0 / 39916800.0);
  p = Fma(p, z, 1.0 / 362880.0);
  p = Fma(p, z, -1.0 / 5040.0);
  p = Fma(p, z, 1.0 / 120.0);
  p = Fma(p, z, -1.0 / 6.0);
  return r.h + Fma(p * z, r.h, r.l * (1 - 0.5 * z));
}

double CosShort(Two r) {
  const double z = r.h * r.h;
  double p = 1.0 / 2432902008176640000.0;
  p = Fma(p, z, -1.0 / 6402373705728000.0);
  p = Fma(p, z, 1.0 / 20922789888000.0);
  p = Fma(p, z, -1.0 / 87178291200.0);
  p = Fma(p, z, 1.0 / 479001600.0);
  p = Fma(p, z, -1.0 / 3628800.0);
  p = Fma(p, z, 1.0 / 40320.0);
  p = Fma(p, z, -1.0 / 720.0);
  p = Fma(p, z, 1.0 / 24.0);
  const double half = 0.5 * z, w = 1 - half;
  return w + (((1 - w) - half) + Fma(z * z, p, -r.h * r.l));
}

double SinCos(double x, int turn) {
  if (!(Abs(x) < kInf)) return kNan;
  const Angle a = Reduce(Abs(x));
  const bool negative = turn == 0 && Bits(x) >> 63 != 0;
  const int quadrant = a.quadrant + turn;
  double y = quadrant % 2 != 0 ? CosShort(a.r) : SinShort(a.r);
  if (((quadrant & 2) != 0) != negative) y = -y;
  return y;
}

double Tan(double x) {
  if (!(Abs(x) < kInf)) return kNan;
  if (Abs(x) < 0x1p-27) return x;
  const Angle a = Reduce(Abs(x));
  const double s = SinShort(a.r), c = CosShort(a.r);
  const double y = a.quadrant % 2 != 0 ? -c / s : s / c;
  return x < 0 ? -y : y;
}

// atan(i/8)
constexpr Two kAtan[] = {{0, 0},
                         {0x1.fd5ba9aac2f6ep-4, -0x1.cd37686760c17p-59},
                         {0x1.f5b75f92c80ddp-3, 0x1.8ab6e3cf7afbdp-57},
                         {0x1.6f61941e4def1p-2, -0x1.c63aae6f6e918p-56},
                         {0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
                         {0x1.1e00babdefeb4p-1, -0x1.928df287a668fp-58},
                         {0x1.4978fa3269ee1p-1, 0x1.2419a87f2a458p-56},
                         {0x1.700a7c5784634p-1, -0x1.8c34d25aadef6p-56},
                         {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55}};

// atan(y/x) of 0 <= y <= x, x > 0.
Two AtanShort(Two y, Two x) {
  const int i = static_cast<int>(Nearest(y.h / x.h * 8));
  const double c = i * 0.125;
  const Two t = Div(Add(y, Mul(x, -c)), Add(x, Mul(y, c)));
  const double z = t.h * t.h;
  double p = 1.0 / 17;
  p = Fma(p, z, -1.0 / 15);
  p = Fma(p, z, 1.0 / 13);
  p = Fma(p, z, -1.0 / 11);
  p = Fma(p, z, 1.0 / 9);
  p = Fma(p, z, -1.0 / 7);
  p = Fma(p, z, 1.0 / 5);
  p = Fma(p, z, -1.0 / 3);
  return Add(kAtan[i], {t.h, t.l + p * z * t.h});
}

// atan2 of y >= 0 in two parts.
double AtanOf(Two y, Two x) {
  const bool left = x.h < 0;
  if (left) x = {-x.h, -x.l};
  const bool steep = y.h > x.h;
  Two a = steep ? AtanShort(x, y) : AtanShort(y, x);
  if (steep) a = Add(kHalfPi, {-a.h, -a.l});
  if (left) a = Add({2 * kHalfPi.h, 2 * kHalfPi.l}, {-a.h, -a.l});
  return a.h + a.l;
}

double Atan2(double y, double x) {
  if (IsNan(x) || IsNan(y)) return kNan;
  const bool left = Bits(x) >> 63 != 0;
  const double ax = Abs(x), ay = Abs(y);
  double a = 0;
  if (ay == 0) {
    a = left ? 2 * kHalfPi.h : 0;
  } else if (ax == 0 || (ay == kInf && ax != kInf)) {
    a = kHalfPi.h;
  } else if (ax == kInf) {
    a = ay == kInf ? (left ? 1.5 * kHalfPi.h : 0.5 * kHalfPi.h) : (left ? 2 * kHalfPi.h : 0);
  } else if (!left && ay < ax * 0x1p-40) {
    a = ay / ax;  // atan t = t, to more bits than there are; keeps subnormal quotients right
  } else if (ay > 0x1p900 || ax > 0x1p900) {
    return WithSign(AtanOf({ay * 0x1p-200, 0}, {x * 0x1p-200, 0}), y);
  } else {
    const double up = ay < 0x1p-900 && ax < 0x1p-900 ? 0x1p200 : 1;
    a = AtanOf({ay * up, 0}, {x * up, 0});
  }
  return WithSign(a, y);
}

double Atan(double x) { return Atan2(x, 1); }

// sqrt((1 - x)(1 + x)) in two parts, |x| <= 1.
Two Cathetus(double x) {
  const Two square = Mul(Sum(1, -x), Sum(1, x));
  if (square.h <= 0) return {0, 0};
  const double root = Sqrt(square.h);
  const Two back = Product(root, root);
  return QuickSum(root, (((square.h - back.h) - back.l) + square.l) / (2 * root));
}

double Asin(double x) {
  if (!(Abs(x) <= 1)) return kNan;
  if (Abs(x) < 0x1p-27) return x;
  return WithSign(AtanOf({Abs(x), 0}, Cathetus(x)), x);
}

double Acos(double x) {
  if (!(Abs(x) <= 1)) return kNan;
  if (x == 1) return 0;
  return AtanOf(Cathetus(x), {x, 0});
}

}  // namespace
