// The device's math (jit/llvm/device/math.cc), compiled for the host, against long double: an error of at
// most three units in the last place in f64, one in f32, and the corners of IEEE 754.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "core/base/math.h"
#include "jit/llvm/device/math.cc"

namespace pullback::jit {
namespace {

template <typename T>
double UlpsOff(T got, long double want) {
  const T rounded = static_cast<T>(want);
  if (std::isnan(got) || std::isnan(rounded))
    return std::isnan(got) && std::isnan(rounded) ? 0 : 1e9;
  if (std::isinf(got) || std::isinf(rounded)) return got == rounded ? 0 : 1e9;
  const long double unit = std::nextafter(std::fabs(rounded), T{INFINITY}) - std::fabs(rounded);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) / unit);
}

struct Range {
  double lo, hi;
};

template <typename F64, typename F32, typename True>
void Check(const char* name, F64 f64, F32 f32, True exact, std::vector<Range> ranges) {
  std::mt19937_64 random(7);
  for (const Range& range : ranges) {
    std::uniform_real_distribution<double> draw(range.lo, range.hi);
    double worst = 0, worst32 = 0;
    for (int i = 0; i < 20000; ++i) {
      const double x = draw(random);
      worst = std::max(worst, UlpsOff(f64(x), exact(static_cast<long double>(x))));
      const auto x32 = static_cast<float>(x);
      worst32 = std::max(worst32, UlpsOff(f32(x32), exact(static_cast<long double>(x32))));
    }
    INFO(name << " in [" << range.lo << ", " << range.hi << "]");
    CHECK(worst <= 3);
    CHECK(worst32 <= 1);
  }
}

#define PB_CHECK_UNARY(name, ...)                                                          \
  Check(#name, pb_##name##_f64, pb_##name##_f32, [](long double x) { return name##l(x); }, \
        {__VA_ARGS__})

TEST_CASE("Device math: errors of a few units in the last place") {
  PB_CHECK_UNARY(exp, {-745, 710}, {-1, 1});
  PB_CHECK_UNARY(exp2, {-1074, 1024}, {-1, 1});
  PB_CHECK_UNARY(expm1, {-50, 710}, {-1, 1}, {-1e-9, 1e-9});
  PB_CHECK_UNARY(log, {0, 1e300}, {0.5, 2});
  PB_CHECK_UNARY(log2, {0, 1e300}, {0.5, 2});
  PB_CHECK_UNARY(log10, {0, 1e300}, {0.5, 2});
  PB_CHECK_UNARY(log1p, {-1, 2}, {-1e-9, 1e-9}, {0, 1e300});
  PB_CHECK_UNARY(sin, {-10, 10}, {-1e5, 1e5}, {1e5, 1e18}, {1e200, 1e300});
  PB_CHECK_UNARY(cos, {-10, 10}, {-1e5, 1e5}, {1e5, 1e18}, {1e200, 1e300});
  PB_CHECK_UNARY(tan, {-10, 10}, {-1e5, 1e5}, {1e5, 1e18});
  PB_CHECK_UNARY(asin, {-1, 1}, {-1e-5, 1e-5});
  PB_CHECK_UNARY(acos, {-1, 1});
  PB_CHECK_UNARY(atan, {-10, 10}, {-1e9, 1e9});
  PB_CHECK_UNARY(sinh, {-1, 1}, {-712, 712});
  PB_CHECK_UNARY(cosh, {-1, 1}, {-712, 712});
  PB_CHECK_UNARY(tanh, {-1, 1}, {-30, 30});
  PB_CHECK_UNARY(asinh, {-1, 1}, {-1e9, 1e9});
  PB_CHECK_UNARY(acosh, {1, 2}, {1, 1e9});
  PB_CHECK_UNARY(atanh, {-1, 1}, {-1e-5, 1e-5});
  PB_CHECK_UNARY(erf, {-1, 1}, {-7, 7});
  PB_CHECK_UNARY(cbrt, {-1, 1}, {-1e300, 1e300});
  for (const double y : {-3.75, -0.5, 0.25, 2.0, 41.0}) {
    Check(
        "pow", [&](double x) { return pb_pow_f64(x, y); },
        [&](float x) { return pb_pow_f32(x, static_cast<float>(y)); },
        [&](long double x) { return powl(x, y); }, {{0, 3}});
    Check(
        "atan2", [&](double x) { return pb_atan2_f64(x, y); },
        [&](float x) { return pb_atan2_f32(x, static_cast<float>(y)); },
        [&](long double x) { return atan2l(x, y); }, {{-50, 50}});
    Check(
        "hypot", [&](double x) { return pb_hypot_f64(x, y); },
        [&](float x) { return pb_hypot_f32(x, static_cast<float>(y)); },
        [&](long double x) { return hypotl(x, y); }, {{-50, 50}});
  }
}

// The CPU's functions have IEEE's corners: the device's give the same there.
TEST_CASE("Device math: corners as on the CPU") {
  const double corners[] = {0.0, -0.0,     1.0,       -1.0, 0.5,    -2.0,
                            3.0, INFINITY, -INFINITY, NAN,  1e-320, 5e-324};
  const auto same = [](double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b)) ||
           (std::isfinite(a) && a != 0 && UlpsOff(a, b) <= 4);
  };
#define PB_CORNERS(name)                                                        \
  for (const double x : corners) {                                              \
    INFO(#name << "(" << x << ")");                                             \
    const double got = pb_##name##_f64(x), cpu = CallMath(*FindMath(#name), x); \
    INFO(got << ", on the CPU " << cpu);                                        \
    CHECK(same(got, cpu));                                                      \
  }
  // clang-format off
  PB_CORNERS(exp)
  PB_CORNERS(exp2)
  PB_CORNERS(expm1)
  PB_CORNERS(log)
  PB_CORNERS(log2)
  PB_CORNERS(log10)
  PB_CORNERS(log1p)
  PB_CORNERS(sin)
  PB_CORNERS(cos)
  PB_CORNERS(tan)
  PB_CORNERS(asin)
  PB_CORNERS(acos)
  PB_CORNERS(atan)
  PB_CORNERS(sinh)
  PB_CORNERS(cosh)
  PB_CORNERS(tanh)
  PB_CORNERS(asinh)
  PB_CORNERS(acosh)
  PB_CORNERS(atanh)
  PB_CORNERS(erf)
  PB_CORNERS(cbrt)
  // clang-format on
#define PB_CORNERS2(name)                                                               \
  for (const double x : corners)                                                        \
    for (const double y : corners) {                                                    \
      INFO(#name << "(" << x << ", " << y << ")");                                      \
      const double got = pb_##name##_f64(x, y), cpu = CallMath(*FindMath(#name), x, y); \
      INFO(got << ", on the CPU " << cpu);                                              \
      CHECK(same(got, cpu));                                                            \
    }
  // clang-format off
  PB_CORNERS2(pow)
  PB_CORNERS2(atan2)
  PB_CORNERS2(hypot)
  PB_CORNERS2(rem)
  // clang-format on
}

TEST_CASE("Device math: remainders are exact") {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(-1070, 1000);
  for (int i = 0; i < 20000; ++i) {
    const double x = std::exp2(exponent(random)), y = -std::exp2(exponent(random));
    CHECK(pb_rem_f64(x, y) == std::fmod(x, y));
  }
}

}  // namespace
}  // namespace pullback::jit
