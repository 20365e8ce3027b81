// Derivatives of prod, max, min and scans: values at corners, both modes against differences, and
// second derivatives.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/ad/tangent.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

const char* const kProd = "fn f(x: [n]f64) -> f64 { return prod i < n { x[i] } }";
const char* const kMax = "fn f(x: [n]f64) -> f64 { return max i < n { x[i] } }";
const char* const kMin = "fn f(x: [n]f64) -> f64 { return min i < n { x[i] } }";

std::vector<double> GradientAt(const char* program, const std::vector<double>& x) {
  return Doubles(Gradients(LowerText(program, "f"), {Vec(x)})[0]);
}

// The function's tangent: (params…, tangents…) -> (results…, tangents…).
ir::Module Tangent(ir::Module m) {
  const std::vector<bool> all(m.Get(m.entry).params().size(), true);
  const StatusOr<uint32_t> jvp = ad::Tangents(m).Jvp(m.entry, all, 1);
  INFO(jvp.status().ToString());
  REQUIRE(jvp.ok());
  m.entry = *jvp;
  return m;
}

// Column k of the Hessian, reverse over forward.
std::vector<double> HessianColumn(const char* program, const std::vector<double>& x, size_t k) {
  std::vector<double> e(x.size());
  e[k] = 1;
  const ir::Module m =
      Derived(Tangent(LowerText(program, "f")), pipeline::Transform::kVjp, {true, false});
  return Doubles(RunOk(m, {Vec(x), Vec(e), Tensor::F64(0), Tensor::F64(1)})[2]);
}

TEST_CASE("products: zeros need no case of their own") {
  CHECK(GradientAt(kProd, {5, 0, 6}) == std::vector<double>{0, 30, 0});
  CHECK(GradientAt(kProd, {0, 0, 3}) == std::vector<double>{0, 0, 0});
  CHECK(GradientAt(kProd, {2, 3, 4}) == std::vector<double>{12, 8, 6});
  CHECK(GradientAt(kProd, {7}) == std::vector<double>{1});
  CHECK(GradientAt(kProd, {}).empty());
  CHECK(HessianColumn(kProd, {0, 0, 3}, 0) == std::vector<double>{0, 3, 0});
  CHECK(HessianColumn(kProd, {0, 0, 3}, 1) == std::vector<double>{3, 0, 0});
  CHECK(HessianColumn(kProd, {0, 0, 3}, 2) == std::vector<double>{0, 0, 0});
  CHECK(HessianColumn(kProd, {2, 3, 4}, 1) == std::vector<double>{4, 0, 2});
}

TEST_CASE("extrema: the first that attains it gets all") {
  CHECK(GradientAt(kMax, {1, 4, 4, 2}) == std::vector<double>{0, 1, 0, 0});
  CHECK(GradientAt(kMin, {3, 1, 2, 1}) == std::vector<double>{0, 1, 0, 0});
  CHECK(GradientAt(kMax, {2, 2, 2}) == std::vector<double>{1, 0, 0});
  CHECK(GradientAt(kMax, {-kInf, -kInf}) == std::vector<double>{1, 0});
  CHECK(GradientAt(kMax, {1, std::nan(""), 3, std::nan("")}) == std::vector<double>{0, 1, 0, 0});
  CHECK(GradientAt(kMin, {}).empty());
}

// Away from ties; rows, several indices, predicates, guards, a body that costs, f32.
const char* const kPrograms[] = {
    "fn f(a: [n, m]f64) -> [n]f64 { return gen i < n { prod j < m { a[i, j] * a[i, 0] } } }",
    "fn f(a: [n, m]f64) -> [n]f64 { return gen i < n { max j < m { sin(a[i, j]) } } }",
    "fn f(a: [n, m]f64) -> [m]f64 { return gen j < m { min i < n { exp(a[i, j]) * a[0, j] } } }",
    "fn f(a: [n, m]f64) -> f64 { return prod i < n, j < i { cos(a[i, j]) } }",
    "fn f(a: [n, m]f64) -> f64 { return max i < n, j < m { a[i, j] * a[j % 2, i % 2] } }",
    "fn f(a: [n, m]f64) -> f64 { return sum i < n { (prod j < m { a[i, j] }) * max(a[i, :]) } }",
    "fn f(a: [n, m]f64) -> f64 { return prod i < n, j < m { 1.0 + [a[i, j] > 0.3] * a[i, j] } }",
};

TEST_CASE("products and extrema: modes agree with each other and with differences") {
  const Tensor a = Mat(3, 4, {0.5, -1.2, 0.7, 1.9, 0.1, 2.2, -0.4, 0.9, 1.3, -0.8, 0.25, 0.6});
  for (const char* program : kPrograms) {
    INFO(program);
    const ir::Module m = LowerText(program, "f");
    CheckDerivatives(m, {a});
    CheckDerivatives(Tangent(m.Clone()),
                     {a, Mat(3, 4, {1, 2, -1, 0.5, 3, 1, -2, 1, 1, 1, 2, 0.3})});
  }
}

TEST_CASE("products and extrema in f32") {
  const char* const program =
      "fn f(x: [n]f32) -> f32 { return (prod i < n { x[i] }) + (max i < n { x[i] }) }";
  const Tensor x = Tensor::Of<float>(DType::kF32, {3}, {5, 0, 6});
  CHECK(Doubles(Gradients(LowerText(program, "f"), {x})[0]) == std::vector<double>{0, 30, 1});
}

TEST_CASE("scans: modes agree with each other and with differences, twice") {
  const ir::Module m = ParseIr(R"(
fn @f(%a: [*,*]f64, %x: [*]f64) -> ([*,*]f64, [*,*]f64, [*]f64) {
b0:
  %n = dim %a, 0
  %m = dim %a, 1
  %p, %s = each(i < %n, j < %m) where (%j <= 2*%i + 1) {
    %v = index %a[%i, %j]
    %g = gt %v, 0.0
  } scan_prod 1 [%i, %j] of (%n, %m): %v, scan_sum 0 [%i, %m - 1 - %j] of (%n, %m): %v if %g
  %k = dim %x, 0
  %l = each(i < %k) {
    %v = index %x[%i]
    %w = sin %v
  } scan_linear 0 [%i] of (%k): %v, %w
  ret %p, %s, %l
})");
  const Tensor a = Mat(3, 4, {0.5, -1.2, 0.7, 1.9, 0.1, 2.2, -0.4, 0.9, 1.3, -0.8, 0.25, 0.6});
  const Tensor v = Mat(3, 4, {1, 2, -1, 0.5, 3, 1, -2, 1, 1, 1, 2, 0.3});
  const Tensor x = Vec({0.3, 1.1, -0.7, 0.9, 2}), u = Vec({1, 0.5, 2, -1, 1});
  CheckDerivatives(m, {a, x});
  CheckDerivatives(Tangent(m.Clone()), {a, x, v, u});
}

TEST_CASE("scans of extrema: the first that attains it stays; -inf is nothing") {
  const char* const program =
      "fn f(x: [n]f64) -> f64 { let a = exscan max i < n { x[i] }\n let b = scan min i < n { x[i] "
      "}\n"
      " return sum i in 1..n { a[i] + 10.0 * b[i] } }";
  CHECK(GradientAt(program, {3, 3, 1, 3, 1}) == std::vector<double>{14, 0, 30, 0, 0});
  CHECK(GradientAt(program, {1, std::nan(""), 5, std::nan("")}) ==
        std::vector<double>{1, 32, 0, 0});
  CHECK(GradientAt("fn f(x: [n]f64) -> f64 { return (exscan max i < n { x[i] })[1] }",
                   {-kInf, 2}) == std::vector<double>{0, 0});
}

TEST_CASE("scans of extrema: modes agree with each other and with differences, twice") {
  const ir::Module m = ParseIr(R"(
fn @f(%a: [*,*]f64) -> ([*,*]f64, [*,*]f64) {
b0:
  %n = dim %a, 0
  %m = dim %a, 1
  %p, %s = each(i < %n, j < %m) where (%j <= 2*%i + 1) {
    %v = index %a[%i, %j]
    %w = sin %v
    %g = gt %v, 0.0
  } scan_max 1 [%i, %j] of (%n, %m): %w, scan_min 0 [%i, %m - 1 - %j] of (%n, %m): %v if %g
  %q = each(i < %n, j < %m) {
    %u = index %p[%i, %j]
    %z = gt %u, -2.0
  } gen [%i, %j] of (%n, %m): %u if %z
  %t = each(i < %n, j < %m) {
    %x = index %s[%i, %j]
    %z1 = lt %x, 100.0
  } gen [%i, %j] of (%n, %m): %x if %z1
  ret %q, %t
})");
  const Tensor a = Mat(3, 4, {0.5, -1.2, 0.7, 1.9, 0.1, 2.2, -0.4, 0.9, 1.3, -0.8, 0.25, 0.6});
  const Tensor v = Mat(3, 4, {1, 2, -1, 0.5, 3, 1, -2, 1, 1, 1, 2, 0.3});
  CheckDerivatives(m, {a});
  CheckDerivatives(Tangent(m.Clone()), {a, v});
}

}  // namespace
}  // namespace pullback::testing
