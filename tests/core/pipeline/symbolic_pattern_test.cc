// Patterns that are told before anything runs: of these programs they are just what is found when they run.
#include <catch2/catch.hpp>

#include "core/base/relation.h"
#include "tests/core/pipeline/sparse_check.h"
#include "tests/core/pipeline/symbolic_check.h"

namespace pullback::pipeline {
namespace {

using testing::Mat;
using testing::Vec;

const Tensor kPoint = SevenNumbers();

void CheckAll(const std::vector<std::pair<const char*, std::vector<Tensor>>>& programs,
              Transform transform = Transform::kJacobian) {
  for (const auto& [text, args] : programs) Check({text, text, args, {-1}, transform});
}

TEST_CASE("told patterns: what is moved, and products") {
  const Tensor wide = Mat(2, 3, {1, 2, 3, 4, 5, 6}), square = Mat(2, 2, {1, 2, 3, 4});
  CheckAll({
      {"fn f(x: [n, m]f64) -> [m, n]f64 { return x.T }", {wide}},
      {"fn f(x: [2 * n]f64) -> [n]f64 { return gen i < n { x[2 * i] } }", {Vec({1, 2, 3, 4})}},
      {"fn f(x: [2 * n]f64) -> [n]f64 { return gen i < n { x[2 * i] * x[2 * i + 1] } }",
       {Vec({1, 2, 3, 4})}},
      {"fn f(x: [n, n]f64) -> [n]f64 { return gen i < n { x[i, i] } }", {square}},
      {"fn f(x: [n, m]f64) -> [n * m]f64 { return flatten(x) }", {wide}},
      {"fn f(x: [n]f64, y: [m]f64) -> [n + m]f64 { return concat(y, x) }", {kPoint, Vec({1, 2})}},
      {"fn f(x: [n]f64) -> [n - 3]f64 { return x[2:n - 1] * x[0:n - 3] }", {kPoint}},
      {"fn f(x: [n]f64) -> [n / 2]f64 { return gen i < n / 2 { x[2 * i] * x[i] } }", {kPoint}},
      {"fn f(x: [n, m]f64, a: [m]f64) -> [n]f64 { return x @ a }", {wide, Vec({1, 2, 3})}},
      {"fn f(x: [m]f64, a: [n, m]f64) -> [n]f64 { return a @ x }", {Vec({1, 2, 3}), wide}},
      {"fn f(x: [n, k]f64, b: [k, m]f64) -> [n, m]f64 { return x @ b }", {square, wide}},
      {"fn f(x: [k, m]f64, a: [n, k]f64) -> [n, m]f64 { return a @ x }", {wide, square}},
      {"fn f(x: [n]f64, a: [n, n]f64) -> [n]f64 {\n"
       "  return gen i < n { sum j < n { [j <= i] * a[i, j] * x[j] } } }",
       {Vec({1, 2}), square}},
      {"fn f(x: [k, m]f64, a: [n, k]f64, b: [m, m]f64) -> [n, m]f64 {\n"
       "  return tanh.(a @ x) @ b }",
       {square, square, square}},
      {"fn f(x: [n]f64) -> [n]f64 { let y = x[0] * x[1]\n  return gen i < n { [i < 2] * y } }",
       {kPoint}},
  });
}

TEST_CASE("told patterns: index arrays and relations") {
  const Tensor k = Ints({3, 1, 3, 6, 0, 2, 5}), few = Ints({2, 0, 2});
  CheckAll({
      {"fn f(x: [n]f64, k: [m]i64) -> [m]f64 { return gen i < m { x[k[i]] } }", {kPoint, few}},
      {"fn f(x: [n]f64, k: [m]i64, l: [p]i64) -> [p]f64 {\n"
       "  let y = gen i < m { x[k[i]] * x[k[i] + 1] }\n  return gen j < p { y[l[j]] ** 2 } }",
       {kPoint, few, Ints({1, 1, 2, 0})}},
      {"fn f(x: [n]f64, k: [n]i64) -> [3]f64 {\n"
       "  return gen j < 3 { sum i < n { [k[i] == j] * x[i] * x[i] } } }",
       {kPoint, k}},
      {"fn f(x: [n]f64, k: [n]i64) -> [n]f64 {\n"
       "  return gen i < n { x[i] + [i > 0] * x[k[i - 1]] } }",
       {kPoint, k}},
      {"fn f(x: [n]f64, k: [n]i64) -> [n]f64 {\n"
       "  return gen i < n { [k[i] > 1 and k[i] != 3] * x[k[i] - 1] } }",
       {kPoint, k}},
      {"fn f(x: [n]f64, k: [n]i64) -> [n]f64 {\n"
       "  return gen i < n { if k[i] > 2 { x[i] } else { x[0] } } }",
       {kPoint, k}},
      {"fn f(x: [n]f64, k: [n]i64) -> [n]f64 {\n"
       "  return gen i < n { [not (k[i] < 3 or i == 2)] * x[i] } }",
       {kPoint, k}},
      {"fn f(x: [n]f64, k: [n]i64) -> [n]f64 {\n"
       "  var y = x * x\n  y[k[1]] = x[k[0]]\n  return y }",
       {kPoint, k}},
      {"fn f(x: [n]f64, k: [n]i64, a: i64) -> [n]f64 {\n"
       "  return gen i < n { [k[i] > a] * x[(i + a) % n] } }",
       {kPoint, k, Tensor::I64(2)}},
  });
  std::vector<Tensor> args =
      RelationArrays(RelationFromCoo({3, 7}, {{0, 0, 1, 2, 2}, {1, 2, 6, 0, 4}}));
  args.push_back(kPoint);
  CheckAll({
      {"fn f(r: rel[n, m], x: [m]f64) -> [n]f64 {\n"
       "  return gen i < n { sum j < m { [r(i, j)] * x[j] } } }",
       args},
      {"fn f(r: rel[n, m], x: [m]f64) -> [n]f64 {\n"
       "  return gen i < n { sum j < m { [r(i, j) and j > i] * x[j] * x[i] } } }",
       args},
  });
}

TEST_CASE("told patterns: brackets, stencils and scans") {
  const Tensor wide = Mat(2, 3, {1, 2, 3, 4, 5, 6});
  CheckAll({
      {"fn f(x: [n]f64) -> [n]f64 {\n"
       "  return gen i < n { [exists k < n: i == 2 * k] * x[i] * x[i] } }",
       {kPoint}},
      {"fn f(x: [n]f64, k: [m]i64) -> [n]f64 {\n"
       "  return gen i < n { [exists q < m: k[q] == i] * x[i] * x[i] } }",
       {kPoint, Ints({4, 1, 4})}},
      {"fn f(x: [n]f64) -> [n]f64 {\n"
       "  return gen i < n { sum j < n { [exists k < n: j < k and k < i] * x[j] * x[j] } } }",
       {kPoint}},
      {"fn f(x: [n]f64) -> [n]f64 {\n"
       "  return gen i < n { sum j < n { [i == j or i == j + 2] * x[j] * x[j] } } }",
       {kPoint}},
      {"fn f(x: [n]f64) -> [n]f64 {\n"
       "  return gen i < n { sum j < n { [3 * j == 2 * i + 1 or i < 2] * x[j] ** 2 } } }",
       {kPoint}},
      {"fn f(x: [n]f64) -> [n]f64 {\n"
       "  return gen i < n { max j < n { [j >= i] * x[j] } } }",
       {kPoint}},
      {"fn f(x: [n]f64) -> [n]f64 {\n"
       "  let y = gen i < n { x[i] * x[i] + [i > 0] * x[i - 1] + [i + 1 < n] * x[i + 1] }\n"
       "  return gen i < n { y[i] * y[i] + [i > 0] * y[i - 1] + [i + 1 < n] * y[i + 1] } }",
       {kPoint}},
      {"fn f(x: [n]f64) -> [n + 2]f64 {\n"
       "  let y = gen i < n + 2 { [0 < i and i <= n] * x[i - 1] }\n"
       "  return gen i < n + 2 { [i > 0] * y[i - 1] * y[i] } }",
       {kPoint}},
      {"fn f(x: [n]f64) -> [n]f64 { return cumsum(x * x) }", {kPoint}},
      {"fn f(x: [n, m]f64) -> [m, n]f64 {\n"
       "  let s = gen i < n { scan sum k < m { x[i, k] ** 2 } }\n  return s.T }",
       {wide}},
      {"fn f(x: [n]f64) -> [n]f64 {\n"
       "  let s = scan sum i < n { [i % 2 == 0] * x[i] }\n"
       "  return gen i < n { s[n - 1 - i] * x[i] } }",
       {kPoint}},
  });
}

TEST_CASE("told patterns: Hessians") {
  CheckAll(
      {
          {"fn f(x: [n]f64) -> f64 { let s = sum(x * x)\n  return s * s }", {kPoint}},
          {"fn f(x: [n]f64, a: [m, n]f64) -> f64 { return sum(tanh.(a @ x)) }",
           {Vec({1, 2, 3}), Mat(2, 3, {1, 2, 3, 4, 5, 6})}},
          {"fn f(x: [n, n]f64) -> f64 { return sum i < n { x[i, i] * x[i, i] } }",
           {Mat(2, 2, {1, 2, 3, 4})}},
          {"fn f(x: [n]f64, k: [m]i64) -> f64 { return sum i < m { x[k[i]] ** 3 * x[i] } }",
           {kPoint, Ints({4, 1, 4})}},
          {"fn f(x: [n]f64) -> f64 {\n"
           "  return sum i < n - 1 { (x[i + 1] - x[i] * x[i]) ** 2.0 } }",
           {kPoint}},
          {"fn f(x: [n]f64) -> f64 { return x[0] * x[1] * x[2] }", {kPoint}},
      },
      Transform::kHessian);
}

// What is asked of floats counts as true.
TEST_CASE("told patterns: conditions on floats") {
  const char* const text = "fn f(x: [n]f64) -> [n]f64 { return gen i < n { [x[i] > 0.0] * x[i] } }";
  ir::Module ssa;
  const SparseProgram p{"floats", text, {kPoint}, {-1}};
  const ir::Module derived = Derive(p, true, true, &ssa);
  const std::vector<CooBlock> found = Blocks(testing::RunOk(derived, {kPoint}), 1, 1);
  CHECK(found[0].values.size() == 5);
  const ToldPatterns told = CheckTold(ssa, Transform::kJacobian, {true}, {kPoint}, found);
  CHECK(told.told == 1);
  CHECK(told.exact == 0);
}

}  // namespace
}  // namespace pullback::pipeline
