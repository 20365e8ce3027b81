// Sparse Jacobians and Hessians of lists, loops, branches, and functions with derivatives of their own.
#include <catch2/catch.hpp>

#include "tests/core/pipeline/sparse_check.h"

namespace pullback::pipeline {
namespace {

using testing::Doubles;
using testing::Mat;
using testing::Vec;

const Tensor kState = SevenNumbers();

TEST_CASE("sparse Jacobians: lists") {
  Check({"a list of scalars",
         "fn f(x: [n]f64) -> [n]f64 {\n  var xs: list f64 = list()\n"
         "  for i in 0..n { xs = push(xs, x[i] * x[i]) }\n"
         "  return gen i < n { xs[n - 1 - i] } }",
         {kState},
         {1},
         Transform::kJacobian,
         7});
  Check({"elements that change",
         "fn f(x: [n]f64) -> [n]f64 {\n  var xs = repeat(1.0, n)\n"
         "  for i in 1..n { xs[i] = x[i] * x[i - 1] }\n"
         "  xs[0] = 2.0\n  var last = 0.0\n  xs, last = pop(xs)\n  xs = push(xs, last * x[0])\n"
         "  return gen i < n { xs[i] } }",
         {kState},
         {2},
         Transform::kJacobian,
         13});
  Check({"arrays in lists",
         "struct P { at: [_]f64, id: i64, w: f64 }\n"
         "fn f(x: [n]f64) -> [n]f64 {\n  var ps: list P = list()\n"
         "  for i in 0..n { ps = push(ps, P(gen j < 2 { x[i] * [j == 0] }, i, 1.0)) }\n"
         "  for i in 1..n { ps[i].at[1] = x[i - 1] * ps[i].w }\n"
         "  ps[2].w = x[0]\n"
         "  return gen i < n { ps[i].at[0] * ps[i].at[1] * ps[i].w } }",
         {kState},
         {-1},
         Transform::kJacobian,
         14});
  Check({"trees",
         "struct Node { value: f64, kids: list Node }\n"
         "fn total(t: Node) -> f64 {\n  var s = t.value * t.value\n"
         "  for k in t.kids { s += total(k) }\n  return s }\n"
         "fn f(x: [n]f64) -> [n]f64 {\n  var t = Node(x[0], list())\n"
         "  for i in 1..n - 2 { t.kids = push(t.kids, Node(x[i], list())) }\n"
         "  t.kids[1].kids = push(t.kids[1].kids, Node(x[n - 1], list()))\n"
         "  return gen i < n { if i == 0 { total(t) } else { x[i] } } }",
         {kState},
         {-1},
         Transform::kJacobian,
         12});
  Check({"Hessian through a list",
         "fn f(x: [n]f64) -> f64 {\n  var xs: list f64 = list()\n"
         "  for i in 0..n { xs = push(xs, x[i] * x[i]) }\n  var s = 0.0\n"
         "  for i in 1..n { s += xs[i] * xs[i - 1] }\n  return s }",
         {kState},
         {3},
         Transform::kHessian,
         19});
}

// The pattern is that of the rules.
TEST_CASE("sparse Jacobians: functions with derivatives of their own") {
  const std::string body =
      "fn g(x: [n]f64) -> [n]f64 %% {\n  var y = x\n"
      "  for i in 1..n { y[i] = x[i] * x[i - 1] }\n  return y }\n";
  const std::string rules =
      "fn back(x: [n]f64, b: [n]f64) -> [n]f64 {\n  var d = b\n"
      "  for i in 1..n {\n    d[i] = b[i] * x[i - 1]\n  }\n"
      "  for i in 1..n { d[i - 1] += b[i] * x[i] }\n  return d }\n"
      "fn forth(x: [n]f64, v: [n]f64) -> ([n]f64, [n]f64) {\n  var d = v\n  var y = x\n"
      "  for i in 1..n { y[i] = x[i] * x[i - 1]\n"
      "    d[i] = v[i] * x[i - 1] + x[i] * v[i - 1] }\n"
      "  return (y, d) }\n"
      "fn f(x: [n]f64) -> [n]f64 { return g(gen i < n { sin(x[i]) }) }";
  for (const std::string with : {"with vjp back", "with jvp forth", "with vjp back, jvp forth"}) {
    std::string text = body + rules;
    text.replace(text.find("%%"), 2, with);
    Check({with.c_str(), text.c_str(), {kState}, {2}, Transform::kJacobian, 13});
  }
  // What the function does is of no account.
  Check({"straight through",
         "fn steps(x: [n]f64) -> [n]f64 with vjp back { return gen i < n { x[n - 1] } }\n"
         "fn back(x: [n]f64, b: [n]f64) -> [n]f64 { return b }\n"
         "fn f(x: [n]f64) -> [n]f64 { return steps(gen i < n { x[i] * x[i] }) }",
         {kState},
         {1},
         Transform::kJacobian,
         7});
  Check({"two results, two arguments",
         "fn g(x: [n]f64, c: f64, y: [n]f64) -> ([n]f64, f64) with vjp back {\n"
         "  return (x * c, y[0]) }\n"
         "fn back(x: [n]f64, c: f64, y: [n]f64, b: ([n]f64, f64))\n"
         "    -> ([n]f64, f64, [n]f64) {\n"
         "  return (b.0 * c, b.0 @ x, gen i < n { [i == 0] * b.1 }) }\n"
         "fn f(x: [n]f64) -> ([n]f64, f64) {\n  return g(x, x[1], gen i < n { x[n - 1 - i] }) }",
         {kState},
         {2, 1},
         Transform::kJacobian,
         13});
  // The entry has one itself.
  Check({"an entry, straight through",
         "fn f(x: [n]f64) -> [n]f64 with jvp forth { return gen i < n { 0.0 } }\n"
         "fn forth(x: [n]f64, v: [n]f64) -> ([n]f64, [n]f64) { return (gen i < n { 0.0 }, v) }",
         {kState},
         {1},
         Transform::kJacobian,
         7});
  Check({"an entry, wider than what it computes",
         "fn f(x: [n]f64) -> [n]f64 with vjp back { return gen i < n { round(x[i]) } }\n"
         "fn back(x: [n]f64, b: [n]f64) -> [n]f64 {\n"
         "  return gen i < n { 2.0 * b[i] + (if i > 0 { b[i - 1] } else { 0.0 }) } }",
         {kState},
         {2},
         Transform::kJacobian,
         13});
  // The rule asks whether a seed is 0: all elements of what that call gives, and no others.
  Check({"a rule that decides by its seed",
         "fn g(x: f64) -> f64 with vjp back { return x * x }\n"
         "fn back(x: f64, b: f64) -> f64 { if b == 0.0 { return 0.0 }  return 2.0 * x * b }\n"
         "fn f(x: [n]f64) -> [n]f64 {\n  var y = x\n"
         "  for i in 0..n { y[i] = g(x[i]) }\n  return y }",
         {kState},
         {1},
         Transform::kJacobian,
         7});
}

// The pattern is that of the run: which turns there are, which branches they take.
TEST_CASE("sparse Jacobians: control flow") {
  Check({"a loop of element updates",
         "fn f(x: [n]f64) -> [n]f64 {\n  var y = x\n"
         "  for i in 1..n - 1 { y[i] = x[i - 1] - 2.0 * x[i] * x[i] + x[i + 1] }\n  return y }",
         {kState},
         {3},
         Transform::kJacobian,
         17});
  Check({"a recurrence",
         "fn f(x: [n]f64) -> [n]f64 {\n  var y = x\n"
         "  for i in 1..n { y[i] = y[i - 1] * x[i] }\n  return y }",
         {kState},
         {7},
         Transform::kJacobian,
         28});
  const std::string steps =
      "fn f(x: [n]f64, m: i64) -> [n]f64 {\n  var u = x\n"
      "  for t in 0..m {\n    u = gen i < n { u[i] * u[i] + [i > 0] * u[i - 1] }\n  }\n"
      "  return u }";
  Check({"time steps", steps.c_str(), {kState, Tensor::I64(2)}, {3}, Transform::kJacobian, 18});
  Check({"no time steps", steps.c_str(), {kState, Tensor::I64(0)}, {1}, Transform::kJacobian, 7});
  Check({"branches, accumulation, a scalar on the way",
         "fn f(x: [n]f64, k: [n]i64) -> ([n]f64, f64) {\n  var y = gen i < n { 0.0 }\n"
         "  var s = 1.0\n"
         "  for i in 0..n {\n    if k[i] > 1 { y[k[i]] += x[i] * x[i] } else { s = s * x[i] }\n"
         "    if i == 4 { break }\n  }\n  return (y, s) }",
         {kState, Ints({2, 0, 2, 5, 1, 3, 3})},
         {1, 1},
         Transform::kJacobian,
         3});
  Check({"recursion",
         "fn g(x: [n]f64, y: [n]f64, k: i64) -> [n]f64 {\n  if k == 0 { return y }\n"
         "  return g(x, gen i < n { if i + 1 < n { y[i] * x[i + 1] } else { y[i] } }, k - 1) }\n"
         "fn f(x: [n]f64, k: i64) -> [n]f64 { return g(x, x, k) }",
         {kState, Tensor::I64(2)},
         {2},
         Transform::kJacobian,
         13});
  Check({"matrices",
         "fn f(x: [n, m]f64, c: f64) -> [n]f64 {\n  var s = gen i < n { c }\n"
         "  for j in 0..m { s = gen i < n { s[i] * x[i, j] } }\n  return s }",
         {Mat(2, 3, {1, 2, 3, 4, 5, 6}), Tensor::F64(0.5)},
         {1},
         Transform::kJacobian,
         6});
}

// Columns that lie side by side are one interval.
TEST_CASE("sparse Jacobians: wide rows of sequential code") {
  std::vector<double> x;
  for (int i = 0; i < 80; ++i) x.push_back(0.9 + 0.01 * (i % 7));
  Check({"running product beside the elements",
         "fn f(x: [n]f64) -> [n]f64 {\n  var y = gen i < n { 0.0 }\n  var s = 1.0\n"
         "  for i in 0..n {\n    s = s * x[i]\n"
         "    if i == 70 { y[i] = s } else { y[i] = x[i] * x[i] }\n  }\n  return y }",
         {Vec(x)},
         {2},
         Transform::kJacobian,
         150});
  // Every other column is more than there is room for: the closest become one.
  for (int i = 0; i < 80; ++i) x.push_back(1.0);
  Check({"scattered columns",
         "fn f(x: [n]f64) -> [2]f64 {\n  var y = gen i < 2 { 0.0 }\n"
         "  for i in 0..n { if i % 2 == 0 { y[0] += x[i] } else { y[1] += x[i] ** 2 } }\n"
         "  return y }",
         {Vec(x)},
         {-1}});
}

// Columns in no order, more of them in some rows than there is room for.
TEST_CASE("sparse Jacobians: rows of scattered columns") {
  uint32_t state = 12345;
  const auto next = [&](int64_t n) {
    state = state * 1664525u + 1013904223u;
    return static_cast<int64_t>(state >> 8) % n;
  };
  for (const int64_t rows : {4, 16, 40}) {
    std::vector<int64_t> to, from;
    std::vector<double> x;
    for (int k = 0; k < 150; ++k) x.push_back(0.5 + 0.01 * k);
    for (int k = 0; k < 400; ++k) {
      to.push_back(next(rows));
      from.push_back(next(150));
    }
    Check({"scattered",
           "fn f(x: [n]f64, to: [m]i64, from: [m]i64, z: [r]f64) -> [r]f64 {\n  var y = z\n"
           "  for k in 0..m {\n    y[to[k]] += x[from[k]] ** 2\n"
           "    if k % 50 == 0 { y[to[k]] = x[from[k]] * y[to[(k + 7) % m]] }\n  }\n  return y }",
           {Vec(x), Ints(to), Ints(from), Vec(std::vector<double>(static_cast<size_t>(rows), 1.0))},
           {-1}});
  }
}

TEST_CASE("sparse Hessians: control flow") {
  const Transform h = Transform::kHessian;
  Check({"a chain by a loop",
         "fn f(x: [n]f64) -> f64 {\n  var s = 0.0\n"
         "  for i in 1..n { s += 100.0 * (x[i] - x[i - 1] ** 2) ** 2 + (1.0 - x[i - 1]) ** 2 }\n"
         "  return s }",
         {kState},
         {3},
         h,
         19});
  Check({"a step of time, then a separable loss",
         "fn f(x: [n]f64, m: i64) -> f64 {\n  var u = x\n"
         "  for t in 0..m { u = gen i < n { u[i] * u[i] + [i > 0] * u[i - 1] } }\n"
         "  return sum i < n { sin(u[i]) } }",
         {kState, Tensor::I64(1)},
         {3},
         h,
         19});
}

}  // namespace
}  // namespace pullback::pipeline
