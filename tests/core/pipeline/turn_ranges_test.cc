// Loops that start or end at any integer, whose turns take rows of an array: a block of rows at a time, the same values, derivatives
// and errors as by the whole array.
#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/ir/ir.h"
#include "tests/core/pipeline/turn_programs.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

Tensor Integer(int64_t v) { return Tensor::Of(DType::kI64, {}, std::vector<int64_t>{v}); }

struct Ends {
  int64_t p, q;
};

// Of p and q; gives in how many runs a row was not there.
int CheckLoop(const std::string& loop, const std::vector<Ends>& ends,
              std::optional<int> whole = 0) {
  const std::string text =
      "fn f(x: [n, d]f64, w: [d, s]f64, p: i64, q: i64) -> f64 {\n  let e = tanh.(x @ w)\n"
      "  let c = gen i < n { softmax(e[i]) }\n  var a = 0.5\n  for i " +
      loop + "\n  return a\n}\n";
  INFO(text);
  const ir::Module ssa = LowerText(text, "f"), value = Derived(ssa, Transform::kValue);
  CHECK(CountWhole(value) == whole.value_or(CountWhole(value)));
  int traps = 0;
  for (const int64_t n : {0, 1, 5, 16, 17, 40}) {
    for (const int64_t s : {0, 3}) {
      for (const auto& [p, q] : ends) {
        if (s == 0 && (p < -100 || q > 100)) continue;  // turns that read nothing, for ever
        INFO("n = " << n << ", s = " << s << ", p = " << p << ", q = " << q);
        const std::vector<Tensor> args = {Waves(n, 2, 0.5), Waves(2, s, 1.5), Integer(p),
                                          Integer(q)};
        if (CheckSameTrap(value, ssa, args)) {
          ++traps;
          continue;
        }
        CheckSameOptimised(ssa, Transform::kValue, args);
        CheckSameOptimised(ssa, Transform::kValueAndGrad, args);
      }
    }
  }
  return traps;
}

const std::vector<Ends> kEnds = {{0, 5},   {0, 40},    {3, 17},  {16, 32},    {39, 40},
                                 {5, 5},   {20, 3},    {-1, 4},  {-20, 2},    {2, 60},
                                 {41, 60}, {kMost, 0}, {0, -30}, {1, kLeast}, {kMost, kMost}};

TEST_CASE("turn ranges: ends that are data") {
  for (const std::string turn :
       {"{ a = sin(a + sum(c[i])) }", "{ a = sin(a + sum(gen l < s { c[i, l] * e[i, l] })) }",
        "{ a = sin(a + c[i + 1, 0]) }", "{ a = sin(a + dot(c[i], e[i - 1])) }"}) {
    CHECK(CheckLoop("in p..q " + turn, kEnds) > 0);
    CHECK(CheckLoop("in p..n " + turn, kEnds) > 0);
    CHECK(CheckLoop("< q " + turn, kEnds) > 0);
  }
}

// What conditions say of the turn.
TEST_CASE("turn ranges: rows that a turn asks for") {
  const std::vector<Ends> ends = {{0, 5}, {-20, 60}, {3, 17}, {30, 20}, {-5, -1}, {38, 45}};
  CHECK(CheckLoop("in p..q { if i >= 0 and i < n { a = sin(a + sum(c[i])) } }", ends) == 0);
  CHECK(CheckLoop("in p..q { if i >= 1 and i < n { a = sin(a + dot(c[i], c[i - 1])) } }", ends) ==
        0);
  CHECK(CheckLoop("in max(p, 0)..min(q, n) { a = sin(a + sum(c[i])) }", ends) == 0);
  CHECK(CheckLoop("in p..q { if i < 0 { continue }\n if i >= n { break }\n a = sin(a + "
                  "sum(c[i])) }",
                  ends) == 0);
}

TEST_CASE("turn ranges: the first turn ends the run, however far away the last one is") {
  for (const std::string turn : {"{ a = sin(a + sum(c[i])) }", "{ a = sin(a + c[i, 0]) }",
                                 "{ a = sin(a + dot(c[i], c[i - 1])) }"}) {
    CHECK(CheckLoop("in p..q " + turn,
                    {{kLeast, kMost}, {kLeast, 0}, {-1, kMost}, {kMost - 1, kMost}, {50, kMost}}) >
          0);
    CHECK(CheckLoop("in p..n " + turn, {{kLeast, 0}, {kLeast + 3, 0}, {-(kMost / 2), 0}}) > 0);
    CHECK(CheckLoop("< q " + turn, {{0, kMost}, {0, kMost / 2 + 7}}) > 0);
  }
}

TEST_CASE("turn ranges: parts of the rows") {
  const std::vector<Ends> one = {{0, 0}};
  CHECK(CheckLoop("in n / 2..n { a = sin(a + sum(c[i])) }", one) == 0);
  CHECK(CheckLoop("< n / 2 { a = sin(a + dot(c[i], c[i + 1])) }", one) == 0);
  CHECK(CheckLoop("in n / 3..2 * n / 3 { a = sin(a + sum(c[i])) }", one) == 0);
  CHECK(CheckLoop("in 20..n { a = sin(a + sum(c[i])) }", one) == 0);
  CHECK(CheckLoop("in 3..n - 5 { a = sin(a + dot(c[i], c[i + 4]) + sum(e[i - 3])) }", one) == 0);
  CHECK(CheckLoop("in -3..n - 3 { a = sin(a + sum(c[i + 3])) }", one) == 0);
  CHECK(CheckLoop("in 0..n { a = sin(a + sum(c[i + 1])) }", one) > 0);
}

// Each loop has an array of its own.
TEST_CASE("turn ranges: two loops, each over a part of the rows") {
  const std::vector<Ends> ends = {{0, 0}, {3, 5}, {16, 17}, {40, 40}, {-2, 3}, {50, 60}, {5, 2}};
  const auto both = [&](const std::string& first, const std::string& second) {
    return CheckLoop(first + " { a = sin(a + sum(c[i])) }\n  for i in " + second +
                         " { a = sin(0.5 * a + dot(c[i], e[i])) }",
                     ends);
  };
  CHECK(both("< p", "p..n") > 0);
  CHECK(both("in p..q", "q..n") > 0);
  CHECK(both("in q..n", "p..q") > 0);
  CHECK(both("< n / 2", "n / 2..n") == 0);
  CHECK(both("< n - 3", "n - 3..n") > 0);
  CHECK(
      CheckLoop("in 1..p { a = sin(a + dot(c[i], c[i - 1])) }\n  for i in p..n { a = sin(0.5 * a + "
                "dot(c[i], e[i - 1])) }",
                ends) > 0);
  // One that stays keeps the rows of both.
  CheckLoop(
      "< p { a = sin(a + sum(c[i])) }\n  for i in p..n { a = sin(a + sum(c[i]) + sum(c[n - 1 - "
      "i])) }",
      {{0, 0}, {3, 5}}, 4);
}

TEST_CASE("turn ranges: batches, lags, loops that count by some") {
  const std::vector<Ends> one = {{0, 0}};
  CHECK(CheckLoop("< n / 8 { var g = 0.0\n for j < 8 { g += sum(c[8 * i + j]) * (1.0 + a) }\n a = "
                  "sin(a + g) }",
                  one) == 0);
  CHECK(CheckLoop("< n / 20 { a = sin(a + sum j < 20 { dot(c[20 * i + j], e[20 * i + j]) }) }",
                  one) == 0);
  CHECK(CheckLoop("< n / 5 + 1 { a = sin(a + sum j < 5 { dot(c[5 * i + j], e[5 * i + j]) }) }", one,
                  {}) > 0);
  CHECK(CheckLoop("in 5..n { a = sin(a + dot(c[i], c[i - 5])) }", one) == 0);
  CHECK(CheckLoop("in 30..n { a = sin(a + dot(c[i], c[i - 30])) }", one) == 0);
  CHECK(CheckLoop("in 9..n { a = sin(a + sum j < 10 { dot(c[i - j], e[i - j]) }) }", one) == 0);
  const std::string loop = "< 1 { var j = 0\n while ";
  for (const std::string test : {"j + 1 < n", "j < n - 1", "j + 1 <= n - 1"})
    CHECK(CheckLoop(loop + test + " { a = sin(a + dot(c[j], c[j + 1]))\n j += 2 } }", one, {}) ==
          0);
  CHECK(CheckLoop(loop + "j + 2 < n { a = sin(a + dot(c[j], c[j + 2]))\n j += 1 } }", one, {}) ==
        0);
  CHECK(CheckLoop(loop + "j < n { a = sin(a + dot(c[j], c[j + 1]))\n j += 3 } }", one, {}) > 0);
}

// Starts and ends that wrap, and quotients that are 0 where they are not below it.
TEST_CASE("turn ranges: ends that wrap") {
  const std::vector<Ends> ends = {{kMost - 3, 20},        {kMost, 20},     {(kMost >> 1) - 1, 20},
                                  {(kMost >> 9) - 1, 20}, {3, 20},         {-1, 5},
                                  {kMost, kLeast + 3},    {kMost - 1, 30}, {1, 17}};
  const std::string turn = "{ if i >= 0 && i < n { a = sin(a + sum(c[i])) } }";
  for (const std::string start : {"(2 * max(p, 0))", "(4 * max(p, 0))", "(1024 * max(p, 0))"})
    CheckLoop("in " + start + "..q " + turn, ends, {});
  CheckLoop("in (p + 1)..q { if p >= 0 && i < n { a = sin(a + sum j < s { c[i, j] }) } }",
            {{kMost, kLeast + 3}, {3, 20}, {-1, 5}}, {});
  CheckLoop("in -1..(n - 3) / 2 { a = sin(a + sum j < s { c[2 * i + 4, j] }) }", {{0, 0}}, {});
  CheckLoop("in -1..n / 2 { a = sin(a + sum j < s { c[2 * i + 2, j] }) }", {{0, 0}}, {});
}

TEST_CASE("turn ranges: ends that are numbers") {
  for (const std::string test : {"j < 2", "j < 18 and a < 0.7", "j < 3 and j < n", "j <= 5"})
    CheckLoop("< 1 { var j = 0\n while " + test + " { a = sin(a + sum(c[j]))\n j += 1 } }",
              {{0, 0}}, {});
  CheckLoop(
      "< 1 { var j = 0\n while j < 18 { if j >= n { break }\n a = sin(a + sum(c[j]))\n j += 1 } }",
      {{0, 0}}, {});
  const ir::Module ssa = LowerText(
      "fn f(x: [n, d]f64, w: [d, s]f64) -> f64 {\n  let e = tanh.(x @ w)\n  var a = 0.0\n  var i = "
      "0\n"
      "  while i < 18 {\n    a = sin(a + sum(e[i]))\n    i += 1\n  }\n  return a\n}\n",
      "f");
  const ir::Module value = Derived(ssa, Transform::kValue);
  CHECK(CountWhole(value) == 0);
  for (const int64_t n : {0, 17, 18, 40}) {
    const std::vector<Tensor> args = {Waves(n, 2, 0.5), Waves(2, 3, 1.5)};
    if (!CheckSameTrap(value, ssa, args)) CheckSameOptimised(ssa, Transform::kValueAndGrad, args);
  }
}

// Every turn of a loop around takes rows from where it stands: these are needed again.
TEST_CASE("turn ranges: what stays") {
  const std::string text = "in 0..3 { for j in i..n { a = sin(a + sum(c[j])) } }";
  CheckLoop(text, {{0, 0}}, 4);
}

}  // namespace
}  // namespace pullback::testing
