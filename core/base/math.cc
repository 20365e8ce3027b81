#include "core/base/math.h"

#include <cmath>
#include <span>

// The bit-identical scalar variants that use FMA. sleef.h declares them only where the compiler
// targets FMA; we are compiled for a baseline CPU and call them by address, so they are declared
// here. (Their vector twins, Sleef_finz_*d4_u10avx2 and so on, return the same bits.)
// clang-format off
#define PB_UNARY(F) \
  F(cbrt) F(exp) F(exp2) F(expm1) F(log) F(log2) F(log10) F(log1p) F(tan) F(asin) F(acos) F(atan) \
  F(sinh) F(cosh) F(tanh) F(asinh) F(acosh) F(atanh) F(erf)
// clang-format on

extern "C" {
#define PB_DECLARE(f)                            \
  double Sleef_finz_##f##d1_u10purecfma(double); \
  float Sleef_finz_##f##f1_u10purecfma(float);
PB_UNARY(PB_DECLARE)
#undef PB_DECLARE
double Sleef_finz_powd1_u10purecfma(double, double);
float Sleef_finz_powf1_u10purecfma(float, float);
double Sleef_finz_atan2d1_u10purecfma(double, double);
float Sleef_finz_atan2f1_u10purecfma(float, float);
double Sleef_finz_hypotd1_u05purecfma(double, double);
float Sleef_finz_hypotf1_u05purecfma(float, float);
struct SinCosF64 {
  double sin, cos;
};
struct SinCosF32 {
  float sin, cos;
};
SinCosF64 Sleef_finz_sincosd1_u10purecfma(double);
SinCosF32 Sleef_finz_sincosf1_u10purecfma(float);
}

namespace pullback {
namespace {

// fmod is exact, so every correct implementation returns the same bits; SLEEF's is not correct (it
// gives NaN for large quotients).
double RemF64(double a, double b) { return std::fmod(a, b); }
float RemF32(float a, float b) { return std::fmod(a, b); }

// SLEEF's sincos gives other last bits than its sin and cos. Ours are the parts of sincos, so that a
// pair may be computed by one call, which costs as much as one of them.
double SinF64(double x) { return Sleef_finz_sincosd1_u10purecfma(x).sin; }
double CosF64(double x) { return Sleef_finz_sincosd1_u10purecfma(x).cos; }
float SinF32(float x) { return Sleef_finz_sincosf1_u10purecfma(x).sin; }
float CosF32(float x) { return Sleef_finz_sincosf1_u10purecfma(x).cos; }

template <typename Fn>
const void* Address(Fn* f) {
  return reinterpret_cast<const void*>(f);
}

// clang-format off
#define PB_ROW(name, arity, f64, f32) \
  {#name, arity, Address(f64), Address(f32), "pb_" #name "_f64", "pb_" #name "_f32"},
#define PB_UNARY_ROW(f) PB_ROW(f, 1, Sleef_finz_##f##d1_u10purecfma, Sleef_finz_##f##f1_u10purecfma)

// In a function, so that it is whole before any other static initialiser may ask for it.
std::span<const MathFunction> Functions() {
  static const MathFunction kFunctions[] = {
      PB_UNARY(PB_UNARY_ROW)
      PB_ROW(sin, 1, SinF64, SinF32)
      PB_ROW(cos, 1, CosF64, CosF32)
      PB_ROW(pow, 2, Sleef_finz_powd1_u10purecfma, Sleef_finz_powf1_u10purecfma)
      PB_ROW(atan2, 2, Sleef_finz_atan2d1_u10purecfma, Sleef_finz_atan2f1_u10purecfma)
      PB_ROW(hypot, 2, Sleef_finz_hypotd1_u05purecfma, Sleef_finz_hypotf1_u05purecfma)
      PB_ROW(rem, 2, RemF64, RemF32)
  };
  return kFunctions;
}
// clang-format on

template <typename T>
T CallAt(const void* address, int arity, T a, T b) {
  if (arity == 1) return reinterpret_cast<T (*)(T)>(const_cast<void*>(address))(a);
  return reinterpret_cast<T (*)(T, T)>(const_cast<void*>(address))(a, b);
}

}  // namespace

const MathFunction* MathBegin() { return Functions().data(); }
const MathFunction* MathEnd() { return Functions().data() + Functions().size(); }

const MathFunction* FindMath(std::string_view name) {
  for (const MathFunction& f : Functions()) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

const void* SinCosF64Address() { return Address(Sleef_finz_sincosd1_u10purecfma); }
const void* SinCosF32Address() { return Address(Sleef_finz_sincosf1_u10purecfma); }

double CallMath(const MathFunction& f, double a, double b) { return CallAt(f.f64, f.arity, a, b); }
float CallMath(const MathFunction& f, float a, float b) { return CallAt(f.f32, f.arity, a, b); }

}  // namespace pullback
