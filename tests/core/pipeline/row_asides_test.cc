// Statements behind a loop whose turns take rows, of the same rows: made by the loop's blocks.
#include <catch2/catch.hpp>

#include "core/ir/ir.h"
#include "tests/core/pipeline/turn_programs.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {
namespace {

void Behind(const std::string& loop, const std::string& statement, int whole = 0) {
  CheckProgram(
      "  let e = tanh.(x @ w)\n  let c = gen i < n { softmax(e[i]) }\n  var a = 0.0\n  for i " +
          loop + "\n  return a + " + statement + " + sum(u)\n",
      whole, {1, 2, 3, 15, 16, 17, 18, 33});
}

TEST_CASE("row asides: totals of the rows that turns take") {
  for (const std::string& loop :
       {"< n { a = sin(a + sum(c[i])) }", "in 1..n { a = sin(a + c[i, 0] * c[i - 1, 1]) }",
        "in 2..n { a = sin(a + dot(c[i], c[i - 2])) }",
        "< n { a += dot(c[i], c[max(0, i - 1)]) ** 2 }"}) {
    Behind(loop, "sum i < n { norm2(c[i]) }");
    Behind(loop, "sum i < n { dot(c[i], e[i]) * x[i, 0] }");
    Behind(loop,
           "sum i < n { dot(c[i], c[max(0, i - 1)]) } + sum i < n { log(1.0 + e[i, 0] ** 2) }");
    Behind(loop, "sum i < n { let m = max l < s { c[i, l] }; m * m }");
  }
}

// A total that may end the run, where the turns cannot.
TEST_CASE("row asides: columns that may not be there") {
  for (const std::string& loop :
       {"< n { a = sin(a + sum(c[i])) }", "in 1..n { a = sin(a + dot(c[i], c[i - 1])) }",
        "< n { a += dot(c[i], c[max(0, i - 1)]) ** 2 }"}) {
    Behind(loop, "(max i < n { c[i, i % s] })");
    Behind(loop, "sum i < n { c[i, 1] * e[i, 0] }");
    Behind(loop, "sum i < n { c[i, max(0, y[i])] }");
  }
  // They may, too.
  Behind("< n { a = sin(a + c[i, 1]) }", "sum i < n { c[i, i % s] }", 4);
  const auto traps = [](const std::string& statement) {
    const std::string text =
        "fn f(x: [n, d]f64, w: [d, s]f64, u: [s, s]f64, y: [n]i64) -> f64 {\n"
        "  let e = tanh.(x @ w)\n  let c = gen i < n { softmax(e[i]) }\n  var a = 0.0\n"
        "  for i < n { a = sin(a + sum(c[i])) }\n  return a + " +
        statement + "\n}\n";
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    const ir::Module value = Derived(ssa, pipeline::Transform::kValue);
    const ir::Module plain = Derived(ssa, pipeline::Transform::kValue, {}, false);
    int count = 0;
    for (int64_t n : {0, 1, 17, 33}) {
      for (int64_t s : {0, 1, 3})
        count += CheckSameTrap(value, plain, testing::Arguments(n, 2, s)) ? 1 : 0;
    }
    CHECK(count > 0);
  };
  traps("sum i < n { c[i, y[i]] }");
  traps("sum i < n { c[i, 1] } + sum i < n { c[i, y[i]] }");
  traps("sum i < n { norm2(c[i]) } + sum i < n { c[i, 2] }");
  traps("sum i < n - 2 { sum(c[i]) }");  // a negative size
}

TEST_CASE("row asides: sums of columns") {
  for (const std::string& loop :
       {"< n { a = sin(a + sum(c[i])) }", "in 2..n { a = sin(a + dot(c[i], c[i - 2])) }",
        "< n - 1 { a = sin(a + dot(c[i], c[i + 1])) }",
        "< n { a += dot(c[i], c[max(0, i - 1)]) ** 2 }"}) {
    Behind(loop, "norm2(gen l < s { sum i < n { c[i, l] } })");
    Behind(loop, "sum(gen l < s { sum i < n { 0.5 * c[i, 0] + e[i, l] } })");
    Behind(loop, "sum l < s, p < d { (sum i < n { c[i, l] * x[i, p] }) ** 2 }");
    Behind(loop, "sum i in 1..n { norm2(c[i] - c[i - 1]) }");
  }
}

// Of no terms, and of such as give 0: that is no -0.
TEST_CASE("row asides: sums of columns that are 0") {
  for (const std::string term : {"e[i, l]", "[i > 40] * e[i, l]", "e[i, l] * 0.0"}) {
    const ir::Module ssa = LowerText(
        "fn f(x: [n, d]f64, w: [d, s]f64, u: [s, s]f64, y: [n]i64) -> f64 {\n"
        "  let e = x @ w\n  var a = 0.0\n  for i < n { a = sin(a + sum(e[i])) }\n"
        "  let c = gen l < s { sum i < n { " +
            term + " } }\n  return a + 1.0 / c[0]\n}\n",
        "f");
    for (int64_t n : {0, 1, 17})
      CheckSameOptimised(ssa, pipeline::Transform::kValue, testing::Arguments(n, 2, 3));
  }
}

TEST_CASE("row asides: of more rows than there are turns") {
  for (const std::string& loop :
       {"< n - 1 { a = sin(a + sum(c[i])) }", "< n - 2 { a = sin(a + dot(c[i], c[i + 2])) }",
        "in 1..n - 1 { a = sin(a + dot(c[i - 1], c[i + 1])) }"}) {
    Behind(loop, "sum i < n { norm2(c[i]) }");
    Behind(loop, "sum i < n { dot(c[i], c[max(0, i - 1)]) }");
  }
}

TEST_CASE("row asides: statements in front of a loop that does not need them") {
  for (const std::string& loop :
       {"< n { a = sin(a + sum(e[i])) }", "in 1..n { a = sin(a + dot(e[i], e[i - 1])) }"}) {
    CheckProgram(
        "  let e = tanh.(x @ w)\n  let t = sum i < n { norm2(e[i]) }\n  var a = 0.0\n"
        "  for i " +
            loop + "\n  return a * t + sum(u)\n",
        0, {1, 3, 16, 17});
  }
}

TEST_CASE("row asides: what stays") {
  const std::string loop = "< n { a = sin(a + sum(c[i])) }";
  // All rows at once, rows far from each other, the greatest of columns.
  Behind(loop, "sum i < n, j < n { dot(c[i], c[j]) }", 5);
  Behind(loop, "sum i < n { dot(c[i], c[n - 1 - i]) }", 4);
  Behind(loop, "norm2(gen l < s { max i < n { c[i, l] } })", 4);
  Behind(loop, "norm2(gen l < s { sum i in 1..n { c[i, l] } })", 4);  // so many, or none
  Behind("< n { a = sin(a + sum(c[i]))\n if a > 0.9 { break } }", "sum i < n { norm2(c[i]) }", 4);
  // In front of the loop, which needs it.
  CheckProgram(
      "  let e = tanh.(x @ w)\n  let t = sum i < n { norm2(e[i]) }\n  var a = 0.0\n"
      "  for i < n { a = sin(a + t * sum(e[i])) }\n  return a + sum(u)\n",
      2, {1, 3, 16, 17});
}

}  // namespace
}  // namespace pullback::testing
