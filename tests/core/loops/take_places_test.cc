// Arrays that are made elementwise of one that ends there, in its place.
#include <catch2/catch.hpp>

#include "tests/core/loops/rows.h"
#include "tests/support/derivatives.h"

namespace pullback::loops {
namespace {

constexpr int64_t kN = 6, kM = 5, kD = 3;

// A product that is needed whole before `body` gives the result: m holds its columns' totals.
ir::Module Program(const std::string& body) {
  return testing::Derived(
      testing::LowerText("fn f(x: [n, d]f64, w: [d, m]f64) -> [n, m]f64 { let z = x @ w\n let c = "
                         "gen j < m { sum i < n { tanh(z[i, j]) } }\n " +
                             body + " }",
                         "f"),
      pipeline::Transform::kValue);
}

// Arrays as large as the product that are made.
int64_t Products(const std::string& body) {
  const ir::Module module = Program(body);
  const auto args = [](int64_t n) { return std::vector<Tensor>{Ramp({n, kD}), Ramp({kD, kM})}; };
  for (const int64_t n : {0, 1, 5, 7}) RunBoth(module, args(n));
  return ElementsMade(module, args(kN), kRows) / (kN * kM);
}

TEST_CASE("places: what is elementwise takes that of an operand that ends") {
  CHECK(Products("return gen i < n, j < m { (z[i, j] - c[j]) * z[i, j] }") == 1);
  // Two after each other, since a total comes between.
  CHECK(Products("let y = gen i < n, j < m { z[i, j] - c[j] }\n let s = gen j < m { sum i < n { "
                 "sin(y[i, j]) } }\n return gen i < n, j < m { y[i, j] / s[j] }") == 1);
  // Of the row others are read before any is stored.
  CHECK(Products("return gen i < n, j < m { z[i, j] * c[j] / sum k < m { z[i, k] * c[k] } }") == 1);
  // Under conditions.
  CHECK(Products("return gen i < n, j < m { if x[i, 0] > 0.0 { z[i, j] } else { c[j] } }") == 1);
}

TEST_CASE("places: nothing is overwritten that is read later") {
  CHECK(Products("return gen i < n, j < m { z[i, m - 1 - j] - c[j] }") == 2);
  CHECK(Products("return gen i < n, j < m { z[n - 1 - i, j] - c[j] }") == 2);
  CHECK(Products("return gen i < n, j < m { z[i, j] - c[j] * z[i, 0] }") == 2);
  CHECK(Products("return gen i < n, j < m { z[i, j] - c[j] * z[0, j] }") == 2);
  CHECK(Products("return gen i < n, j < m { sum k < m { z[i, k] * cos(c[j] * z[i, k]) } }") == 2);
  CHECK(Products("let y = gen i < n, j < m { z[i, j] - c[j] }\n let s = gen j < m { sum i < n { "
                 "sin(y[i, j]) } }\n return gen i < n, j < m { y[i, j] * z[i, j] * s[j] }") == 2);
}

TEST_CASE("places: gradients of what is centred and scaled hold one product") {
  const ir::Module ssa = testing::LowerText(
      "fn f(x: [n, d]f64, w: [d, m]f64) -> f64 { let z = x @ w\n let c = gen i < n, j < m { z[i, "
      "j] "
      "- (sum k < n { z[k, j] }) / f64(n) }\n let g = c.T @ c\n return sum(g * g) }",
      "f");
  const auto args = [](int64_t n) { return std::vector<Tensor>{Ramp({n, kD}), Ramp({kD, kM})}; };
  testing::CheckDerivatives(ssa, args(4));
  const ir::Module gradient = testing::Derived(ssa, pipeline::Transform::kValueAndGrad);
  for (const int64_t n : {0, 1, 5, 17}) RunBoth(gradient, args(n));
  constexpr int64_t kLong = 200;
  const int64_t results = kLong * kD,
                products = ElementsMade(gradient, args(kLong), kRows) - results;
  CHECK(products / (kLong * kM) <= 2);
}

// A condition and an integer of one number, or constants of one payload, are not the same.
TEST_CASE("places: extents that only look alike are not the same") {
  for (const std::string first : {"bool(x) == true", "bool(x) == bool(y)"}) {
    const std::string second = first == "bool(x) == true" ? "i64(x) == 1" : "i64(x) == i64(y)";
    INFO(first);
    const ir::Module value = testing::Derived(
        testing::LowerText(
            "fn f(x: f64, y: f64, n: i64, m: i64, v: [l]f64) -> f64 { let n1 = if " + first +
                " { n } else { m }\n let n2 = if " + second +
                " { n } else { m }\n let a = gen i < n1 { sin(f64(i)) + v[0] }\n let "
                "t = sum(a)\n let b = gen i < n2 { if i < n1 { a[i] * t } else { 1.0 } "
                "}\n let u = sum(b)\n return sum i < n2 { tanh(b[i] / u) } }",
            "f"),
        pipeline::Transform::kValue);
    for (const auto& [n, m] : {std::pair<int64_t, int64_t>{3, 40}, {40, 3}})
      RunBoth(value, {Tensor::F64(5), Tensor::F64(7), Tensor::I64(n), Tensor::I64(m), Ramp({1})});
  }
}

}  // namespace
}  // namespace pullback::loops
