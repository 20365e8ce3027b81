// Pairs of rows near each other: as unoptimised, and what one of them gives is made once, however many are near.
#include <catch2/catch.hpp>
#include <string>

#include "core/eval/interpreter.h"
#include "core/ir/ir.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

std::vector<Tensor> BandArgs(int64_t n) {
  return {Waves(n, 2, 0.5), Waves(2, 4, 1.5), Waves(4, 4, 0.25)};
}

ir::Module Band(const std::string& sum) {
  return LowerText(
      "fn f(x: [n, d]f64, w: [d, h]f64, u: [h, h]f64) -> f64 {\n  let z = tanh.(x @ w)\n  return " +
          sum + "\n}\n",
      "f");
}

double Ops(const ir::Module& module, int64_t n) {
  const auto run = eval::Run(module, BandArgs(n));
  REQUIRE(run.ok());
  REQUIRE_FALSE(run->trap);
  return static_cast<double>(run->cost.ops);
}

const char* const kNear[] = {
    "sum i < n, j < n { [abs(i - j) <= 2] * dot(z[i] @ u, z[j]) }",
    "sum i < n, j < n { if abs(j - i) < 2 { exp(dot(tanh.(z[i] @ u), z[j])) } else { 0.0 } }",
    "sum i < n, q < 4 { [i + q >= 1 and i + q - 1 < n] * dot(z[i] @ u, z[i + q - 1]) }",
    "sum i < n, q < 3 { if i >= q { dot(tanh.(z[i] @ u), z[i - q]) } else { 0.0 } }",
    "sum i < n, j < 3 { prod l in j..3, k < h { z[i, k] + 1.0 } }",
    "sum i < n, j < 3 { max l in j..3 { logsumexp(z[i] @ u) } }",
    "sum i < n { norm2(sum j < n { [max(i - j, j - i) <= 1] * (z[i] @ u) * z[j] }) }",
    "sum i < n { sum j in max(0, i - 2)..min(n, i + 3) { dot(z[i] @ u, z[j]) } }",
    "sum i < n { let lo = max(0, i - 1); norm2(sum j in lo..i { z[i] * z[j] } + 0.5) }",
    "sum i < n { max j in i..min(n, i + 2) { exp(dot(z[i], z[j])) } }",
    "sum i < n, j < n { [abs(i - j) == 1] * dot(z[i], z[j]) }",
    "sum i < n, j < n { [i - j == 1 or j == i + 2 or i == j] * dot(z[i] @ u, z[j]) }",
    "sum i < n, j < n { if not (abs(i - j) > 1) { exp(dot(z[i], z[j])) } else { 0.0 } }",
    "sum i < n, j < n { [max(i, j) == min(i, j) + 1] * dot(z[i], z[j]) }",
    "sum i < n, j < n { [i == j + 1 and z[i, 0] > 0.0 or i == j] * dot(z[i], z[j]) }",
    "sum i < n, j < n, k < h, l < h { [abs(i - j) + abs(k - l) == 1] * z[i, k] * z[j, l] }",
    "sum i < n { norm2(sum j < n { [abs(i - j) == 1 or i == 0 and j == 0] * z[j] }) }",
};

}  // namespace

TEST_CASE("bands: pairs near each other") {
  for (const char* sum : kNear) {
    INFO(sum);
    const ir::Module ssa = Band(sum);
    for (const int64_t n : {0, 1, 2, 3, 9}) {
      CheckSameOptimised(ssa, Transform::kValue, BandArgs(n));
      CheckSameOptimised(ssa, Transform::kValueAndGrad, BandArgs(n));
    }
    CheckDerivatives(ssa, BandArgs(4));
  }
}

TEST_CASE("bands: as many operations for a row more, wherever it is") {
  for (const char* sum : kNear) {
    INFO(sum);
    for (const Transform transform : {Transform::kValue, Transform::kValueAndGrad}) {
      const ir::Module module = Derived(Band(sum), transform);
      const double first = Ops(module, 40) - Ops(module, 20),
                   second = Ops(module, 80) - Ops(module, 40);
      CHECK(second == Approx(2 * first).epsilon(0.01));
    }
  }
}

// A row times the matrix takes 4 x 4 products and sums; each pair, 4.
TEST_CASE("bands: what one row gives is made once for all that are near") {
  const auto by_row = [](const std::string& sum) {
    const ir::Module module = Derived(Band(sum), Transform::kValue);
    return (Ops(module, 80) - Ops(module, 40)) / 40;
  };
  const std::string three = "sum i < n, q < 3 { [i >= q] * dot(z[i] @ u, z[i - q]) }",
                    six = "sum i < n, q < 6 { [i >= q] * dot(z[i] @ u, z[i - q]) }";
  CHECK(by_row(six) - by_row(three) < 3 * 16);
}

}  // namespace pullback::testing
