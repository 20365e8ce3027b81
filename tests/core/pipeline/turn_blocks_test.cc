// Arrays of which each turn of a loop takes a row are made a block of rows at a time: the same values and derivatives as by
// the whole array, and no array of all rows.
#include <catch2/catch.hpp>

#include "core/eval/interpreter.h"
#include "core/ir/ir.h"
#include "tests/core/pipeline/turn_programs.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

TEST_CASE("turn blocks: a state that takes a row in each turn") {
  CheckProgram(
      "  let e = x @ w\n  var h = gen j < s { 0.1 }\n"
      "  for i < n { h = tanh.(e[i] + h @ u) }\n  return sum(h)\n",
      0);
}

TEST_CASE("turn blocks: branches, subscripts that data say, continue") {
  CheckProgram(
      "  let e = x @ w\n  var loss = 0.0\n"
      "  for i < n {\n    if y[i] < 0 { continue }\n"
      "    loss += logsumexp(e[i]) - e[i, y[i]]\n  }\n  return loss\n",
      0);
}

TEST_CASE("turn blocks: layers behind each other") {
  CheckProgram(
      "  let e = sigmoid.(x @ w) @ u\n  var a = 1.0\n"
      "  for i < n { if e[i, 0] > 0.0 { a = sin(a + sum(e[i])) } }\n  return a\n",
      0);
}

TEST_CASE("turn blocks: backwards") {
  CheckProgram(
      "  let e = x @ w\n  var h = gen j < s { 0.1 }\n"
      "  for i < n { h = tanh.(e[n - 1 - i] + h @ u) }\n  return sum(h)\n",
      0);
}

TEST_CASE("turn blocks: a loop inside a loop, in a branch, over the rows themselves") {
  CheckProgram(
      "  var a = 0.0\n  for k < 3 {\n    let e = x * f64(k) @ w\n"
      "    var h = gen j < s { 0.1 }\n    for i < n { h = tanh.(e[i] + h @ u) }\n"
      "    a += sum(h)\n  }\n  return a\n",
      0);
  CheckProgram(
      "  if n < 2 { return sum(x) }\n  let e = x @ w\n  var a = 0.0\n"
      "  for row in e { a = cos(a * row[0] + row[s - 1]) }\n  return a\n",
      0);
}

TEST_CASE("turn blocks: pairs, each turn with all others") {
  CheckProgram(
      "  let r = gen i < n, j < n { norm2(x[i] - x[j] + 0.1) }\n  var a = 0.0\n"
      "  for i < n {\n    for j < n { if i != j { a += 1.0 / (1.0 + r[i, j]) } }\n"
      "    a = a * 0.9 + sum(w)\n  }\n  return a + sum(u)\n",
      0);
}

TEST_CASE("turn blocks: what is read by two loops, or whole stays") {
  CheckProgram(
      "  let e = x @ w\n  var a = 0.0\n  for i < n { a = sin(a + e[i, 0]) }\n"
      "  for i < n { a = sin(a + e[i, 1]) }\n  return a + sum(u)\n",
      1);
  CheckProgram(
      "  let e = x @ w\n  var a = 0.0\n  for i < n { a = sin(a + e[i, 0]) }\n"
      "  return a + sum(gen j < s { logsumexp(e[:, j]) }) + sum(u)\n",
      1);
}

TEST_CASE("turn blocks: what the test of the loop reads") {
  CheckProgram(
      "  let e = x @ w\n  var a = 0.0\n  var i = 0\n"
      "  while i < n && e[i, 0] < 0.3 {\n    a = sin(a + e[i, 1])\n    i += 1\n  }\n"
      "  return a + sum(u)\n",
      0);
  for (const char* limit : {"0.1", "0.9", "50.0"}) {
    CheckProgram("  let e = tanh.(x @ w)\n  var a = 0.0\n  var i = 0\n  while i < n && a < " +
                     std::string(limit) +
                     " {\n    a = 1.01 * a + norm2(e[i])\n    i += 1\n  }\n"
                     "  return a * f64(i)\n",
                 0);
    CheckProgram(
        "  let e = tanh.(x @ w)\n  var a = 0.0\n  var b = 1.0\n  for i < n {\n    if a > " +
            std::string(limit) +
            " { break }\n    a += norm2(e[i])\n    b = sin(a + b)\n  }\n"
            "  return a * b\n",
        0);
  }
}

TEST_CASE("turn blocks: what the test of the loop reads stays") {
  CheckProgram(
      "  let e = x @ w\n  var i = 0\n  var a = 0.0\n  while true {\n"
      "    let v = gen j < s { [i < n] * e[i, j] + u[0, j] }\n    if i >= n { break }\n"
      "    var t = v\n    while sum(t) > 0.01 {\n      t = 0.5 * t - 0.001\n      a += t[0]\n    "
      "}\n"
      "    a += sin(sum(t))\n    i += 1\n  }\n  return a\n",
      1);
}

TEST_CASE("turn blocks: loops that a turn leaves") {
  // In the first block, at its end, in a later one, never: by where the sum passes the limit.
  for (const char* limit : {"0.5", "3.0", "7.0", "1000.0"}) {
    CheckProgram(
        "  let e = tanh.(x @ w)\n  var a = 0.0\n"
        "  for i < n {\n    a += sum(e[i] * e[i])\n    if a > " +
            std::string(limit) + " { break }\n    a = 1.01 * a\n  }\n  return sin(a)\n",
        0);
  }
  // Who leaves with what the test's block counts has it from there.
  CheckProgram(
      "  let e = tanh.(x @ w)\n  var a = 0.0\n  var at = 0\n"
      "  for i < n {\n    a += e[i, 0] ** 2\n    at = i\n"
      "    if a > 2.0 { return a * f64(at) }\n    if a < 0.0 { break }\n  }\n  return a - "
      "f64(at)\n",
      2);
  CheckProgram(
      "  let e = x @ w\n  var h = gen j < s { 0.1 }\n"
      "  for i < n {\n    let o = h\n    h = tanh.(e[i] + h @ u)\n"
      "    if norm2(h - o) < 0.2 { break }\n  }\n  return sum(h)\n",
      0);
  // What may end the run in a row that no turn comes to is made whole, in front.
  CheckProgram(
      "  let e = gen i < n, j < s { exp(x[y[i] * y[i] % n, 0]) * w[0, j] }\n  var a = 0.0\n"
      "  for i < n {\n    a += sum(tanh.(e[i]))\n    if a > 2.0 { break }\n  }\n  return a\n",
      1);
}

// They come row by row (rows_in_turns.cc).
TEST_CASE("turn blocks: not where turns fill a table that is as long") {
  CheckProgram(
      "  let e = gen i < n, j < n { norm2(x[i] - x[j] + 0.1) }\n"
      "  var c = gen i < n + 1, j < n + 1 { f64(i + j) }\n"
      "  for i < n {\n    for j < n {\n"
      "      c[i + 1, j + 1] = e[i, j] + min(c[i, j], min(c[i, j + 1], c[i + 1, j]))\n    }\n  }\n"
      "  return c[n, n] + sum(u) + sum(w)\n",
      0);
}

TEST_CASE("turn blocks: a size that is negative ends the run") {
  const ir::Module ssa = LowerText(
      "fn f(x: [n, d]f64, w: [d, s]f64, k: i64) -> f64 {\n  let m = n - k\n"
      "  let e = gen i < m, j < s { dot(x[i], w[:, j]) }\n  var a = 1.0\n"
      "  for i < m { a = sin(a + sum(e[i])) }\n  return a\n}\n",
      "f");
  const ir::Module optimised = Derived(ssa, Transform::kValue);
  for (int64_t k : {0, 2, 3, 5}) {
    const std::vector<Tensor> args = {Waves(3, 2, 0.5), Waves(2, 3, 1.5), Tensor::I64(k)};
    const auto run = eval::Run(optimised, args), plain = eval::Run(ssa, args);
    REQUIRE(run.ok());
    REQUIRE(plain.ok());
    REQUIRE(run->trap.has_value() == plain->trap.has_value());
    CHECK(run->trap.has_value() == (k > 3));
    if (run->trap) CHECK(run->trap->kind == ir::TrapKind::kNegativeSize);
  }
}

TEST_CASE("turn blocks: loops after each other, with one start") {
  CheckProgram(
      "  let e = x @ w\n  let g = x @ w @ u\n  var a = 0.0\n"
      "  for i < n { a = sin(a + e[i, 0]) }\n  for i < n { a = cos(a + g[i, 1]) }\n  return a\n",
      0);
}

TEST_CASE("turn blocks: turns that take no row are run as well") {
  for (const int64_t rows : {0, 2}) {
    const std::string less = rows == 0 ? "" : " - " + std::to_string(rows);
    for (const char* const loop :
         {"< n + 1 { if i < n - 2 { a = sin(a + dot(e[i], e[i])) } else { a = a + 1.0 } }",
          "< n { if i >= 2 and i < n - 2 { a = sin(a + dot(e[i - 2], e[i - 2])) } else { a += 0.1 "
          "} }",
          "< n { if i + 4 < n - 2 { a = sin(a + dot(e[i + 4], e[i + 4])) } }",
          "< n + 16 { if i < n - 2 { a = sin(a + sum(e[i])) } else { a = cos(a) } }",
          "in 16..n { if i < n - 2 { a = sin(a + sum(e[i])) } else { a = cos(a) } }",
          "< n { a = 0.5 * a\n if i > 2 { continue }\n if i < n - 2 { a = sin(a + sum(e[i])) } "
          "}"}) {
      const std::string text =
          "fn f(x: [n, d]f64, w: [d, s]f64) -> f64 {\n  let m = n" + less +
          "\n  let e = gen i < m, k < s { sum l < d { sin(f64(i) + w[l, k]) * x[i, l] } }\n"
          "  var a = 0.3\n  for i " +
          loop + "\n  return a\n}\n";
      INFO(text);
      const ir::Module ssa = LowerText(text, "f");
      for (const int64_t n : {2, 3, 4, 5, 16, 17, 18, 19, 33, 34}) {
        INFO(n);
        const std::vector<Tensor> args = {Waves(n, 2, 0.5), Waves(2, 3, 1.5)};
        CheckSameOptimised(ssa, Transform::kValue, args);
        CheckSameOptimised(ssa, Transform::kValueAndGrad, args);
      }
    }
  }
}

TEST_CASE("turn blocks: a row that is not there is the error that it was") {
  for (const char* const row :
       {"e[i - 1]", "e[i + 1]", "gen l < s { e[i - 1, l] }", "e[i + 4 - 3]", "e[2 * i + 1]",
        "e[max(0 - 1, i - 2)]", "e[min(n, i + 1)]", "e[abs(i - 1) + 2]",
        "e[if i == 0 { n } else { i }]", "e[n - i]", "e[n - 2 - i]", "sum q < 2 { e[i + q] }"}) {
    INFO(row);
    const ir::Module ssa = LowerText(
        "fn f(x: [n, d]f64, w: [d, s]f64) -> f64 {\n  let e = x @ w\n  var a = 0.0\n"
        "  for i < n { a = sin(a + dot(e[i], " +
            std::string(row) + ")) }\n  return a\n}\n",
        "f");
    const ir::Module optimised = Derived(ssa, Transform::kValue);
    for (const int64_t n : {1, 16, 40}) {
      const std::vector<Tensor> args = {Waves(n, 2, 0.5), Waves(2, 3, 1.5)};
      REQUIRE(CheckSameTrap(optimised, ssa, args));
    }
  }
}

TEST_CASE("turn blocks: loops that take rows of one array are one loop") {
  const std::string first = "  let e = tanh.(x @ w)\n  var a = 0.3\n  for i < n { a = sin(a + ";
  for (const auto& [body, whole] : std::vector<std::pair<std::string, int>>{
           {"sum(e[i])) }\n  var b = 0.2\n  for i < n { b = cos(b * norm2(e[i])) }\n  return a * "
            "b\n",
            0},
           {"sum(e[i])) }\n  let v = sin.(u[0]) + a * 0.0\n  return a + sum(v)\n", 0},
           // What stands between them goes in front.
           {"sum(e[i])) }\n  let v = sin.(u[0])\n  var b = v\n"
            "  for i < n { b = tanh.(b + e[i]) }\n  var c = zeros(s)\n"
            "  for i < n { if e[i, 0] > 0.0 { c = c + b[0] * 0.0 + e[i] } }\n"
            "  return a + sum(b) + sum(c)\n",
            2},
           {"sum(e[i])) }\n  let v = sin.(u[0])\n  var b = v\n"
            "  for i < n { b = tanh.(b + e[i]) }\n  var c = zeros(s)\n"
            "  for i < n { if e[i, 0] > 0.0 { c = c + e[i] } }\n  return a + sum(b) + sum(c)\n",
            0},
           // From the other end, and one from each end.
           {"sum(e[n - 1 - i])) }\n  var b = 0.2\n  for i < n { b = cos(b * e[n - 1 - i, 1]) }\n"
            "  return a * b\n",
            0},
           {"sum(e[n - 1 - i])) }\n  var b = 0.2\n  for i < n { b = cos(b * e[i, 1]) }\n"
            "  return a * b\n",
            2},
           // The second takes what the first one leaves, or may trap as the first one may.
           {"sum(e[i])) }\n  var b = a\n  for i < n { b = cos(b * e[i, 1]) }\n  return b\n", 2},
           {"e[i, (y[i] + 1) % s]) }\n  var b = 0.1\n  for i < n { b = cos(b * e[i, (y[i] + 1) % "
            "s]) }\n"
            "  return a + b\n",
            2},
           {"e[i, (y[i] + 1) % s]) }\n  var b = 0.1\n  for i < n { b = cos(b * e[i, 1]) }\n"
            "  return a + b\n",
            2},
       }) {
    CheckProgram(first + body, whole);
  }
}

TEST_CASE("turn blocks: loops whose turns start or end apart are one loop") {
  const std::vector<std::string> turns = {"< n { # = sin(# + sum(e[i])) }",
                                          "in 2..n { # = sin(# + dot(e[i], e[i - 2])) }",
                                          "< n - 1 { # = cos(# * dot(e[i], e[i + 1])) }",
                                          "in 1..n - 1 { # += dot(e[i - 1], e[i + 1]) ** 2 }",
                                          "< n { # = sin(# + dot(e[i], e[max(0, i - 1)])) }"};
  const auto loop = [](const std::string& name, std::string of) {
    for (size_t at = of.find('#'); at != std::string::npos; at = of.find('#'))
      of.replace(at, 1, name);
    return "  var " + name + " = 0.3\n  for i " + of + "\n";
  };
  for (const std::string& first : turns) {
    for (const std::string& second : turns) {
      CheckProgram("  let e = tanh.(x @ w)\n" + loop("a", first) + loop("b", second) +
                       "  return a * b + a\n",
                   0, {0, 1, 2, 3, 17});
    }
  }
  // Where a counter has come to is asked for; too far apart.
  CheckProgram(
      "  let e = tanh.(x @ w)\n" + loop("a", turns[0]) +
          "  var b = 0.2\n  var j = 1\n  while j < n { b = sin(b + sum(e[j])); j = j + 1 }\n"
          "  return a + b * f64(j)\n",
      2);
  CheckProgram("  let e = tanh.(x @ w)\n" + loop("a", turns[0]) +
                   loop("b", "in 20..n { # = sin(# + sum(e[i])) }") + "  return a + b\n",
               2);
}

TEST_CASE("turn blocks: what stands between two loops is run where these are") {
  const std::string inner =
      "{\n    var s = 0.1\n    for i < n { s = sin(s + (sum l < h { e[i, l] })) }\n    let q = "
      "y[c]\n"
      "    var t = 0.2\n    for i < n { t = cos(t + (sum l < h { e[i, l] }) + f64(q)) }\n"
      "    r = r + s * t\n  }\n  return r\n}\n";
  const std::string head =
      "fn f(x: [n, d]f64, w: [d, h]f64, y: [m]i64, c: i64) -> f64 {\n"
      "  let e = tanh.(x @ w)\n  var r = 0.3\n";
  const ir::Module turns = LowerText(head + "  for c < m " + inner, "f");
  const ir::Module branch = LowerText(head + "  if c >= 0 " + inner, "f");
  for (const std::vector<int64_t>& y : std::vector<std::vector<int64_t>>{{}, {2}, {1, 2, 3}}) {
    const std::vector<Tensor> args = {
        Waves(4, 2, 0.5), Waves(2, 3, 1.5),
        Tensor::Of(DType::kI64, {static_cast<int64_t>(y.size())}, y),
        Tensor::Of(DType::kI64, {}, std::vector<int64_t>{y.empty() ? -1 : 0})};
    for (const ir::Module* ssa : {&turns, &branch}) {
      CheckSameOptimised(*ssa, Transform::kValue, args);
      CheckSameOptimised(*ssa, Transform::kValueAndGrad, args);
    }
  }
}

TEST_CASE("turn blocks: the first loop's error comes first") {
  for (const char* const row : {"e[i, y[i]]", "e[i, 0]"}) {
    const ir::Module ssa = LowerText(
        "fn f(x: [n, d]f64, w: [d, s]f64, y: [n]i64) -> f64 {\n  let e = x @ w\n  var a = 0.0\n"
        "  for i < n { a = sin(a + " +
            std::string(row) +
            ") }\n  var b = 0\n  for i < n { b = b + 6 / y[i] * i64(norm2(e[i])) }\n"
            "  return a + f64(b)\n}\n",
        "f");
    const ir::Module optimised = Derived(ssa, Transform::kValue);
    for (const std::vector<int64_t>& y : std::vector<std::vector<int64_t>>{
             {1, 2, 0, 1}, {1, 0, 9, 1}, {1, 1, 1, 9}, {1, 2, 1, 2}}) {
      const std::vector<Tensor> args = {Waves(4, 2, 0.5), Waves(2, 3, 1.5),
                                        Tensor::Of(DType::kI64, {4}, y)};
      CheckSameTrap(optimised, ssa, args);
    }
  }
}

TEST_CASE("turn blocks: rows that are not there of loops that start or end apart") {
  for (const auto& [first, second] : std::vector<std::pair<std::string, std::string>>{
           {"< n { a = sin(a + sum(e[i])) }", "in 1..n { b = sin(b + e[i + 1, 0]) }"},
           {"in 1..n { a = sin(a + sum(e[i - 2])) }", "< n { b = sin(b + e[i, 0]) }"},
           {"< n { a = sin(a + sum(e[i])) }", "< n + 1 { b = sin(b + e[i, 0]) }"},
           {"< n + 1 { a = sin(a + sum(e[i])) }", "in 1..n { b = sin(b + e[i - 1, 0]) }"},
           {"in 1..n { a = sin(a + e[i, y[i]]) }", "< n { b = sin(b + e[i, 0]) }"}}) {
    const ir::Module ssa = LowerText(
        "fn f(x: [n, d]f64, w: [d, s]f64, y: [n]i64) -> f64 {\n  let e = x @ w\n  var a = 0.0\n"
        "  for i " +
            first + "\n  var b = 0.1\n  for i " + second + "\n  return a + b\n}\n",
        "f");
    const ir::Module optimised = Derived(ssa, Transform::kValue);
    for (int64_t n : {0, 1, 2, 3, 17}) {
      const std::vector<int64_t> y(static_cast<size_t>(n), n == 3 ? 7 : 1);
      CheckSameTrap(optimised, ssa,
                    {Waves(n, 2, 0.5), Waves(2, 3, 1.5), Tensor::Of(DType::kI64, {n}, y)});
    }
  }
}

TEST_CASE("turn blocks: rows that the loop leaves out may trap") {
  const ir::Module ssa = LowerText(
      "fn f(x: [n, d]f64, k: [n]i64) -> f64 {\n"
      "  let e = gen i < n, j < d { x[k[i], j] * x[i, 0] }\n  var a = 0.0\n"
      "  for i in 1..n { a = sin(a + dot(e[i], e[i - 1])) }\n  return a\n}\n",
      "f");
  const ir::Module optimised = Derived(ssa, Transform::kValue);
  for (const int64_t n : {1, 21}) {
    for (int64_t bad = 0; bad < n; ++bad) {
      std::vector<int64_t> places(static_cast<size_t>(n), 0);
      places[static_cast<size_t>(bad)] = 99;
      const std::vector<Tensor> args = {Waves(n, 2, 0.5), Tensor::Of(DType::kI64, {n}, places)};
      const auto run = eval::Run(optimised, args);
      REQUIRE(run.ok());
      CHECK(run->trap.has_value());
    }
  }
}

}  // namespace
}  // namespace pullback::testing
