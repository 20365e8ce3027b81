#include "core/base/math.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "core/base/status.h"

namespace pullback {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double Call(const char* name, double a, double b = 0) {
  const MathFunction* f = FindMath(name);
  PB_CHECK(f);
  return CallMath(*f, a, b);
}

float CallF(const char* name, float a, float b = 0) {
  const MathFunction* f = FindMath(name);
  PB_CHECK(f);
  return CallMath(*f, a, b);
}

// Known values to 17 digits, from tables.
struct Known {
  const char* name;
  double a, b, result;
};
const Known kKnown[] = {
    {"cbrt", 27.0, 0, 3.0},
    {"exp", 1.0, 0, 2.7182818284590452},
    {"exp2", 0.5, 0, 1.4142135623730950},
    {"expm1", 1e-10, 0, 1.00000000005e-10},
    {"log", 10.0, 0, 2.3025850929940457},
    {"log2", 8.0, 0, 3.0},
    {"log10", 1000.0, 0, 3.0},
    {"log1p", 1e-10, 0, 9.9999999995e-11},
    {"sin", 1.0, 0, 0.84147098480789651},
    {"cos", 1.0, 0, 0.54030230586813972},
    {"tan", 1.0, 0, 1.5574077246549023},
    {"asin", 0.5, 0, 0.52359877559829887},
    {"acos", 0.5, 0, 1.0471975511965979},
    {"atan", 1.0, 0, 0.78539816339744831},
    {"sinh", 1.0, 0, 1.1752011936438015},
    {"cosh", 1.0, 0, 1.5430806348152438},
    {"tanh", 1.0, 0, 0.76159415595576489},
    {"asinh", 1.0, 0, 0.88137358701954303},
    {"acosh", 2.0, 0, 1.3169578969248167},
    {"atanh", 0.5, 0, 0.54930614433405485},
    {"erf", 0.5, 0, 0.52049987781304654},
    {"pow", -2.0, 3.0, -8.0},
    {"atan2", -1.0, -1.0, -2.3561944901923449},
    {"hypot", 3e200, 4e200, 5e200},
    {"rem", -7.5, 2.0, -1.5},
};

TEST_CASE("every function of the table gives known values in both precisions") {
  CHECK(std::size(kKnown) == static_cast<size_t>(MathEnd() - MathBegin()));
  for (const Known& k : kKnown) {
    INFO(k.name);
    CHECK(Call(k.name, k.a, k.b) == Approx(k.result).epsilon(1e-15));
    if (std::fabs(k.a) > 1e30) continue;
    CHECK(CallF(k.name, static_cast<float>(k.a), static_cast<float>(k.b)) ==
          Approx(k.result).epsilon(3e-7));
  }
}

TEST_CASE("the table names each function once, as generated code does") {
  for (const MathFunction* f = MathBegin(); f != MathEnd(); ++f) {
    CHECK(FindMath(f->name) == f);
    CHECK(std::string(f->f64_symbol) == "pb_" + std::string(f->name) + "_f64");
    CHECK(std::string(f->f32_symbol) == "pb_" + std::string(f->name) + "_f32");
  }
  CHECK(FindMath("system") == nullptr);
}

TEST_CASE("sin and cos are the parts of sincos") {
  struct F64 {
    double sin, cos;
  };
  struct F32 {
    float sin, cos;
  };
  const auto sincos64 = reinterpret_cast<F64 (*)(double)>(const_cast<void*>(SinCosF64Address()));
  const auto sincos32 = reinterpret_cast<F32 (*)(float)>(const_cast<void*>(SinCosF32Address()));
  std::mt19937_64 random(3);
  for (int i = 0; i < 20000; ++i) {
    const double x = std::ldexp(static_cast<double>(static_cast<int64_t>(random())), -63 + i % 24);
    CHECK(sincos64(x).sin == Call("sin", x));
    CHECK(sincos64(x).cos == Call("cos", x));
    CHECK(std::fabs(Call("sin", x) - std::sin(x)) <= 2.3e-16);
    const auto y = static_cast<float>(x);
    CHECK(sincos32(y).sin == CallF("sin", y));
    CHECK(sincos32(y).cos == CallF("cos", y));
  }
}

TEST_CASE("signs of zero and corners") {
  for (const char* odd : {"sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "cbrt",
                          "expm1", "log1p", "erf"}) {
    INFO(odd);
    CHECK(std::signbit(Call(odd, -0.0)));
  }
  CHECK(Call("log", 0.0) == -kInf);
  CHECK(std::isnan(Call("log", -1.0)));
  CHECK(Call("pow", 0.0, 0.0) == 1.0);
  CHECK(std::isnan(Call("pow", -2.0, 0.5)));
  CHECK(Call("exp", -800.0) == 0.0);
  CHECK(Call("atan2", 0.0, -1.0) == Approx(3.141592653589793));
}

TEST_CASE("rem is exact where quotients are large or operands subnormal") {
  CHECK(Call("rem", 1.0, 5e-324) == 0.0);
  CHECK(Call("rem", 1.7e308, 3.0) == std::fmod(1.7e308, 3.0));
  CHECK(Call("rem", 5.0, kInf) == 5.0);
  CHECK(std::isnan(Call("rem", 5.0, 0.0)));
  CHECK(std::signbit(Call("rem", -4.0, 2.0)));
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t bits[] = {random(), random()};
    double x[2];
    std::memcpy(x, bits, sizeof x);
    const double r = Call("rem", x[0], x[1]);
    if (!std::isfinite(x[0]) || !std::isfinite(x[1])) continue;
    if (std::fabs(r) < std::fabs(x[1]) && (r == 0 || std::signbit(r) == std::signbit(x[0])))
      continue;
    FAIL("rem " << x[0] << ", " << x[1] << " = " << r);
  }
}

}  // namespace
}  // namespace pullback
