// Turns of loops that take rows next to each other, by steps, by cases, from the end, a few: of blocks of rows as well
// (turn_blocks_test.cc).
#include <catch2/catch.hpp>

#include "core/ir/ir.h"
#include "tests/core/pipeline/turn_programs.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

void ByTurns(const std::string& range, const std::string& turn, int whole = 0) {
  CheckProgram("  let e = tanh.(x @ w)\n  var a = 0.0\n  for i " + range + " {\n" + turn +
                   "  }\n  return a + sum(u)\n",
               whole);
}

TEST_CASE("turn blocks: rows next to a turn's own") {
  ByTurns("in 1..n", "a = sin(a + norm2(e[i] - e[i - 1] + 0.5))\n");
  ByTurns("in 2..n", "a = sin(a + sum(e[i] - 2.0 * e[i - 1] + e[i - 2]))\n");
  ByTurns("< n - 1", "a = sin(a + dot(e[i + 1], e[i]))\n");
  ByTurns("in 1..n - 2", "a = sin(a + dot(e[i + 2], e[i - 1]))\n");
  ByTurns("in 1..n", "a = sin(a + sum(e[i]))\n");
  ByTurns("< n - 3", "a = a + 0.1 + exp(sum(e[i + 3])) * 0.01\nif a > 0.5 { break }\n");
  // What is asked in the turn.
  ByTurns("< n", "if i > 0 { a = sin(a + e[i, 0] * e[i - 1, 1]) }\n");
  ByTurns("< n", "if i > 0 { a = sin(a + dot(e[i], e[i - 1])) }\n");
  ByTurns("< n",
          "a = sin(a + sum(e[i]))\nif i + 1 < n and a > 0.0 { a += 0.1 * dot(e[i + 1], e[i]) }\n");
  ByTurns("< n", "if i < 2 { continue }\n a = sin(a + sum(e[i] - 2.0 * e[i - 1] + e[i - 2]))\n");
  ByTurns("< n", "if 1 <= i and i < n - 1 { a = sin(a + e[i - 1, 0] * e[i, 1] * e[i + 1, 1]) }\n");
  ByTurns("in 9..n", "a = sin(a + dot(e[i - 9], e[i]))\n");
  // Too many away.
  ByTurns("in 70..n", "a = sin(a + dot(e[i - 70], e[i]))\n", 2);
}

TEST_CASE("turn blocks: rows of functions of elements, next to each other") {
  const auto by = [](const std::string& act, int whole) {
    const std::string text =
        "fn act(x: f64) -> f64 {\n" + act +
        "}\nfn f(x: [n, d]f64, w: [d, s]f64) -> f64 {\n  let e = act.(x @ w)\n  var a = 0.0\n"
        "  for i in 1..n { a = sin(a + dot(e[i], e[i - 1])) }\n  return a\n}\n";
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    CHECK(CountWhole(Derived(ssa, Transform::kValue)) == whole);
    for (int64_t n : {0, 1, 2, 17, 33}) {
      const std::vector<Tensor> args = {Waves(n, 2, 0.5), Waves(2, 3, 1.5)};
      CheckSameOptimised(ssa, Transform::kValue, args);
      CheckSameOptimised(ssa, Transform::kValueAndGrad, args);
    }
  };
  by("  if x > 0.0 { return x }\n  return 0.1 * x\n", 0);
  by("  return x * sigmoid(x)\n", 0);
  by("  return softplus(sigmoid(x))\n", 0);
  // One that may not end, and one that may trap.
  by("  var y = x\n  while y > 0.1 { y = y * 0.5 }\n  return y\n", 2);
  by("  if x > 100.0 { return f64(1 / i64(x - x)) }\n  return x\n", 2);
}

TEST_CASE("turn blocks: rows that are made of rows next to them") {
  const auto by = [](const std::string& layers, const std::string& loop, int whole = 0) {
    CheckProgram("  let e = tanh.(x @ w)\n" + layers + "  var a = 0.0\n  for i " + loop +
                     "\n  return a + sum(u)\n",
                 whole, {3, 15, 16, 17, 18, 19, 33, 34});
  };
  const std::string one = "< n { a = sin(a + sum(c[i])) }";
  const std::string two = "in 1..n { a = sin(a + dot(c[i], c[i - 1])) }";
  for (const std::string& loop : {one, two}) {
    by("  let c = gen i < n { if i > 0 { e[i] + e[i - 1] @ u } else { e[i] } }\n", loop);
    by("  let c = gen i < n, l < s { e[i, l] + 0.5 * e[max(0, i - 2), l] }\n", loop);
    by("  let c = gen i < n, l < s { e[i, l] * e[min(n - 1, i + 1), l] }\n", loop);
    by("  let c = gen i < n, l < s { sum q < 3 { [i + q >= 1 and i + q - 1 < n] * e[i + q - 1, l] "
       "} "
       "}\n",
       loop);
    by("  let b = gen i < n { e[i] - e[max(0, i - 1)] }\n"
       "  let c = gen i < n { sigmoid.(b[i] @ u + b[min(n - 1, i + 1)] + e[max(0, i - 1)]) }\n",
       loop);
  }
  // Fewer rows than what they are made of.
  by("  let c = gen i < n - 2 { sum q < 3 { e[i + q] @ u } }\n",
     "in 1..n - 2 { a = sin(a + dot(c[i], c[i - 1])) }");
  by("  let c = gen i < n - 2 { e[i] * e[i + 2] }\n", "< n - 2 { a = sin(a + sum(c[i])) }");
  by("  let c = gen i < n / 2 { e[2 * i] * e[2 * i + 1] }\n", "< n / 2 { a = sin(a + sum(c[i])) }",
     0);
  by("  let c = gen i < n { e[i] + e[max(0, i - 1)] }\n",
     "< n / 2 { a = sin(a + dot(c[2 * i], c[2 * i + 1])) }");
  by("  let c = gen i < n { e[i] + e[max(0, i - 1)] }\n",
     "< n { a = a + 0.1 + exp(sum(c[i])) * 0.01\nif a > 0.5 { break } }");
  by("  let c = gen i < n { e[i] + e[n - 1] }\n", one);
  // Too far, by what data say.
  by("  let c = gen i < n { e[i] + e[max(0, i - 9)] }\n", one, 0);
  by("  let c = gen i < n { e[i] + e[max(0, min(n - 1, y[i]))] }\n", one, 2);
}

TEST_CASE("turn blocks: rows of which a statement in the turn takes a few") {
  ByTurns("in 2..n", "a = sin(a + norm2(gen q < 3 { dot(e[i], e[i - q]) }))\n");
  ByTurns("< n", "a = sin(a + sum q < 3 { [i + q < n] * e[i + q, 0] * e[i, 1] })\n");
  ByTurns("< n", "a = sin(a + sum q in 0..min(3, i + 1) { dot(e[i], e[i - q]) })\n");
  ByTurns("< n - 2",
          "let p = softmax(gen q < 3 { dot(e[i], e[i + q]) })\n"
          "a = sin(a + norm2(sum q < 3 { p[q] * e[i + q] }))\n");
  ByTurns("in 1..n", "a = sin(a + sum q < 2 { e[n - 1 - i + q, 0] * e[n - 1 - i, 1] })\n");
  // Too many, as many as rows, one that may not be there.
  ByTurns("in 8..n", "a = sin(a + norm2(gen q < 9 { dot(e[i], e[i - q]) }))\n");
  ByTurns("< n", "a = sin(a + sum q < n { [q <= i] * e[i - q, 0] * e[i, 1] })\n", 2);
}

TEST_CASE("turn blocks: rows by steps") {
  const auto by = [](const std::string& range, const std::string& turn, int whole = 0) {
    ByTurns("< " + range, turn, whole);
  };
  by("n / 2", "a = sin(a + dot(e[2 * i], e[2 * i + 1]))\n");
  by("n / 2", "a = sin(a + sum(e[2 * i + 1]))\n");
  by("(n - 1) / 2", "a = sin(a + sum(e[2 * i] * e[2 * i + 1] - e[2 * i + 2]))\n");
  by("(n - 2) / 3", "a = sin(a + dot(e[3 * i + 4], e[3 * i]))\n");
  by("n / 4", "a = sin(a + dot(e[4 * i + 3], e[4 * i]))\nif a > 0.9 { break }\n");
  by("n / 3", "a = sin(a + dot(e[2 * i + 1], e[2 * i]))\n");
  // What is asked in the turn.
  by("n", "if 2 * i + 1 < n { a = sin(a + dot(e[2 * i], e[2 * i + 1])) }\n");
  by("n / 2", "if i > 0 { a = sin(a + dot(e[2 * i - 1], e[2 * i])) }\n");
  CheckProgram(
      "  let e = tanh.(x @ w)\n  var a = 0.0\n"
      "  for i in 1..n / 2 { a = sin(a + dot(e[2 * i - 1], e[2 * i]) + e[2 * i - 2, 0]) }\n"
      "  return a + sum(u)\n",
      0);
  by("n / 2", "a = sin(a + e[2 * i, 0])\nif 2 * i + 2 < n { a += 0.1 * e[2 * i + 2, 1] }\n");
  // Other turns' rows, too far away, by too long a step.
  by("n / 2", "a = sin(a + dot(e[2 * i], e[i]))\n", 2);
  by("(n - 8) / 2", "a = sin(a + dot(e[2 * i + 9], e[2 * i]))\n");
  by("n / 5", "a = sin(a + dot(e[5 * i + 1], e[5 * i]))\n");
}

TEST_CASE("turn blocks: rows that are one of several by cases") {
  const auto by = [](const std::string& turn, int whole = 0, const std::string& range = "< n") {
    ByTurns(range, turn, whole);
  };
  by("a = sin(a + dot(e[i], e[max(0, i - 1)]))\n");
  by("a = sin(a + dot(e[max(0, i - 2)], e[min(n - 1, i + 1)]))\n");
  by("a = sin(a + sum(e[max(0, min(n - 1, i + 3))]))\n");
  by("a = sin(a + e[max(0, i - 1), 0] * e[i, 1])\n");
  // Reflected.
  by("a = sin(a + dot(e[i], e[n - 1 - abs(n - 2 - i)]))\n", 0, "in 1..n");
  CheckProgram(
      "  let e = tanh.(x @ w)\n  var a = 0.0\n  if n > 2 {\n"
      "    for i < n { a = sin(a + sum(e[abs(i - 2)] - e[n - 1 - abs(n - 2 - i)])) }\n  }\n"
      "  return a + sum(u)\n",
      0);
  // Branches, and what they say of a turn by its number.
  by("let j = if i == 0 { i } else { i - 1 }\n a = sin(a + dot(e[i], e[j]))\n");
  by("let j = if i != n - 1 { i + 1 } else { n - 1 }\n a = sin(a + dot(e[i], e[j]))\n");
  by("var j = i\n if i > 0 and a > 0.2 { j = i - 1 }\n a = sin(a + dot(e[i], e[j]))\n");
  by("let j = if i > 2 { i - 3 } else { if i > 0 { i - 1 } else { 0 } }\n"
     "a = sin(a + dot(e[i], e[j]))\n");
  by("a = sin(a + dot(e[2 * i], e[max(0, 2 * i - 1)]))\n", 0, "< n / 2");
  by("a = a + 0.1 + exp(sum(e[max(0, i - 1)])) * 0.01\nif a > 0.5 { break }\n");
  // Too far away, by what the caller says, by what is carried.
  by("a = sin(a + dot(e[max(0, i - 9)], e[i]))\n");
  by("a = sin(a + dot(e[max(0, i - s)], e[i]))\n", 2);
  by("a = sin(a + dot(e[n - 1 - max(0, i - 1)], e[i]))\n", 2);
  CheckProgram(
      "  let e = tanh.(x @ w)\n  var a = 0.0\n  var j = 0\n"
      "  for i < n { a = sin(a + dot(e[i], e[j]))\n j = i }\n  return a + sum(u)\n",
      2);
}

TEST_CASE("turn blocks: rows that a turn hands on to the next one") {
  const auto by = [](const std::string& turn, int whole = 0, const std::string& range = "< n",
                     const std::string& first = "zeros(s)") {
    CheckProgram("  let e = tanh.(x @ w)\n  var a = 0.0\n  var p = " + first + "\n  for i " +
                     range + " {\n" + turn + "  }\n  return a + sum(u)\n",
                 whole);
  };
  by("a = a + norm2(e[i] - p + 0.5)\n p = e[i]\n");
  by("a = sin(a + dot(e[i], p))\n p = e[i]\n", 0, "< n", "gen j < s { u[0, j] + 0.5 }");
  by("a = sin(a + dot(e[i] @ u, p))\n p = e[i]\n", 0, "in 1..n");
  by("a = a + dot(e[i + 1], p)\n p = e[i + 1]\n", 0, "< n - 1");
  by("a = a + dot(e[n - 1 - i], p)\n p = e[n - 1 - i]\n");
  // Two turns before; what a condition hands on; what is read behind the loop.
  CheckProgram(
      "  let e = tanh.(x @ w)\n  var a = 0.0\n  var p = zeros(s)\n  var q = zeros(s)\n"
      "  for i < n { a = a + dot(e[i] - p, q + 0.5)\n q = p\n p = e[i] }\n  return a + sum(u)\n",
      0);
  by("a = sin(a + dot(e[i], p))\n if a > 0.1 { p = e[i] }\n");
  by("a = a + sum(p)\n p = 0.5 * p + e[max(0, i - 1)]\n");  // in the tail of independent turns
  CheckProgram(
      "  let e = tanh.(x @ w)\n  var a = 0.0\n  var p = zeros(s)\n"
      "  for i < n { a = a + dot(e[i], p)\n p = e[i] }\n  return a + sum(p)\n",
      0);
}

TEST_CASE("turn blocks: rows next to each other, from the end") {
  const auto by = [](const std::string& turn, int whole = 0, const std::string& range = "< n") {
    ByTurns(range, turn, whole);
  };
  by("a = sin(a + dot(e[n - 1 - i], e[n - 2 - i]))\n", 0, "< n - 1");
  by("a = a + dot(e[n - i], e[n - 1 - i]) * f64(i)\n", 0, "in 1..n");
  by("a = sin(a + dot(e[n - 1 - i], e[max(0, n - 2 - i)]))\n");
  by("a = sin(a + e[n - 1 - i, 0])\n if i > 0 { a += 0.1 * e[n - i, 1] }\n");
  by("for j < 2 { if i + j < n { a = sin(a + dot(e[n - 1 - i], e[n - 1 - i - j])) } }\n");
  by("a = a + 0.1 + exp(e[n - 1 - i, 0] * e[n - 2 - i, 0]) * 0.01\nif a > 0.5 { break }\n", 0,
     "< n - 1");
  by("a = sin(a + dot(e[n - 1 - i], e[n - 10 - i]))\n", 0, "< n - 9");
  by("a = sin(a + dot(e[n - 1 - i], e[i]))\n", 2);
  // Layers, and what a turn hands on.
  CheckProgram(
      "  let e = sigmoid.(x @ w) @ u\n  var h = zeros(s)\n"
      "  for i in 1..n { h = tanh.(h @ u + e[n - i] * e[n - 1 - i]) }\n  return sum(h)\n",
      0);
  CheckProgram(
      "  let e = tanh.(x @ w)\n  var a = 0.0\n  var p = zeros(s)\n"
      "  for i < n { a = sin(a + dot(e[n - 1 - i], p))\n p = e[n - 1 - i] }\n"
      "  return a + sum(u)\n",
      0);
}

// A reviewer's: rows from the end of arrays of fewer, or of more, than what they are made of.
TEST_CASE("turn blocks: rows from the end, of arrays of other lengths") {
  for (const char* const program :
       {"  let c = gen i < n - 1 { e[i] @ u }\n"
        "  for i in 1..n - 1 { a = sin(a + dot(c[n - 1 - i] * e[n - i], e[0])) }\n",
        "  let c = gen i < n + 1 { if i < n { e[i] @ u } else { u[0] } }\n"
        "  for i < n { a = sin(a + dot(c[n - i] * c[n - 1 - i], u[1])) }\n",
        "  let c = gen i < n - 1 { e[i] @ u }\n  var i = n - 2\n"
        "  while i > 0 { a = sin(a + dot(c[i] * c[i - 1], e[i + 1]))\n i = i - 1 }\n"}) {
    CheckProgram("  let e = tanh.(x @ w)\n  var a = 0.2\n" + std::string(program) + "  return a\n",
                 std::nullopt, {3, 4, 15, 17, 33});
  }
}

// A reviewer's: the blocks of what is inlined come behind those of the caller.
TEST_CASE("turn blocks: what rows are made of stands in a later block") {
  const std::string text =
      "fn lo(v: [s]f64) -> f64 {\n  var t = 0.3\n  for i < s { t = sin(t + v[i]) }\n  return t\n}\n"
      "fn f(x: [n, d]f64, w: [d, s]f64, v: [s]f64, u: [s, s]f64) -> f64 {\n"
      "  let y = lo(v) * x @ w\n  let z = tanh.(y)\n  var q = sum(y)\n"
      "  for i < s { q = sin(q + v[i]) }\n  let c = q * z @ u\n  var a = 0.1\n"
      "  for i < n { a = sin(a + dot(c[i], v)) }\n  return a\n}\n";
  const ir::Module ssa = LowerText(text, "f");
  for (int64_t n : {0, 1, 17, 33}) {
    const std::vector<Tensor> args = {Waves(n, 2, 0.5), Waves(2, 3, 1.5),
                                      Tensor::Of(DType::kF64, {3}, std::vector<double>{1, 2, -0.5}),
                                      Waves(3, 3, 2.5)};
    CheckSameOptimised(ssa, Transform::kValue, args);
    CheckSameOptimised(ssa, Transform::kValueAndGrad, args);
  }
}

TEST_CASE("turn blocks: turns that count down") {
  const auto by = [](const std::string& first, const std::string& test, const std::string& turn,
                     int whole = 0) {
    CheckProgram("  let e = tanh.(x @ w)\n  var a = 0.0\n  var i = " + first + "\n  while " + test +
                     " {\n" + turn + "    i = i - 1\n  }\n  return a + sum(u)\n",
                 whole);
  };
  by("n - 1", "i >= 0", "a = sin(a + sum(e[i]))\n");
  by("n - 1", "i > 0", "a = sin(a + dot(e[i], e[i - 1]))\n");
  by("n - 1", "0 < i", "a = a + dot(e[i], e[i - 1]) * f64(i)\n");
  by("n - 2", "i >= 0", "a = sin(a + dot(e[i], e[i + 1]))\n");
  by("n - 1", "i > -1", "a = sin(a + dot(e[i], e[max(0, i - 1)]))\n");
  by("n - 1", "i >= 0", "if i > 0 { a = sin(a + dot(e[i], e[i - 1])) }\n");
  by("n - 1", "i > 0", "a = a + 0.1 + exp(e[i, 0] * e[i - 1, 1]) * 0.01\nif a > 0.5 { break }\n");
  by("n - 1", "i > 0", "a = sin(a + dot(e[i], e[i - 1]))\n    if a < 0.0 { a = a * f64(i) }\n");
  // What is read behind the loop; by more than ones, from where data say, to where the test says otherwise.
  CheckProgram(
      "  let e = tanh.(x @ w)\n  var a = 0.0\n  var i = n - 1\n"
      "  while i > 0 { a = sin(a + dot(e[i], e[i - 1]))\n i = i - 1 }\n  return a * f64(i)\n",
      2);
  by("n - 1", "i > 0", "a = sin(a + dot(e[i], e[i - 1]))\n    i = i - 1\n", 2);
  by("if n > 0 { y[0] } else { 0 }", "i > 0", "a = sin(a + dot(e[min(i, n - 1)], u[0]))\n", 2);
  by("n", "i != 0", "i = i - 1\n    a = sin(a + sum(e[i]))\n    i = i + 1\n", 2);
}

TEST_CASE("turn blocks: rows of which a loop inside takes a few") {
  const auto by = [](const std::string& inner, int whole = 0) {
    CheckProgram("  let e = tanh.(x @ w)\n  var a = 0.0\n  for i < n {\n" + inner +
                     "  }\n  return a + sum(u)\n",
                 whole);
  };
  by("for j < 3 { if i + j < n { a = sin(a + dot(e[i], e[i + j])) } }\n");
  by("for j in 1..3 { a = sin(a + dot(e[i], e[max(0, i - j)])) }\n");
  by("for j < 3 { let k = i + j - 1\n if k >= 0 and k < n { a = sin(a + dot(e[i], e[k])) } }\n");
  by("for j < 3 { let k = i + 1 - j\n if k < 0 or k >= n { continue }\n a = sin(a + sum(e[k])) "
     "}\n");
  by("for j < 3 { if j > i { break }\n a = sin(a + dot(e[i], e[i - j])) }\n");
  by("for j in max(0, i - 2)..min(n, i + 3) { a = sin(a + dot(e[i], e[j])) }\n");
  by("for j in max(0, i - 2)..i { if a > 0.9 { break }\n a = sin(a + dot(e[i], e[j])) }\n");
  by("for j in i..min(i + 3, n) { a = sin(a + sum(e[j])) }\n");
  // Too many, and as many as there are.
  by("for j < 9 { if i + j < n { a = sin(a + dot(e[i], e[i + j])) } }\n");
  by("for j < n { if i + j < n { a = sin(a + dot(e[i], e[i + j])) } }\n", 2);
  by("for j in max(0, i - 2)..n { a = sin(a + dot(e[i], e[j])) }\n", 2);
  by("for j in max(0, i - s)..i { a = sin(a + dot(e[i], e[j])) }\n", 2);
}

TEST_CASE("turn blocks: rows that layers in front take by steps") {
  const auto by = [](const std::string& layer, const std::string& range, const std::string& turn,
                     int whole = 0) {
    CheckProgram(
        "  let e = tanh.(x @ w)\n  let g = gen i < n { e[i] / sqrt(1.0 + norm2(e[i])) }\n" + layer +
            "  var a = 0.0\n  for i " + range + " { " + turn + " }\n  return a + sum(u)\n",
        whole, {0, 1, 2, 3, 16, 17, 31, 33, 35});
  };
  const std::string one = "a = sin(a + sum(q[i]))",
                    two = "a = sin(a + dot(q[i], q[max(0, i - 1)]))";
  const std::string means = "  let q = gen i < n / 2 { 0.5 * (g[2 * i] + g[2 * i + 1]) }\n";
  by(means, "< n / 2", one);
  by(means, "< n / 2", two);
  by(means, "in 1..n / 2", "a = sin(a + dot(q[i], q[i - 1]))");
  by(means, "< n / 2 - 1", "a = sin(a + dot(q[i], q[i + 1]))");
  by(means, "in 1..n / 2", "a = a + 0.1 + exp(sum(q[i])) * 0.01\n if a > 0.5 { break }");
  by("  let q = gen i < n / 3 { g[3 * i] * g[3 * i + 2] }\n", "< n / 3", two);
  by("  let h = gen i < n / 2 { g[2 * i] - g[2 * i + 1] @ u }\n"
     "  let q = gen i < n / 2 { h[i] - h[min(n / 2 - 1, i + 1)] }\n",
     "< n / 2", one);
  // Rows of a layer that another takes by steps and in order (half of each is made again for the reverse half), and by more of a
  // step than are near.
  by(means + "  let r = gen i < n { g[i] * 0.5 }\n", "< n / 2", "a = sin(a + dot(q[i], r[i]))", 3);
  by("  let q = gen i < n / 5 { g[5 * i] + g[5 * i + 4] }\n", "< n / 5", one);
  // Pairs of pairs.
  by("  let h = gen i < n / 2 { max.(g[2 * i], g[2 * i + 1]) }\n"
     "  let q = gen i < n / 2 / 2 { h[2 * i] - h[2 * i + 1] }\n",
     "< n / 2 / 2", two);
  by("  let h = gen i < n / 2 { max.(g[2 * i], g[2 * i + 1]) }\n"
     "  let q = gen i < n / 4 { h[2 * i] - h[2 * i + 1] }\n",
     "< n / 4", two);
}

TEST_CASE("turn blocks: rows of weights that repeat, of runs along rows") {
  const auto by = [](const std::string& layer, int whole) {
    CheckProgram("  let e = tanh.(x @ w)\n" + layer +
                     "  var a = 0.0\n  for i in 1..n { a = sin(a + dot(q[i], q[i - 1])) }\n"
                     "  return a + sum(u)\n",
                 whole);
  };
  by("  let q = gen i < n, l < s { sum r < 3 { [i + r >= 1 and i + r - 1 < n] * e[i + r - 1, l] * "
     "u[0, r % s] } }\n",
     0);
  by("  let q = gen i < n, l < s { e[i, l] * u[0, (l + 2) % s] }\n", 0);
  by("  let q = gen i < n { cumsum(e[i]) }\n", 0);
  by("  let h = gen i < n { cumsum(e[i]) }\n  let q = gen i < n { h[i] - h[max(0, i - 1)] }\n", 0);
}

// A reviewer's: fewer rows than turns, and rows that no turn of a block takes.

}  // namespace
}  // namespace pullback::testing
