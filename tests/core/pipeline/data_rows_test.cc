// Rows at places that data and relations say, and names in front of their brackets: values, derivatives, and what they cost
// as they grow.
#include <catch2/catch.hpp>
#include <cmath>

#include "core/base/relation.h"
#include "core/ir/printer.h"
#include "tests/core/pipeline/growth_check.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

// In time of the edges, not of these times the points.
TEST_CASE("data rows: rows at the places that data say, a name in front of a bracket") {
  const std::string losses[] = {
      "let a = gen i < n { sum t < e { [p[t] == i] * x[t] - [q[t] == i] * x[t] } }",
      "let a = gen i < n { sum t < e { ([p[t] == i] - [q[t] == i]) * x[t] } }",
      "let a = gen i < n { sum t < e { let s = tanh.(x[t] * z[i])\n [p[t] == i] * s } }",
  };
  const auto args = [](size_t n) {
    const auto size = static_cast<int64_t>(n);
    std::vector<int64_t> p, q;
    for (size_t t = 0; t < n; ++t) p.push_back(static_cast<int64_t>(3 * t % n));
    for (size_t t = 0; t < n; ++t) q.push_back(static_cast<int64_t>(5 * t % (n + 2)));
    return std::vector<Tensor>{Tensor::Of<double>(DType::kF64, {size, 2}, Numbers(2 * size)),
                               Tensor::Of<double>(DType::kF64, {size, 2}, Numbers(2 * size)),
                               Ints(p), Ints(q)};
  };
  for (const std::string& loss : losses) {
    INFO(loss);
    const ir::Module ssa =
        LowerText("fn f(x: [e, d]f64, z: [n, d]f64, p: [e]i64, q: [e]i64) -> f64 { " + loss +
                      "\n return sum i < n { sin(sum(a[i])) } }",
                  "f");
    CheckValues(ssa, args(7));
    CheckLinear(ssa, args(100), args(200));
  }
}

// A name that varies with some of the indices that its bracket tells is made for these.
TEST_CASE("data rows: a name in front of a relation's bracket that varies with one index") {
  const std::string sums[] = {
      "sum i < n, j < n { let a = logsumexp(x[i])\n [near(i, j)] * a * x[j, 0] }",
      "sum i < n, j < n { let a = sum(exp.(x[j]))\n let b = a * x[i, 1]\n [near(i, j)] * b }",
      "sum i < n, j < n { let a = x[i] / norm(x[i])\n [near(i, j) or near(j, i)] * a[1] * x[j, 0] "
      "}",
      "sum(gen i < n { let y = x[i] * 2.0\n sum j < n { let a = logsumexp(y)\n"
      "  if near(i, j) { a * x[j, 0] } else { 0.0 } } })",
  };
  for (const std::string& sum : sums) {
    INFO(sum);
    const ir::Module ssa =
        LowerText("fn f(near: rel[n, n], x: [n, 2]f64) -> f64 { return " + sum + " }", "f");
    // Of each point all others are near; exponentials are counted as steps of the points.
    std::vector<std::vector<int64_t>> pairs(2);
    constexpr int64_t kPoints = 12;
    for (int64_t i = 0; i < kPoints; ++i) {
      for (int64_t j = 0; j < kPoints; ++j) {
        pairs[0].push_back(i);
        pairs[1].push_back(j);
      }
    }
    std::vector<Tensor> args = RelationArrays(RelationFromCoo({kPoints, kPoints}, pairs));
    args.push_back(Tensor::Of<double>(DType::kF64, {kPoints, 2}, Numbers(2 * kPoints)));
    CheckValues(ssa, args);
    const std::string text = ir::Print(Derived(ssa, Transform::kValue));
    CHECK(text.find("sum [%p] of") == std::string::npos);
    CHECK(text.find("max [%p] of") == std::string::npos);
  }
}

// Unoptimised, element after element, in the order of the text.
TEST_CASE("data rows: what is added at places that data say is added in order") {
  const ir::Module ssa = LowerText(
      "fn f(x: [n]f64, k: [m]i64, v: [m]f64) -> [n]f64 { var a = x * 1.0\n a[k] += v\n return a }",
      "f");
  const std::vector<Tensor> args = {Vec({-1e308, 1e16, -0.0}), Ints({0, 0, 1, 1}),
                                    Vec({1e308, 1e308, 1, 1})};
  for (const bool optimise : {false, true}) {
    const Tensor a = RunOk(Derived(ssa, Transform::kValue, {}, optimise), args)[0];
    CHECK(a.At<double>(0) == 1e308);
    CHECK(a.At<double>(1) == 1e16);
    CHECK(std::signbit(a.At<double>(2)));
  }
}

// Parts of rows, what functions make of them, and rows that a condition chooses are rows of a statement.
TEST_CASE("data rows: slices and functions of rows, and chosen rows, at the places that data say") {
  const std::string rows[] = {
      "[p[t] == i] * x[q[t]][0:2]",
      "[p[t] == i] * x[q[t]][1:]",
      "[p[t] == i] * x[q[t]][::2] * 2.0",
      "[p[t] == i] * cross(x[q[t]][0:3], x[p[t]][0:3])",
      "[p[t] == i] * concat(x[q[t]][2:], x[p[t]])",
      "if p[t] == i { x[q[t]] } else { zeros(3) }",
      "[p[t] == i] * x[q[t]] + [q[t] == i] * x[p[t]]",
      "[p[t] == i or q[t] == i] * x[q[t]]",
      "[p[t] == i] * (if q[t] > 1 { x[q[t]] } else { x[p[t]] * x[t] })",
  };
  const auto args = [](size_t n) {
    const auto size = static_cast<int64_t>(n);
    std::vector<int64_t> p, q;
    for (size_t t = 0; t < n; ++t) p.push_back(static_cast<int64_t>(3 * t % n));
    for (size_t t = 0; t < n; ++t) q.push_back(static_cast<int64_t>(5 * t % n));
    return std::vector<Tensor>{Tensor::Of<double>(DType::kF64, {size, 3}, Numbers(3 * size)),
                               Ints(p), Ints(q)};
  };
  for (const std::string& row : rows) {
    INFO(row);
    const ir::Module ssa = LowerText(
        "fn f(x: [n, 3]f64, p: [n]i64, q: [n]i64) -> f64 {\n"
        "let a = gen i < n { sum t < n { " +
            row +
            " } }\n"
            "return sum i < n { sin(sum(a[i])) } }",
        "f");
    CheckValues(ssa, args(7));
    CheckLinear(ssa, args(100), args(200));
  }
}

// A ring, in time of the points and not of all pairs; of a name that its own condition asks for as well.
TEST_CASE("data rows: a name in front of a relation's bracket is made for its pairs") {
  const std::string sums[] = {
      "sum i < n, j < n { let r = sum((x[i] - x[j]) ** 2)\n [near(i, j)] * log(r) }",
      "sum i < n, j < n { let r = sum((x[i] - x[j]) ** 2)\n [r < 6.25 and near(i, j)] * log(r) }",
      "sum i < n, j < n { let d = x[i] - x[j]\n let r = norm(d)\n"
      "  [near(i, j) and r < 2.5] * dot(d, x[i]) / r }",
      "sum i < n, j < n { let d = norm(x[i] - x[j])\n"
      "  if near(i, j) { let e = d * d\n e * d } else { 0.0 } }",
      "sum i < n { let a = sum(x[i])\n sum j < n { let d = norm(x[i] - x[j])\n"
      "  [near(i, j)] * d * a - [near(j, i)] * d } }",
      "mat_sum((gen i < n { sum j < n { let d = x[i] - x[j]\n [near(i, j)] * (d / norm(d)) } }) ** "
      "2)",
      "mat_sum(tanh.(gen i < n { sum j < n { let d = x[i] - x[j]\n"
      "  [near(i, j)] * d - [near(j, i)] * d * d } }))",
      "mat_sum(tanh.(gen i < n { sum j < n { ([near(i, j)] - [i == j] * x[j, 0]) * x[j] } }))",
      "sum i < n { let y = sum(x[i])\n [(exists j < n: near(i, j)) and y > -9.0] * y }",
  };
  const std::string named =
      "mat_sum(tanh.(gen i < n, j < n { [near(i, j)] * x[i, 0] })) + mat_sum(abs.(gen i < n, j < n "
      "{\n"
      "  [near(i, j)] * x[j, 1] }))";
  const auto args = [](int64_t n) {
    std::vector<std::vector<int64_t>> pairs(2);
    for (int64_t i = 0; i < n; ++i) {
      pairs[0].push_back(i);
      pairs[1].push_back((i + 1) % n);
    }
    std::vector<Tensor> all = RelationArrays(RelationFromCoo({n, n}, pairs));
    all.push_back(Tensor::Of<double>(DType::kF64, {n, 2}, Numbers(2 * n)));
    return all;
  };
  std::vector<std::string> all(std::begin(sums), std::end(sums));
  all.push_back(named);  // a matrix of pairs behind functions that give 0 of 0
  for (const std::string& sum : all) {
    INFO(sum);
    const ir::Module ssa =
        LowerText("fn f(near: rel[n, n], x: [n, 2]f64) -> f64 { return " + sum + " }", "f");
    CheckValues(ssa, args(6));
    CheckLinear(ssa, args(100), args(200));
  }
}

}  // namespace
}  // namespace pullback::testing
