// Sparse Jacobians and Hessians against dense ones, by the interpreter; by the parameter x.
#include <catch2/catch.hpp>

#include <algorithm>

#include "core/base/relation.h"
#include "core/pipeline/pipeline.h"
#include "tests/support/derivatives.h"
#include "tests/support/generator.h"
#include "tests/support/matrices.h"
#include "tests/support/programs.h"
#include "tests/support/random_list_program.h"
#include "tests/support/relations.h"

namespace pullback::pipeline {
namespace {

using testing::Doubles;
using testing::Mat;
using testing::Vec;

struct SparseProgram {
  const char* name;
  const char* text;
  std::vector<Tensor> args;
  std::vector<int64_t> seeds;  // by block; -1: any number
  Transform transform = Transform::kJacobian;
  int64_t elements = -1;  // of the first block
};

struct CooBlock {
  int64_t seeds;
  std::vector<int64_t> shape;
  std::vector<Tensor> coordinates;
  std::vector<double> values;
};

ir::Module Derive(const SparseProgram& p, bool sparse, bool optimise) {
  const ir::Module lowered = testing::LowerText(p.text, "f");
  const ir::Function& f = lowered.Get(lowered.entry);
  std::vector<bool> wrt;
  for (ir::Value v : f.params()) wrt.push_back(f.values[v.id].name == "x");
  Options options;
  options.sparse = sparse;
  options.optimise = optimise;
  StatusOr<Staged> staged = Derive(lowered, p.transform, wrt, options);
  INFO(staged.status().ToString());
  REQUIRE(staged.ok());
  return std::move(staged->final);
}

std::vector<CooBlock> Blocks(const std::vector<Tensor>& results, size_t first, size_t count) {
  std::vector<CooBlock> blocks;
  for (size_t at = first; at < results.size() && blocks.size() < count;) {
    CooBlock b{results[at].At<int64_t>(0), {}, {}, {}};
    const Tensor& shape = results[at + 1];
    for (int64_t k = 0; k < shape.ElementCount(); ++k) b.shape.push_back(shape.At<int64_t>(k));
    at += 2;
    for (size_t k = 0; k < b.shape.size(); ++k) b.coordinates.push_back(results[at++]);
    b.values = Doubles(results[at++]);
    blocks.push_back(std::move(b));
  }
  return blocks;
}

// Row-major; coordinates are in range, in order, and none comes twice.
std::vector<double> Dense(const CooBlock& b) {
  int64_t count = 1, last = -1;
  for (int64_t extent : b.shape) count *= extent;
  std::vector<double> dense(static_cast<size_t>(count), 0.0);
  for (size_t e = 0; e < b.values.size(); ++e) {
    int64_t flat = 0;
    for (size_t axis = 0; axis < b.shape.size(); ++axis) {
      const auto at = b.coordinates[axis].At<int64_t>(static_cast<int64_t>(e));
      REQUIRE(at >= 0);
      REQUIRE(at < b.shape[axis]);
      flat = flat * b.shape[axis] + at;
    }
    REQUIRE(flat > last);
    last = flat;
    dense[static_cast<size_t>(flat)] = b.values[e];
  }
  return dense;
}

void Check(const SparseProgram& p) {
  INFO(p.name);
  const std::vector<Tensor> dense = testing::RunOk(Derive(p, false, false), p.args);
  const size_t count = p.seeds.size(), given = dense.size() - count;
  for (const bool optimise : {false, true}) {
    const auto sparse = Blocks(testing::RunOk(Derive(p, true, optimise), p.args), given, count);
    REQUIRE(sparse.size() == count);
    for (size_t k = 0; k < count; ++k) {
      if (p.seeds[k] >= 0) CHECK(sparse[k].seeds == p.seeds[k]);
      CHECK(sparse[k].shape == dense[given + k].shape);
      const std::vector<double> got = Dense(sparse[k]), want = Doubles(dense[given + k]);
      REQUIRE(got.size() == want.size());
      for (size_t i = 0; i < got.size(); ++i)
        CHECK(got[i] == Approx(want[i]).epsilon(1e-12).margin(1e-14));
    }
    if (p.elements >= 0) CHECK(static_cast<int64_t>(sparse[0].values.size()) == p.elements);
  }
}

Tensor Ints(const std::vector<int64_t>& v) {
  return Tensor::Of(DType::kI64, {static_cast<int64_t>(v.size())}, v);
}

const Tensor kX = Vec({0.5, -1.25, 2.0, 0.75, 1.5, -0.5, 0.25});

TEST_CASE("sparse Jacobians: stencils take as many seeds as they are wide") {
  Check({"map",
         "fn f(x: [n]f64) -> [n]f64 { return x * sin.(x) }",
         {kX},
         {1},
         Transform::kJacobian,
         7});
  Check({"tridiagonal",
         "fn f(x: [n]f64) -> [n]f64 {\n"
         "  return gen i < n { 2.0 * x[i] * x[i] - [i > 0] * x[i - 1] - [i + 1 < n] * x[i + 1] } }",
         {kX},
         {3},
         Transform::kJacobian,
         19});
  Check({"two in a row",
         "fn f(x: [n]f64) -> [n]f64 {\n"
         "  let y = gen i < n { x[i] * x[i] + [i > 0] * x[i - 1] }\n"
         "  return gen i < n { sin(y[i]) * y[i] + [i > 0] * y[i - 1] } }",
         {kX},
         {3},
         Transform::kJacobian,
         18});
  Check({"strided",
         "fn f(x: [n]f64) -> [n / 2]f64 { return gen i < n / 2 { x[2 * i] * x[2 * i + 1] } }",
         {kX},
         {1},
         Transform::kJacobian,
         6});
  Check({"every third, by brackets",
         "fn f(x: [n]f64) -> [n]f64 { return gen i < n { sum j < n { [3 * j == i + 1] * x[j] ** 2 "
         "} } }",
         {kX},
         {1},
         Transform::kJacobian,
         2});
  Check({"within multiples",
         "fn f(x: [n]f64) -> [n]f64 {\n"
         "  return gen i < n { sum j < n { [2 * j <= i and i < 2 * j + 3] * x[j] ** 2 } } }",
         {kX},
         {2},
         Transform::kJacobian,
         10});
  Check({"reversed",
         "fn f(x: [n]f64) -> [n]f64 { return gen i < n { x[n - 1 - i] * x[i] } }",
         {kX},
         {2},
         Transform::kJacobian,
         13});
  Check({"convolution",
         "fn f(x: [n]f64, c: [m]f64) -> [n - m + 1]f64 {\n"
         "  return gen i < n - m + 1 { sum j < m { x[i + j] * x[i + j] * c[j] } } }",
         {kX, Vec({1, 2, 3})},
         {3},
         Transform::kJacobian,
         15});
}

TEST_CASE("sparse Jacobians: control flow within bodies, and top-level updates") {
  Check({"a loop inside",
         "fn step(x: f64) -> f64 {\n"
         "  var r = x\n  var k = 0\n  while k < 3 { r = sin(r) * x; k = k + 1 }\n  return r }\n"
         "fn f(x: [n]f64) -> [n]f64 {\n"
         "  return gen i < n { step(x[i] + [i > 0] * x[i - 1] + [i + 1 < n] * x[i + 1]) } }",
         {kX},
         {3},
         Transform::kJacobian,
         19});
  Check({"boundary",
         "fn f(x: [n]f64) -> [n]f64 {\n"
         "  var y = gen i < n { x[i] * x[i] }\n  y[0] = x[n - 1] * 3.0\n  return y }",
         {kX},
         {2},
         Transform::kJacobian,
         8});
}

TEST_CASE("sparse Jacobians: index arrays and predicates on data") {
  const Tensor idx = Ints({3, 1, 3, 6, 0});
  Check({"gather",
         "fn f(x: [n]f64, k: [m]i64) -> [m]f64 { return gen i < m { sin(x[k[i]]) } }",
         {kX, idx},
         {1},
         Transform::kJacobian,
         5});
  Check({"gather and neighbour",
         "fn f(x: [n]f64, k: [m]i64) -> [m]f64 { return gen i < m { x[k[i]] * x[i] } }",
         {kX, idx},
         {2},
         Transform::kJacobian,
         9});
  Check({"scatter",
         "fn f(x: [n]f64, k: [n]i64, y: [m]f64) -> [m]f64 {\n"
         "  return gen j < m { sum i < n { [k[i] == j] * x[i] * x[i] } } }",
         {kX, Ints({0, 2, 2, 1, 0, 2, 1}), Vec({0, 0, 0})},
         {1},
         Transform::kJacobian,
         7});
  Check({"scatter, then gather",
         "fn f(x: [n]f64, k: [n]i64, y: [m]f64) -> [n]f64 {\n"
         "  let s = gen j < m { sum i < n { [k[i] == j] * x[i] * x[i] } }\n"
         "  return gen i < n { s[k[i]] * 2.0 } }",
         {kX, Ints({0, 2, 2, 1, 0, 2, 1}), Vec({0, 0, 0})},
         {3},
         Transform::kJacobian,
         17});
  Check({"mask",
         "fn f(x: [n]f64, k: [n]i64) -> [n]f64 { return gen i < n { if k[i] > 0 { x[i] } else { "
         "0.0 } } }",
         {kX, Ints({0, 2, 2, 0, 0, 2, 1})},
         {1}});
}

TEST_CASE("sparse Jacobians: several axes, scalars, nothing, everything") {
  const Tensor m = Mat(2, 3, {1, 2, 3, 4, 5, 6});
  Check({"transpose",
         "fn f(x: [n, m]f64) -> [m, n]f64 { return transpose(x) * x[0, 0] }",
         {m},
         {2},
         Transform::kJacobian,
         11});
  Check({"of a scalar",
         "fn f(x: f64, y: [n]f64) -> [n]f64 { return x * x * y }",
         {Tensor::F64(2), kX},
         {1},
         Transform::kJacobian,
         7});
  Check({"to a scalar",
         "fn f(x: [n]f64) -> f64 { return sum i < n - 2 { x[i] * x[i] } }",
         {kX},
         {1},
         Transform::kJacobian,
         5});
  Check({"scalars",
         "fn f(x: f64) -> f64 { return x * x }",
         {Tensor::F64(3)},
         {1},
         Transform::kJacobian,
         1});
  Check({"none",
         "fn f(x: [n]f64, y: [m]f64) -> [m]f64 { return y * 2.0 }",
         {kX, Vec({1, 2})},
         {0},
         Transform::kJacobian,
         0});
  Check({"itself", "fn f(x: [n]f64) -> [n]f64 { return x }", {kX}, {1}, Transform::kJacobian, 7});
  Check({"dense",
         "fn f(x: [n]f64, a: [m, n]f64) -> [m]f64 { return tanh.(a @ x) }",
         {Vec({1, 2, 3}), m},
         {2},
         Transform::kJacobian,
         6});
  Check({"two results",
         "fn f(x: [n]f64) -> ([n]f64, f64) { return (x * x, x[0] * x[1]) }",
         {kX},
         {1, 1},
         Transform::kJacobian,
         7});
  Check({"no elements",
         "fn f(x: [n]f64) -> [n]f64 { return x * x }",
         {Vec({})},
         {0},
         Transform::kJacobian,
         0});
}

// A state is made of all terms in front of it: lower triangles.
TEST_CASE("sparse Jacobians: scans") {
  Check({"cumulative sum",
         "fn f(x: [n]f64) -> [n]f64 { return scan sum i < n { x[i] * x[i] } }",
         {kX},
         {7},
         Transform::kJacobian,
         28});
  Check({"states in front of the terms",
         "fn f(x: [n]f64) -> [n]f64 { return exscan prod i < n { x[i] } }",
         {kX},
         {6},
         Transform::kJacobian,
         21});
  Check({"of neighbours, the greatest",
         "fn f(x: [n]f64) -> [n - 1]f64 { return scan max i < n - 1 { x[i] * x[i + 1] } }",
         {kX},
         {6},
         Transform::kJacobian,
         27});
  Check({"rows by themselves",
         "fn f(x: [n, m]f64) -> [m, n]f64 {\n"
         "  return gen j < m, i < n { (scan sum k < m { x[i, k] ** 2 })[j] } }",
         {Mat(2, 3, {1, 2, 3, 4, 5, 6})},
         {3},
         Transform::kJacobian,
         12});
  Check({"along the first axis",
         "fn f(x: [n, m]f64) -> [n, m]f64 { return scan sum i < n { gen j < m { x[i, j] ** 2 } } }",
         {Mat(3, 2, {1, 2, 3, 4, 5, 6})},
         {3},
         Transform::kJacobian,
         12});
  Check({"a difference of sums",
         "fn f(x: [n]f64) -> [n]f64 {\n  let s = scan sum i < n { x[i] }\n"
         "  return gen i < n { s[i] * x[0] } }",
         {kX},
         {7},
         Transform::kJacobian,
         28});
  Check({"a linear recurrence",
         "fn f(x: [n]f64, a: [n]f64) -> [n]f64 { return scan_linear(a, gen i < n { sin(x[i]) }) }",
         {kX, kX},
         {7},
         Transform::kJacobian,
         28});
  Check({"of what is there",
         "fn f(x: [n]f64, k: [n]i64) -> [n]f64 {\n"
         "  return scan sum i < n { if k[i] > 0 { x[i] ** 2 } else { 0.0 } } }",
         {kX, Ints({0, 1, 0, 0, 1, 1, 0})},
         {3}});
  Check({"in a loop",
         "fn f(x: [n]f64, m: i64) -> [n]f64 {\n  var u = x\n"
         "  for t in 0..m { u = scan sum i < n { u[i] * x[i] } }\n  return u }",
         {kX, Tensor::I64(2)},
         {7},
         Transform::kJacobian,
         28});
  Check({"Hessian of a sum of products",
         "fn f(x: [n]f64) -> f64 {\n  let s = scan sum i < n { x[i] }\n"
         "  return sum i < n { [i < 2] * s[i] ** 3 } }",
         {kX},
         {2},
         Transform::kHessian,
         4});
}

TEST_CASE("sparse Jacobians: a user's monoid") {
  Check({"the prelude's scan",
         "fn f(x: [n]f64) -> [n]f64 {\n"
         "  let states = scan(|s, i| (s.0 * x[i], s.1 + s.0), (1.0, 0.0), n)\n"
         "  return gen i < n { states[i].1 } }",
         {kX},
         {6},
         Transform::kJacobian,
         21});
  std::vector<double> x;
  for (int i = 0; i < 90; ++i) x.push_back(0.9 + 0.01 * (i % 7));
  Check({"longer than a set has intervals",
         "fn f(x: [n]f64) -> [n]f64 {\n"
         "  let states = scan(|s, i| s * x[i], 1.0, n)\n"
         "  return gen i < n { states[i] } }",
         {Vec(x)},
         {90},
         Transform::kJacobian,
         4095});
}

TEST_CASE("sparse Jacobians: lists") {
  Check({"a list of scalars",
         "fn f(x: [n]f64) -> [n]f64 {\n  var xs: list f64 = list()\n"
         "  for i in 0..n { xs = push(xs, x[i] * x[i]) }\n"
         "  return gen i < n { xs[n - 1 - i] } }",
         {kX},
         {1},
         Transform::kJacobian,
         7});
  Check({"elements that change",
         "fn f(x: [n]f64) -> [n]f64 {\n  var xs = repeat(1.0, n)\n"
         "  for i in 1..n { xs[i] = x[i] * x[i - 1] }\n"
         "  xs[0] = 2.0\n  var last = 0.0\n  xs, last = pop(xs)\n  xs = push(xs, last * x[0])\n"
         "  return gen i < n { xs[i] } }",
         {kX},
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
         {kX},
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
         {kX},
         {-1},
         Transform::kJacobian,
         12});
  Check({"Hessian through a list",
         "fn f(x: [n]f64) -> f64 {\n  var xs: list f64 = list()\n"
         "  for i in 0..n { xs = push(xs, x[i] * x[i]) }\n  var s = 0.0\n"
         "  for i in 1..n { s += xs[i] * xs[i - 1] }\n  return s }",
         {kX},
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
    Check({with.c_str(), text.c_str(), {kX}, {2}, Transform::kJacobian, 13});
  }
  // What the function does is of no account.
  Check({"straight through",
         "fn steps(x: [n]f64) -> [n]f64 with vjp back { return gen i < n { x[n - 1] } }\n"
         "fn back(x: [n]f64, b: [n]f64) -> [n]f64 { return b }\n"
         "fn f(x: [n]f64) -> [n]f64 { return steps(gen i < n { x[i] * x[i] }) }",
         {kX},
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
         {kX},
         {2, 1},
         Transform::kJacobian,
         13});
  // The entry has one itself.
  Check({"an entry, straight through",
         "fn f(x: [n]f64) -> [n]f64 with jvp forth { return gen i < n { 0.0 } }\n"
         "fn forth(x: [n]f64, v: [n]f64) -> ([n]f64, [n]f64) { return (gen i < n { 0.0 }, v) }",
         {kX},
         {1},
         Transform::kJacobian,
         7});
  Check({"an entry, wider than what it computes",
         "fn f(x: [n]f64) -> [n]f64 with vjp back { return gen i < n { round(x[i]) } }\n"
         "fn back(x: [n]f64, b: [n]f64) -> [n]f64 {\n"
         "  return gen i < n { 2.0 * b[i] + (if i > 0 { b[i - 1] } else { 0.0 }) } }",
         {kX},
         {2},
         Transform::kJacobian,
         13});
  // The rule asks whether a seed is 0: all elements of what that call gives, and no others.
  Check({"a rule that decides by its seed",
         "fn g(x: f64) -> f64 with vjp back { return x * x }\n"
         "fn back(x: f64, b: f64) -> f64 { if b == 0.0 { return 0.0 }  return 2.0 * x * b }\n"
         "fn f(x: [n]f64) -> [n]f64 {\n  var y = x\n"
         "  for i in 0..n { y[i] = g(x[i]) }\n  return y }",
         {kX},
         {1},
         Transform::kJacobian,
         7});
}

// The pattern is that of the run: which turns there are, which branches they take.
TEST_CASE("sparse Jacobians: control flow") {
  Check({"a loop of element updates",
         "fn f(x: [n]f64) -> [n]f64 {\n  var y = x\n"
         "  for i in 1..n - 1 { y[i] = x[i - 1] - 2.0 * x[i] * x[i] + x[i + 1] }\n  return y }",
         {kX},
         {3},
         Transform::kJacobian,
         17});
  Check({"a recurrence",
         "fn f(x: [n]f64) -> [n]f64 {\n  var y = x\n"
         "  for i in 1..n { y[i] = y[i - 1] * x[i] }\n  return y }",
         {kX},
         {7},
         Transform::kJacobian,
         28});
  const std::string steps =
      "fn f(x: [n]f64, m: i64) -> [n]f64 {\n  var u = x\n"
      "  for t in 0..m {\n    u = gen i < n { u[i] * u[i] + [i > 0] * u[i - 1] }\n  }\n"
      "  return u }";
  Check({"time steps", steps.c_str(), {kX, Tensor::I64(2)}, {3}, Transform::kJacobian, 18});
  Check({"no time steps", steps.c_str(), {kX, Tensor::I64(0)}, {1}, Transform::kJacobian, 7});
  Check({"branches, accumulation, a scalar on the way",
         "fn f(x: [n]f64, k: [n]i64) -> ([n]f64, f64) {\n  var y = gen i < n { 0.0 }\n"
         "  var s = 1.0\n"
         "  for i in 0..n {\n    if k[i] > 1 { y[k[i]] += x[i] * x[i] } else { s = s * x[i] }\n"
         "    if i == 4 { break }\n  }\n  return (y, s) }",
         {kX, Ints({2, 0, 2, 5, 1, 3, 3})},
         {1, 1},
         Transform::kJacobian,
         3});
  Check({"recursion",
         "fn g(x: [n]f64, y: [n]f64, k: i64) -> [n]f64 {\n  if k == 0 { return y }\n"
         "  return g(x, gen i < n { if i + 1 < n { y[i] * x[i + 1] } else { y[i] } }, k - 1) }\n"
         "fn f(x: [n]f64, k: i64) -> [n]f64 { return g(x, x, k) }",
         {kX, Tensor::I64(2)},
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

TEST_CASE("sparse Hessians") {
  const Transform h = Transform::kHessian;
  Check(
      {"separable", "fn f(x: [n]f64) -> f64 { return sum i < n { sin(x[i]) } }", {kX}, {1}, h, 7});
  Check({"chain",
         "fn f(x: [n]f64) -> f64 {\n"
         "  return sum i < n - 1 { 100.0 * (x[i + 1] - x[i] * x[i]) ** 2 + (1.0 - x[i]) ** 2 } }",
         {kX},
         {3},
         h,
         19});
  Check({"by a scalar too",
         "fn f(x: [n]f64) -> f64 { return x[0] * sum i < n { sin(x[i]) } }",
         {kX},
         {7},
         h,
         19});
  Check({"quadratic",
         "fn f(x: [n]f64, a: [n, n]f64) -> f64 { return x @ (a @ x) }",
         {Vec({1, 2}), Mat(2, 2, {1, 2, 3, 4})},
         {2},
         h,
         4});
}

TEST_CASE("sparse Hessians: control flow") {
  const Transform h = Transform::kHessian;
  Check({"a chain by a loop",
         "fn f(x: [n]f64) -> f64 {\n  var s = 0.0\n"
         "  for i in 1..n { s += 100.0 * (x[i] - x[i - 1] ** 2) ** 2 + (1.0 - x[i - 1]) ** 2 }\n"
         "  return s }",
         {kX},
         {3},
         h,
         19});
  Check({"a step of time, then a separable loss",
         "fn f(x: [n]f64, m: i64) -> f64 {\n  var u = x\n"
         "  for t in 0..m { u = gen i < n { u[i] * u[i] + [i > 0] * u[i - 1] } }\n"
         "  return sum i < n { sin(u[i]) } }",
         {kX, Tensor::I64(1)},
         {3},
         h,
         19});
}

TEST_CASE("sparse Jacobians: relations") {
  const ApiValue edges = RelationFromCoo({7, 7}, {{0, 1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6, 0}});
  std::vector<Tensor> args = RelationArrays(edges);
  args.push_back(kX);
  Check({"laplacian",
         "fn f(r: rel[n, n], x: [n]f64) -> [n]f64 {\n"
         "  return gen i < n { sum j < n { [r(i, j)] * (x[j] - x[i]) * x[i] } } }",
         args,
         {3},
         Transform::kJacobian,
         14});
  Check({"energy",
         "fn f(r: rel[n, n], x: [n]f64) -> f64 {\n"
         "  return sum i < n, j < n { [r(i, j)] * (x[i] - x[j]) ** 2 } }",
         args,
         {4},
         Transform::kHessian,
         21});
}

// By every parameter; false where there is no such matrix (lists, too many axes).
bool CheckWhole(const ir::Module& ssa, const std::vector<Tensor>& args, Transform transform) {
  const std::vector<bool> wrt(ssa.Get(ssa.entry).params().size(), true);
  Options options;
  options.optimise = false;
  const StatusOr<Staged> dense = Derive(ssa, transform, wrt, options);
  if (!dense.ok()) return false;
  const std::vector<Tensor> want = testing::RunOk(dense->final, args);
  const size_t given = ssa.Get(ssa.entry).results.size();
  options.sparse = options.optimise = true;
  const StatusOr<Staged> sparse = Derive(ssa, transform, wrt, options);
  REQUIRE(sparse.ok());
  const auto blocks = Blocks(testing::RunOk(sparse->final, args), given, want.size() - given);
  REQUIRE(blocks.size() == want.size() - given);
  for (size_t k = 0; k < blocks.size(); ++k) {
    INFO("block " << k);
    REQUIRE(blocks[k].shape == want[given + k].shape);
    const std::vector<double> got = Dense(blocks[k]), expected = Doubles(want[given + k]);
    const bool f32 = want[given + k].dtype == DType::kF32;
    for (size_t i = 0; i < got.size(); ++i)
      CHECK(got[i] == Approx(expected[i]).epsilon(f32 ? 1e-4 : 1e-9).margin(f32 ? 1e-5 : 1e-12));
  }
  return true;
}

TEST_CASE("sparse Jacobians: generated programs") {
  testing::Coverage coverage;
  int checked = 0;
  for (const testing::Kind kind : {testing::Kind::kTensor, testing::Kind::kControlFlow}) {
    for (uint32_t seed = 9000; seed < 9030; ++seed) {
      const testing::GeneratedProgram p = testing::GenerateProgram(kind, seed, &coverage);
      INFO("seed " << seed << "\n" << p.text);
      const ir::Module ssa = testing::LowerText(p.text, p.entry);
      checked += CheckWhole(ssa, p.args, Transform::kJacobian);
      if (testing::GivesFloatScalar(ssa) && seed % 4 == 0)
        checked += CheckWhole(ssa, p.args, Transform::kHessian);
    }
  }
  CHECK(checked >= 50);
}

TEST_CASE("sparse Jacobians: generated programs over lists") {
  const std::vector<Tensor> args = {Tensor::F64(0.4), Vec({0.3, -0.6})};
  int checked = 0;
  for (uint32_t seed = 300; seed < 340; ++seed) {
    const std::string text = testing::RandomListProgram(seed);
    INFO("seed " << seed << "\n" << text);
    const ir::Module ssa = testing::ParseIr(text);
    checked += CheckWhole(ssa, args, Transform::kJacobian);
    if (testing::GivesFloatScalar(ssa)) checked += CheckWhole(ssa, args, Transform::kHessian);
  }
  CHECK(checked >= 40);
}

TEST_CASE("sparse Jacobians: first programs, and over relations") {
  int checked = 0;
  for (const testing::RelationProgram& p : testing::RelationPrograms()) {
    INFO(p.name);
    const ir::Module ssa = testing::LowerText(p.text, "f");
    checked += CheckWhole(ssa, testing::WithRelations(p.relations, p.rest), Transform::kJacobian);
  }
  CHECK(checked >= 10);
  for (const testing::ProgramCase& c : testing::FirstPrograms()) {
    int64_t elements = 0;
    for (const Tensor& t : c.args) elements += t.ElementCount();
    if (elements > 40) continue;
    INFO(c.name);
    checked += CheckWhole(testing::LowerText(c.text, c.entry), c.args, Transform::kJacobian);
  }
  CHECK(checked >= 40);
}

}  // namespace
}  // namespace pullback::pipeline
