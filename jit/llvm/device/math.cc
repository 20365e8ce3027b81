// The math functions of devices: one source, compiled to bitcode for NVPTX when Pullback is built, and for
// the host by the test that measures its error (tests/jit/device_math_test.cc). Freestanding: no library, no
// header but its own parts. IEEE arithmetic and explicit fma only, so that every device gives the same bits.
//
// Most functions reduce to exp or log of an argument in two parts (double-double), Taylor series on short
// intervals, and the three-part π/2 or Payne and Hanek's reduction. f32 goes through f64 and is rounded once.
#include "jit/llvm/device/powers.h"

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
