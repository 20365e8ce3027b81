// Statements behind a loop whose turns take rows, of the same rows: made by the loop's blocks.
#include <catch2/catch.hpp>
#include <optional>

#include "core/eval/interpreter.h"
#include "core/ir/ir.h"
#include "tests/core/pipeline/turn_programs.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {
namespace {

void Behind(const std::string& loop, const std::string& statement, std::optional<int> whole = 0) {
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

TEST_CASE("row asides: sums of sets of rows") {
  for (const std::string& loop :
       {"< n { a = sin(a + sum(c[i])) }", "in 1..n { a = sin(a + c[i, 0] * c[i - 1, 1]) }"}) {
    Behind(loop, "sum b < n / 2 { norm2(sum j < 2 { c[2 * b + j] }) }");
    Behind(loop, "sum b < n / 4 { log(1.0 + norm2(sum j < 4 { f64(j) * c[4 * b + j] })) }");
    Behind(loop, "sum b < n / 3 { norm2(max j < 3 { c[3 * b + j] }) }");
    Behind(loop, "sum b < n / 3, l < s { (max j < 3 { c[3 * b + j, l] }) ** 2 }");
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
  Behind("< n { a = sin(a + c[i, 1]) }", "sum i < n { c[i, i % s] }");
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

// Turns and what stands behind them: a run ends where one of them does, which of them is not said (docs/language.md).
TEST_CASE("row asides: turns and statements that may end the run") {
  const ir::Module ssa = LowerText(
      "fn f(x: [n, d]f64, w: [d, s]f64, y: [n]i64, k: i64) -> f64 {\n"
      "  let e = tanh.(x @ w)\n  let c = gen i < n { softmax(e[i]) }\n  var a = 0.0\n"
      "  for i < n { a = sin(a + c[i, y[i]]) }\n  return a + sum i < n { c[i, y[i] + k] }\n}\n",
      "f");
  const ir::Module value = Derived(ssa, pipeline::Transform::kValue);
  CHECK(CountWhole(value) == 0);
  int ended = 0;
  for (const int64_t n : {0, 1, 17, 40}) {
    for (const int64_t bad : {-1, 0, 16, 39}) {
      for (const int64_t more : {0, 1, -1}) {
        std::vector<int64_t> places(static_cast<size_t>(n), 1);
        if (bad >= 0 && bad < n) places[static_cast<size_t>(bad)] = 2 + more;
        const std::vector<Tensor> args = {Waves(n, 2, 0.5), Waves(2, 3, 1.5),
                                          Tensor::Of(DType::kI64, {n}, places), Tensor::I64(more)};
        const auto got = eval::Run(value, args), want = eval::Run(ssa, args);
        REQUIRE(got.ok());
        REQUIRE(want.ok());
        REQUIRE(got->trap.has_value() == want->trap.has_value());
        ended += want->trap.has_value() ? 1 : 0;
        if (!want->trap) CheckSameOptimised(ssa, pipeline::Transform::kValueAndGrad, args);
      }
    }
  }
  CHECK(ended > 0);
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

TEST_CASE("row asides: extrema of columns") {
  for (const std::string& loop :
       {"< n { a = sin(a + sum(c[i])) }", "in 2..n { a = sin(a + dot(c[i], c[i - 2])) }",
        "< n - 1 { a = sin(a + dot(c[i], c[i + 1])) }"}) {
    Behind(loop, "norm2(gen l < s { max i < n { c[i, l] } })");
    Behind(loop, "sum l < s { (min i < n { c[i, l] * x[i, 0] }) * (max i < n { e[i, l] }) }");
    Behind(loop, "sum l < s { max i < n, p < d { c[i, l] * x[i, p] } }");
    Behind(loop, "norm2(gen l < s { sum i in 1..n { c[i, l] * c[i - 1, l] } })");
  }
}

// The first of equals, of infinite ones, and the first NaN has the derivative, whichever block it is in; of nothing, none.
TEST_CASE("row asides: extrema of columns that are equal") {
  const std::string head =
      "fn f(x: [n, d]f64, w: [d, s]f64, u: [s, s]f64, y: [n]i64) -> f64 {\n"
      "  let e = x @ w\n  let c = gen i < n, l < s { ";
  for (const std::string loop : {"< n { a = sin(a + sum(e[i]) + c[i, 0] * 0.0) }",
                                 "in 1..n { a = sin(a + sum(e[i]) + e[i - 1, 0]) }",
                                 "in 2..n { a = sin(a + sum(e[i]) + e[i - 1, 0]) }"}) {
    for (const std::string element :
         {"floor(e[i, l])", "round(3.0 * e[i, l]) + 0.0 * e[i, l]", "(e[i, l] - 1.0) / 0.0",
          "if i < 20 { -1.0 / (e[i, l] * 0.0) } else { e[i, l] }",
          "if i == 18 { sqrt(-1.0 - e[i, l] ** 2) } else { e[i, l] }",
          "if i == 3 or i == 19 { sqrt(-1.0 - e[i, l] ** 2) } else { e[i, l] }"}) {
      for (const std::string extremum : {"max", "min"}) {
        const std::string text = head + element + " }\n  var a = 0.0\n  for i " + loop +
                                 "\n  return a + sum l < s { (" + extremum +
                                 " i < n { c[i, l] }) + " + extremum +
                                 " i < n / 3 { c[3 * i, l] + c[3 * i + 1, l] } }\n}\n";
        INFO(text);
        const ir::Module ssa = LowerText(text, "f");
        for (int64_t n : {0, 1, 3, 17, 40}) {
          INFO(n);
          const std::vector<Tensor> args = testing::Arguments(n, 2, 3);
          CheckSameOptimised(ssa, pipeline::Transform::kValue, args);
          CheckSameOptimised(ssa, pipeline::Transform::kValueAndGrad, args);
        }
      }
    }
  }
}

TEST_CASE("row asides: rows of a few") {
  for (const std::string& loop :
       {"< n { a = sin(a + sum(c[i])) }", "in 1..n { a = sin(a + dot(c[i], c[i - 1])) }",
        "in 2..n { a = sin(a + dot(c[i], c[i - 2])) }",
        "in 3..n { a = sin(a + dot(c[i], c[i - 3])) }"}) {
    Behind(loop, "sum i < n / 2 { dot(c[2 * i], c[2 * i + 1]) ** 2 }");
    Behind(loop,
           "sum i < n / 3 { dot(c[3 * i], c[3 * i + 2]) ** 2 } + norm2(gen l < s { sum i < "
           "n / 2 { c[2 * i, l] } })");
    Behind(loop,
           "sum i < n / 4 { dot(c[4 * i + 1], c[4 * i + 2]) ** 2 } + sum i < n / 2 { "
           "norm2(c[2 * i + 1]) ** 2 }");
  }
  Behind("< n { a = sin(a + sum(c[i])) }", "sum i < (n + 1) / 2 { norm2(c[2 * i]) ** 2 }");
  // Of a loop over half of them, a row of four.
  CheckProgram(
      "  let c = tanh.(x @ w)\n  var a = 0.0\n"
      "  for i < n / 2 { a = sin(a + dot(c[2 * i], c[2 * i + 1])) }\n"
      "  let m = gen i < n / 4 { norm2(c[4 * i]) }\n  return a + norm2(m) + sum(u)\n",
      0, {1, 3, 4, 16, 17, 33, 66});
}

// What is larger and behind the loop, too, and what is made of rows of others behind it.
TEST_CASE("row asides: arrays that such statements read") {
  for (const std::string& loop :
       {"< n { a = sin(a + sum(c[i])) }", "in 1..n { a = sin(a + dot(c[i], c[i - 1])) }"}) {
    const auto behind = [&](const std::string& lines, const std::string& statement) {
      CheckProgram("  let e = tanh.(x @ w)\n  let c = gen i < n { softmax(e[i]) }\n" + lines +
                       "  var a = 0.0\n  for i " + loop + "\n  return a + " + statement +
                       " + sum(u)\n",
                   0, {1, 2, 3, 15, 16, 17, 33});
    };
    behind("  let q = exp.(c)\n", "sum i < n { norm2(q[i]) / (1.0 + dot(q[i], c[i])) }");
    behind("  let m = gen i < n { max l < s { c[i, l] } }\n",
           "sum i < n { m[i] + log(sum l < s { exp(c[i, l] - m[i]) }) }");
    behind("  let q = gen i < n / 2, l < s { c[2 * i, l] - c[2 * i + 1, l] }\n",
           "sum i < n / 2 { norm2(q[i]) }");
  }
}

// Rows of what a statement behind the loop makes, at the rows that another one needs of it; a last row of a few that the loop's turns do
// not get to.
TEST_CASE("row asides: which rows") {
  for (const std::string start : {"0", "1", "2", "3", "4"}) {
    const std::string loop = "in " + start + "..n { a = sin(a + sum(c[max(0, i - 1)])) }";
    Behind(loop, "sum i < n { dot(c[i] / norm2(c[i]), e[i]) }", {});
    Behind(loop, "sum i < n / 2 { dot(c[2 * i + 1], e[2 * i + 1]) ** 2 }", {});
    Behind(loop, "sum i < (n + 1) / 2 { norm2(c[2 * i]) ** 2 }", {});
    Behind(loop, "sum i < (n - 1) / 2 { norm2(c[2 * i] / sqrt(1.0 + norm2(e[2 * i]))) }", {});
    Behind(loop, "sum i < (n + 3) / 4 { sum(c[4 * i]) ** 2 }", {});
    const std::string rows = "  let e = tanh.(x @ w)\n  var a = 0.0\n  for i in " + start +
                             "..n { a = sin(a + sum(e[i])) }\n"
                             "  let m = gen i < n { max l < s { e[i, l] } }\n"
                             "  let q = gen i < n, l < s { exp(e[i, l] - m[i]) }\n";
    for (const std::string of :
         {"sum i < n { dot(q[i], e[i]) }", "sum i < n - 1 { dot(q[i + 1], q[i]) }",
          "sum i < n { q[i, 0] * m[i] }", "sum i < n / 2 { norm2(q[2 * i]) }"})
      CheckProgram(rows + "  return a + sum(u) + " + of + "\n", {}, {1, 2, 3, 15, 16, 17, 18, 33});
  }
}

// Rows that there may be fewer than none of, where no run, or not every run, asks for them.
TEST_CASE("row asides: negative numbers of rows") {
  for (const std::string text :
       {"for i in 1..n - 3 { a = sin(a + sum(e[i])) }\n  return a + sum i < max(n - 3, 0) { "
        "dot(e[i], e[i + 3]) } + sum(gen l < s { max i < max(n - 3, 0) { e[i, l] * e[i + 3, l] } "
        "})",
        "for i < n { a = sin(a + sum(e[i])) }\n  if k > 0 { return a + sum i < n - 3 { dot(e[i], "
        "e[i + 3]) } }\n  return a",
        "for i < n { a = sin(a + sum(e[i])) }\n  if k > 0 { return a }\n  let c = gen i < (n - 5) "
        "/ 2 { "
        "norm2(e[2 * i]) }\n  return a + sum(c)",
        "for i in 1..n - 2 { a = sin(a + sum(e[i])) }\n  if k > 0 { return a }\n  let c = gen l < "
        "s { "
        "sum i < n - 2 { e[i, l] } }\n  return a + sum(c)"}) {
    const ir::Module ssa = LowerText(
        "fn f(x: [n, d]f64, w: [d, s]f64, k: i64) -> f64 {\n  let e = tanh.(x @ w)\n  var a = "
        "0.0\n  " +
            text + "\n}\n",
        "f");
    INFO(text);
    const ir::Module value = Derived(ssa, pipeline::Transform::kValue);
    for (const int64_t n : {0, 1, 2, 3, 4, 5, 6, 7, 17, 33}) {
      for (const int64_t k : {0, 1}) {
        INFO(n << ", " << k);
        const std::vector<Tensor> args = {Waves(n, 2, 0.5), Waves(2, 3, 1.5), Tensor::I64(k)};
        if (CheckSameTrap(value, ssa, args)) continue;
        CheckSameOptimised(ssa, pipeline::Transform::kValueAndGrad, args);
      }
    }
  }
}

// As many rows apart as no array has.
TEST_CASE("row asides: rows that are far apart") {
  for (const std::string far :
       {"300", "1099511627776", "4611686018427387904", "9223372036854775807"}) {
    const ir::Module ssa = LowerText(
        "fn f(x: [n, d]f64, w: [d, s]f64) -> f64 {\n  let e = tanh.(x @ w)\n  var a = 0.0\n"
        "  for i < n { a = sin(a + sum(e[i])) }\n  return a + sum i < (n + 1) / 2 { norm2(e[" +
            far + " * i]) }\n}\n",
        "f");
    INFO(far);
    const ir::Module value = Derived(ssa, pipeline::Transform::kValue);
    for (const int64_t n : {0, 1, 2, 3, 40}) {
      INFO(n);
      const std::vector<Tensor> args = {Waves(n, 2, 0.5), Waves(2, 3, 1.5)};
      CHECK(CheckSameTrap(value, ssa, args) == (n > 2));
      if (n <= 2) CheckSameOptimised(ssa, pipeline::Transform::kValueAndGrad, args);
    }
  }
}

TEST_CASE("row asides: rows that an equation picks") {
  const std::string loop = "< n { a = sin(a + sum(c[i])) }";
  Behind(loop, "sum i < n, j < n { [i == j + 1] * dot(c[i], c[j]) ** 2 }");
  Behind(loop, "norm2(gen l < s { sum i < n, j < n { [i == j + 1] * c[i, l] * e[j, l] } })");
  Behind(loop, "sum i < n, j < n, l < s { [i == j + 2] * c[i, l] * c[j, l] }");
}

TEST_CASE("row asides: what stays") {
  const std::string loop = "< n { a = sin(a + sum(c[i])) }";
  // All rows at once, rows far from each other, what is needed behind a total of all.
  Behind(loop, "sum i < n, j < n { dot(c[i], c[j]) }", 5);
  Behind(loop, "sum i < n { dot(c[i], c[n - 1 - i]) }", 4);
  Behind(loop, "sum l < s { let m = max i < n { c[i, l] }; log(sum i < n { exp(c[i, l] - m) }) }",
         4);
  Behind("< n { a = sin(a + sum(c[i]))\n if a > 0.9 { break } }", "sum i < n { norm2(c[i]) }", 4);
  // The last row of a few behind a loop that starts at an odd one may be its own.
  Behind("in 1..n { a = sin(a + dot(c[i], c[i - 1])) }",
         "sum i < (n + 1) / 2 { norm2(c[2 * i]) ** 2 }", 4);
  // In front of the loop, which needs it.
  CheckProgram(
      "  let e = tanh.(x @ w)\n  let t = sum i < n { norm2(e[i]) }\n  var a = 0.0\n"
      "  for i < n { a = sin(a + t * sum(e[i])) }\n  return a + sum(u)\n",
      2, {1, 3, 16, 17});
}

}  // namespace
}  // namespace pullback::testing
