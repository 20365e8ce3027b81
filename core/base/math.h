// The math functions of every tier: SLEEF's bit-identical scalar variants (Sleef_finz_*_u10purecfma,
// f32: *f1_*), plus fmod. The interpreter calls them here; generated code calls the same
// addresses by name. Nothing else may call libm for a program's values.
//
// sin and cos are the two parts of SLEEF's sincos, which differ in last bits from its sin and cos.
//
// They need a CPU with FMA. In f64 they overflow where SLEEF's do: sinh and cosh from |x| = 710 on,
// asinh and acosh from |x| = 1.34e154 on, log1p from 1.1e307 or so. rem is exact fmod (SLEEF's is wrong
// for large quotients), so it has no vector twin.
#pragma once

#include <string_view>

namespace pullback {

struct MathFunction {
  std::string_view name;  // the op's mnemonic: "sin", "pow", "rem", ...
  int arity;
  const void* f64;         // double(double[, double])
  const void* f32;         // float(float[, float])
  const char* f64_symbol;  // "pb_sin_f64": how generated code names it
  const char* f32_symbol;
};

// nullptr when there is no such function.
const MathFunction* FindMath(std::string_view name);
// All of them, for the allow-list of a back end.
const MathFunction* MathBegin();
const MathFunction* MathEnd();

// sin and cos at once, the same bits: two doubles, or two floats, as a C function returns a struct of
// them (pb_sincos_f64, pb_sincos_f32).
const void* SinCosF64Address();
const void* SinCosF32Address();

double CallMath(const MathFunction& f, double a, double b = 0);
float CallMath(const MathFunction& f, float a, float b = 0);

}  // namespace pullback
