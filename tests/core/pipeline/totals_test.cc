// Gradients of functions of totals, which the optimiser multiplies at the end, and control flow around them.
#include <catch2/catch.hpp>

#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

constexpr const char* kDist =
    "fn dist(a: [n]f64, b: [n]f64) -> f64 { return sum i < n { (a[i] - b[i]) ** 2.0 } }\n";

Tensor Vector(const std::vector<double>& v) {
  return Tensor::Of(DType::kF64, {static_cast<int64_t>(v.size())}, v);
}

// The value and its gradient.
void CheckSame(const std::string& text, const std::vector<Tensor>& args) {
  INFO(text);
  CheckSameOptimised(LowerText(kDist + text, "f"), Transform::kValueAndGrad, args);
}

}  // namespace

TEST_CASE("totals: several functions of several totals") {
  const Tensor x = Waves(3, 2, 0.5), y = Waves(4, 2, 1.5), p = Vector({0.3, -0.2, 0.6});
  CheckSame(
      "fn f(x: [n, d]f64, y: [m, d]f64, p: [n]f64) -> f64 {\n"
      "  let t2 = sum i < n, j < m { exp(-p[i]) }\n"
      "  let t3 = sum i < n, j < m { exp(-dist(x[i], y[j])) }\n"
      "  return log(t3) + log(t2) + sqrt(t3 * t2) }",
      {x, y, p});
  CheckSame(
      "fn f(x: [n, d]f64, y: [m, d]f64, p: [n]f64) -> f64 {\n"
      "  let t = sum i < n, j < m { p[i] * exp(-dist(x[i], y[j])) }\n"
      "  if t > 0.5 { return log(t) + sum(p) }\n  return t * t }",
      {x, y, p});
}

TEST_CASE("totals: what no term reaches stays 0, and products of the program keep NaN") {
  const Tensor x = Tensor::Of(DType::kF64, {1, 1}, std::vector<double>{-1.0}),
               y = Tensor::Of(DType::kF64, {2, 1}, std::vector<double>{1.0, 2.0});
  CheckSame(
      "fn f(x: [n, d]f64, y: [m, d]f64) -> f64 {\n"
      "  return log(sum i < n, j < m { let u = dot(x[i], y[j])\n"
      "    if u > 0.0 { exp(u) } else { 0.0 } }) }",
      {x, y});
  const double inf = std::numeric_limits<double>::infinity();
  for (const char* number : {"floor(0.01 * sum(e))", "1.0 / floor(0.01 * sum(e))"}) {
    for (const double w : {inf, 3.0}) {
      CheckSame(std::string("fn f(x: [n, d]f64, y: [m, d]f64, w: [n]f64) -> f64 {\n"
                            "  let e = gen i < n, j < m { exp(-dist(x[i], y[j])) }\n  let s = ") +
                    number + "\n  return sum i < n, j < m { e[i, j] * s * w[i] } }",
                {Waves(3, 2, 0.5), Waves(4, 2, 1.5), Vector({w, -1.0, 0.5})});
    }
  }
}

TEST_CASE("totals: what is needed behind a loop is not evaluated in it") {
  const std::vector<Tensor> args = {Waves(3, 2, 0.5), Waves(2, 2, 1.5),
                                    Tensor::Of(DType::kI64, {3}, std::vector<int64_t>{-2, -1, 0}),
                                    Vector({1.0, 2.0, 3.0}),
                                    Tensor::Of(DType::kI64, {}, std::vector<int64_t>{1})};
  CheckSame(
      "fn f(x: [n, d]f64, y: [m, d]f64, g: [n]i64, w: [n]f64, c: i64) -> f64 {\n"
      "  var q = 0\n  var r = 0.0\n  while true {\n"
      "    let e = gen i < n, j < m { exp(-dist(x[i], y[j])) * f64(q + 1) }\n"
      "    let t = sum i < n, j < m { e[i, j] }\n    if t > 14.0 {\n      var s = t\n"
      "      if c > 0 { s = log(t) }\n"
      "      r = sum i < n, j < m { e[i, j] * s * w[g[i] + q] }\n      break\n    }\n"
      "    q += 1\n  }\n  return r }",
      args);
}

}  // namespace pullback::testing
