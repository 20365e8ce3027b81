// Programs with lists, trees, boxes and functions as data.
#include "tests/support/programs.h"

namespace pullback::testing {
namespace {

Tensor D(double v) { return Tensor::F64(v); }
Tensor I(int64_t v) { return Tensor::I64(v); }
Tensor V(const std::vector<double>& v) {
  return Tensor::Of<double>(DType::kF64, {static_cast<int64_t>(v.size())}, v);
}

std::vector<ProgramCase> Lists() {
  return {
      {"27 push to an empty list",
       "fn f(x: f64) -> f64 { var v: list f64 = list()\n v = push(v, x)\n return v[0] }",
       "f",
       {D(3)},
       {{1}}},
      {"a stack",
       "fn f(x: f64, n: i64) -> f64 {\n"
       "  var s: list f64 = list()\n  var y = 1.0\n"
       "  for i < n { y = y * x\n s = push(s, y) }\n"
       "  var r = 0.0\n"
       "  while len(s) > 0 { var v = 0.0\n s, v = pop(s)\n r = r * x + v }\n"
       "  return r }",
       "f",
       {D(1.25), I(3)},
       {{17.89453125}}},
      {"a list of arrays changed in place",
       "fn f(x: [n]f64, k: i64) -> f64 {\n"
       "  var xs = list(x, 2.0 * x)\n"
       "  for i < k { xs[1][i] += xs[0][i] * xs[1][0]\n xs[0][i] = xs[1][i] * 0.5 }\n"
       "  return sum(xs[0]) + xs[1][0] * xs[1][1] }",
       "f",
       {V({0.5, 1.5, 2.0}), I(2)},
       {}},
      {"a tree",
       R"(struct Node { value: f64, weights: [n]f64, kids: list Node }
fn grow(x: f64, w: [n]f64, depth: i64) -> Node {
  var kids: list Node = list()
  for i < depth { kids = push(kids, grow(x * w[i], w, depth - 1)) }
  return Node(value: x, weights: w * x, kids: kids)
}
fn total(t: Node) -> f64 {
  var s = t.value * t.value + sum(t.weights)
  for i < len(t.kids) { s += total(t.kids[i]) * 0.5 }
  return s
}
fn f(x: f64, w: [n]f64) -> f64 {
  var t = grow(x, w, 3)
  t.kids[1].kids[0].value *= x
  t.kids[0].weights[1] = x * w[2]
  return total(t)
})",
       "f",
       {D(0.75), V({0.5, 1.25, 2.0})},
       {}},
      {"lists of tuples and lists, copied",
       R"(fn f(x: f64, n: i64) -> f64 {
  var g = repeat(list((x, 1), (x * x, 2)), n)
  let before = g
  g[0][1].0 = 3.0 * x
  g[1] = push(g[1], (x, 3))
  return g[0][1].0 * before[0][1].0 + last(g[1]).0 + f64(len(g[1]) + g[0][1].1)
})",
       "f",
       {D(1.5), I(2)},
       {{3 * 3 * 1.5 * 1.5 + 1}}},
  };
}

}  // namespace

const std::vector<ProgramCase>& DataPrograms() {
  static const std::vector<ProgramCase> programs = Lists();
  return programs;
}

}  // namespace pullback::testing
