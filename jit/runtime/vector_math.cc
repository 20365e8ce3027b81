// SLEEF's bit-identical vector variants, declared by address only: we are compiled for a baseline
// CPU, generated code calls them with vectors of its own.
#include <span>

#include "jit/runtime/support.h"

// One-argument functions and two-argument ones, with the accuracy in SLEEF's name.
// clang-format off
#define PB_VECTOR_MATH(F)                                                         \
  F(cbrt, u10) F(exp, u10) F(exp2, u10) F(expm1, u10) F(log, u10) F(log2, u10)    \
  F(log10, u10) F(log1p, u10) F(tan, u10) F(asin, u10)                            \
  F(acos, u10) F(atan, u10) F(sinh, u10) F(cosh, u10) F(tanh, u10) F(asinh, u10)  \
  F(acosh, u10) F(atanh, u10) F(erf, u10) F(pow, u10) F(atan2, u10) F(hypot, u05)
// clang-format on

extern "C" {
#define PB_DECLARE(f, u)                  \
  void Sleef_finz_##f##d2_##u##avx2128(); \
  void Sleef_finz_##f##d4_##u##avx2();    \
  void Sleef_finz_##f##d8_##u##avx512f(); \
  void Sleef_finz_##f##f4_##u##avx2128(); \
  void Sleef_finz_##f##f8_##u##avx2();    \
  void Sleef_finz_##f##f16_##u##avx512f();
PB_VECTOR_MATH(PB_DECLARE)
#undef PB_DECLARE
}

// sin and cos: vector_sincos_avx2.cc, vector_sincos_avx512.cc.
extern "C" {
#define PB_DECLARE(f)           \
  void pb_vector_##f##_f64_2(); \
  void pb_vector_##f##_f64_4(); \
  void pb_vector_##f##_f64_8(); \
  void pb_vector_##f##_f32_4(); \
  void pb_vector_##f##_f32_8(); \
  void pb_vector_##f##_f32_16();
PB_DECLARE(sin)
PB_DECLARE(cos)
#undef PB_DECLARE
}

namespace pullback::jit {
namespace {

const void* Address(void (*f)()) { return reinterpret_cast<const void*>(f); }

std::span<const VectorMath> Functions() {
  static const VectorMath kFunctions[] = {
#define PB_ROWS(f, u)                                                               \
  {#f, true, 2, "pb_" #f "_f64_v2", Address(Sleef_finz_##f##d2_##u##avx2128)},      \
      {#f, true, 4, "pb_" #f "_f64_v4", Address(Sleef_finz_##f##d4_##u##avx2)},     \
      {#f, true, 8, "pb_" #f "_f64_v8", Address(Sleef_finz_##f##d8_##u##avx512f)},  \
      {#f, false, 4, "pb_" #f "_f32_v4", Address(Sleef_finz_##f##f4_##u##avx2128)}, \
      {#f, false, 8, "pb_" #f "_f32_v8", Address(Sleef_finz_##f##f8_##u##avx2)},    \
      {#f, false, 16, "pb_" #f "_f32_v16", Address(Sleef_finz_##f##f16_##u##avx512f)},
      PB_VECTOR_MATH(PB_ROWS)
#undef PB_ROWS
#define PB_ROWS(f)                                                        \
  {#f, true, 2, "pb_" #f "_f64_v2", Address(pb_vector_##f##_f64_2)},      \
      {#f, true, 4, "pb_" #f "_f64_v4", Address(pb_vector_##f##_f64_4)},  \
      {#f, true, 8, "pb_" #f "_f64_v8", Address(pb_vector_##f##_f64_8)},  \
      {#f, false, 4, "pb_" #f "_f32_v4", Address(pb_vector_##f##_f32_4)}, \
      {#f, false, 8, "pb_" #f "_f32_v8", Address(pb_vector_##f##_f32_8)}, \
      {#f, false, 16, "pb_" #f "_f32_v16", Address(pb_vector_##f##_f32_16)},
          PB_ROWS(sin) PB_ROWS(cos)
#undef PB_ROWS
  };
  return kFunctions;
}

}  // namespace

const VectorMath* VectorMathBegin() { return Functions().data(); }
const VectorMath* VectorMathEnd() { return Functions().data() + Functions().size(); }

}  // namespace pullback::jit
