// The math functions of devices: one source, compiled to bitcode for NVPTX when Pullback is built, and for
// the host by the test that measures its error (tests/jit/device_math_test.cc). Freestanding: no header, no
// library. IEEE arithmetic and explicit fma only, so that every device gives the same bits.
//
// Most functions reduce to exp or log of an argument in two parts (double-double), Taylor series on short
// intervals, and the three-part π/2 or Payne and Hanek's reduction. f32 goes through f64 and is rounded once.

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

// ------------------------------------------------------------------------------- exp and log --

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

// ------------------------------------------------------------------------------- trigonometry --

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

#define PB_UNARY(name, expression)                                   \
  extern "C" double pb_##name##_f64(double x) { return expression; } \
  extern "C" float pb_##name##_f32(float v) {                        \
    const double x = static_cast<double>(v);                         \
    return static_cast<float>(expression);                           \
  }
#define PB_BINARY(name, expression)                                            \
  extern "C" double pb_##name##_f64(double x, double y) { return expression; } \
  extern "C" float pb_##name##_f32(float v, float w) {                         \
    const double x = static_cast<double>(v), y = static_cast<double>(w);       \
    return static_cast<float>(expression);                                     \
  }

PB_UNARY(exp, Exp({x, 0}))
PB_UNARY(exp2, Abs(x) < 1100 ? Exp(Mul(kLn2, x)) : Exp({x, 0}))
PB_UNARY(expm1, ExpM1(x))
PB_UNARY(log, LogBase(x, {1, 0}))
PB_UNARY(log2, LogBase(x, kLog2E))
PB_UNARY(log10, LogBase(x, kLog10E))
PB_UNARY(log1p, Log1p(x))
PB_UNARY(sin, x == 0 ? x : SinCos(x, 0))
PB_UNARY(cos, SinCos(x, 1))
PB_UNARY(tan, Tan(x))
PB_UNARY(asin, Asin(x))
PB_UNARY(acos, Acos(x))
PB_UNARY(atan, Atan(x))
PB_UNARY(sinh, Sinh(x))
PB_UNARY(cosh, Cosh(x))
PB_UNARY(tanh, Tanh(x))
PB_UNARY(asinh, Asinh(x))
PB_UNARY(acosh, Acosh(x))
PB_UNARY(atanh, Atanh(x))
PB_UNARY(erf, Erf(x))
PB_UNARY(cbrt, Cbrt(x))
PB_BINARY(pow, Pow(x, y))
PB_BINARY(atan2, Atan2(x, y))
PB_BINARY(hypot, Hypot(x, y))
PB_BINARY(rem, Rem(x, y))
