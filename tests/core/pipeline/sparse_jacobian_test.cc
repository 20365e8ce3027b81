// Sparse Jacobians and Hessians of statements, over relations, and of generated programs.
#include <catch2/catch.hpp>

#include <algorithm>

#include "core/base/relation.h"
#include "tests/core/pipeline/sparse_check.h"
#include "tests/core/pipeline/symbolic_check.h"
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

const Tensor kX = SevenNumbers();

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
bool CheckWhole(const ir::Module& ssa, const std::vector<Tensor>& args, Transform transform,
                ToldPatterns* told = nullptr) {
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
  const ToldPatterns all = CheckTold(sparse->ssa, transform, wrt, args, blocks);
  if (told != nullptr) *told += all;
  return true;
}

TEST_CASE("sparse Jacobians: generated programs") {
  testing::Coverage coverage;
  ToldPatterns told;
  int checked = 0;
  for (const testing::Kind kind : {testing::Kind::kTensor, testing::Kind::kControlFlow}) {
    for (uint32_t seed = 9000; seed < 9030; ++seed) {
      const testing::GeneratedProgram p = testing::GenerateProgram(kind, seed, &coverage);
      INFO("seed " << seed << "\n" << p.text);
      const ir::Module ssa = testing::LowerText(p.text, p.entry);
      checked += CheckWhole(ssa, p.args, Transform::kJacobian, &told);
      if (testing::GivesFloatScalar(ssa) && seed % 4 == 0)
        checked += CheckWhole(ssa, p.args, Transform::kHessian, &told);
    }
  }
  CHECK(checked >= 50);
  CHECK(told.told >= 400);
  CHECK(told.exact >= told.told - 4);  // some ask floats
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

TEST_CASE("sparse Jacobians: first programs, and over relations", "[long]") {
  ToldPatterns told;
  int checked = 0;
  for (const testing::RelationProgram& p : testing::RelationPrograms()) {
    INFO(p.name);
    const ir::Module ssa = testing::LowerText(p.text, "f");
    checked +=
        CheckWhole(ssa, testing::WithRelations(p.relations, p.rest), Transform::kJacobian, &told);
  }
  CHECK(checked >= 10);
  for (const testing::ProgramCase& c : testing::FirstPrograms()) {
    int64_t elements = 0;
    for (const Tensor& t : c.args) elements += t.ElementCount();
    if (elements > 40) continue;
    INFO(c.name);
    checked += CheckWhole(testing::LowerText(c.text, c.entry), c.args, Transform::kJacobian, &told);
  }
  CHECK(checked >= 40);
  CHECK(told.told >= 180);
  CHECK(told.exact >= 165);
}

}  // namespace
}  // namespace pullback::pipeline
