// Loops that take rows of arrays of which statements, and blocks, take an element of each row, or of one.
#include <catch2/catch.hpp>

#include "core/ir/ir.h"
#include "tests/core/pipeline/turn_programs.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

const char* const kLoop = "  var a = u[0]\n  for i in 1..n { a = tanh.(0.5 * a + e[i]) }\n";

void Beside(const std::string& elements, int whole = 0, const std::string& layer = "tanh.(x @ w)") {
  CheckProgram("  let e = " + layer + "\n" + kLoop + "  return sum(a) + " + elements + "\n", whole,
               {1, 3, 15, 16, 17, 33});
}

TEST_CASE("elements alone: of each row, where data say") {
  Beside("sum i < n { e[i, max(0, y[i])] }");
  Beside("sum i in 1..n { e[i, max(0, y[i])] * e[i - 1, max(0, y[i])] }");
  Beside("sum i < n { log(2.0 + e[i, max(0, y[i])]) * x[i, 0] }", 0, "x @ w");
  Beside("sum i < n, j < 2 { e[i, j] * f64(j + 1) }");
  Beside("sum i < n { e[n - 1 - i, i % s] }");
  Beside("(max i < n { e[i, s - 1] })");
  Beside("sum i < n { e[i, max(0, y[i])] }", 0, "gen i < n, l < s { 0.1 * f64(y[i] - l) }");
  Beside("sum i < n { e[i, max(0, y[i])] }", 0, "gen i < n, l < s { softplus(x[i] @ w[:, l]) }");
  // A condition on places of data is none of an index: the loop's blocks make the total's rows (row_asides_test.cc).
  Beside("sum i < n { e[i, max(0, y[i])] }", 0,
         "gen i < n, l < s { sum k < d { [k <= l] * x[i, k] * w[k, l] } }");
  // So they do of all of a row, and under conditions.
  Beside("sum i < n, l < s { e[i, l] * e[i, max(0, y[i])] }");
  Beside("sum i < n { if i > 0 { e[i, max(0, y[i])] } else { 0.0 } }");
  // Rows where data say, as many elements as there are.
  Beside("sum i < n { e[max(0, y[i]) % n, 0] }", 2);
  Beside("sum i < n, j < n { e[i, 0] * e[j, max(0, y[i])] }", 2);
}

TEST_CASE("elements alone: of one row, in a block") {
  const std::string loop =
      "  for i in 1..n {\n    a = tanh.(0.5 * a + e[i])\n    b = b + e[i, max(0, y[i])]\n  }\n";
  for (const std::string& first : {"e[0, 1]", "e[0, max(0, y[0])]", "e[n - 1, 0] * e[0, 0]"}) {
    CheckProgram("  let e = tanh.(x @ w)\n  var a = u[0]\n  var b = " + first + "\n" + loop +
                     "  return sum(a) + b\n",
                 0, {1, 3, 16, 17, 33});
  }
  // Loops behind each other become one.
  CheckProgram(
      "  let e = tanh.(x @ w)\n  var a = e[0]\n"
      "  for i in 1..n { a = gen l < s { logsumexp(a + u[:, l]) + e[i, l] } }\n"
      "  var b = e[0, 1]\n"
      "  for i in 1..n { b = b + u[max(0, y[i]), 0] + e[i, max(0, y[i])] }\n"
      "  return logsumexp(a) - b\n",
      0, {1, 3, 16, 17, 33});
}

// Places that are none end the run, at the same place of the text.
TEST_CASE("elements alone: places out of range") {
  const auto both = [](const std::string& body) {
    const std::string text =
        "fn f(x: [n, d]f64, w: [d, s]f64, u: [s, s]f64, y: [n]i64) -> f64 {\n"
        "  let e = tanh.(x @ w)\n" +
        body + "}\n";
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    const ir::Module value = Derived(ssa, Transform::kValue);
    CHECK(CountWhole(value) == 0);
    const ir::Module plain = Derived(ssa, Transform::kValue, {}, false);
    int traps = 0;
    for (int64_t n : {0, 1, 2, 17}) {
      for (int64_t d : {0, 2}) {
        for (int64_t y : {0, 2, 3, -1}) {
          std::vector<Tensor> args = testing::Arguments(n, d, 3);
          args[3] = Tensor::Of(DType::kI64, {n}, std::vector<int64_t>(static_cast<size_t>(n), y));
          traps += CheckSameTrap(value, plain, args) ? 1 : 0;
        }
      }
    }
    CHECK(traps > 0);
  };
  both(std::string(kLoop) + "  return sum(a) + sum i < n { e[i, y[i]] }\n");
  both(std::string(kLoop) + "  return sum(a) + e[0, y[0]] + e[n - 1, 2]\n");
  both(std::string(kLoop) + "  return sum(a) + sum i in 1..n { e[i - 1, y[i] + 1] }\n");
}

}  // namespace
}  // namespace pullback::testing
