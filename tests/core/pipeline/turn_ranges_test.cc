// Loops that start or end at any integer, whose turns take rows of an array: a block of rows at a time, the same values, derivatives
// and errors as by the whole array.
#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
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
int CheckLoop(const std::string& loop, const std::vector<Ends>& ends, int whole = 0) {
  const std::string text =
      "fn f(x: [n, d]f64, w: [d, s]f64, p: i64, q: i64) -> f64 {\n  let e = tanh.(x @ w)\n"
      "  let c = gen i < n { softmax(e[i]) }\n  var a = 0.5\n  for i " +
      loop + "\n  return a\n}\n";
  INFO(text);
  const ir::Module ssa = LowerText(text, "f"), value = Derived(ssa, Transform::kValue);
  CHECK(CountWhole(value) == whole);
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

// Every turn of a loop around takes rows from where it stands: these are needed again.
TEST_CASE("turn ranges: what stays") {
  const std::string text = "in 0..3 { for j in i..n { a = sin(a + sum(c[j])) } }";
  CheckLoop(text, {{0, 0}}, 4);
}

}  // namespace
}  // namespace pullback::testing
