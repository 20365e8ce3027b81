// Rows of an array at places that data say: what turns read of it, and add to it, costs a row.
#include <catch2/catch.hpp>

#include "core/ir/printer.h"
#include "core/pipeline/pipeline.h"
#include "tests/core/loops/rows.h"
#include "tests/support/derivatives.h"

namespace pullback::loops {
namespace {

using pipeline::Transform;

// v rows of two, and two places for each of n.
std::vector<Tensor> RowsAndPlaces(int64_t v, int64_t n) {
  std::vector<int64_t> at;
  for (int64_t i = 0; i < 2 * n; ++i) at.push_back(i * 7 % v);
  return {Ramp({v, 2}), Tensor::Of<int64_t>(DType::kI64, {n, 2}, at)};
}

// By what a row costs, not by what there is of rows: nothing as large as the array is made at a turn.
TEST_CASE("rows: rows that turns read have their cotangents added in place") {
  const std::string programs[] = {
      "fn f(e: [v, d]f64, w: [n, k]i64) -> f64 { return sum i < n { sin(norm2(sum j < k { e[w[i, "
      "j]] "
      "})) } }",
      "fn f(e: [v, d]f64, w: [n, k]i64) -> f64 {\n  var s = 0.0\n  for i < n {\n    let h = sum j "
      "< "
      "k { e[w[i, j]] }\n    s += norm2(h)\n  }\n  return s\n}",
      "fn f(e: [v, d]f64, w: [n, k]i64) -> f64 { return sum i < n { log_softmax(e[w[i, 0]] + "
      "e[w[i, "
      "1]])[0] } }",
  };
  for (const std::string& text : programs) {
    INFO(text);
    const ir::Module module = testing::LowerText(text, "f");
    testing::CheckDerivatives(module, RowsAndPlaces(3, 4), 1e-5, {true, false});
    const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, {true, false});
    constexpr int64_t v = 400, n = 20;
    CHECK(ElementsMade(gradient, RowsAndPlaces(v, n), LowerOptions{}) < 2 * 2 * v + 40 * n);
  }
}

TEST_CASE("rows: messages of edges are added to rows in place, behind a branch as well") {
  for (const char* scale : {"c", "sin(c)"}) {
    const ir::Module edges = testing::LowerText(
        "fn f(e: [v, d]f64, w: [n, k]i64) -> f64 {\n  var o = zeros(v, d)\n  for i < n {\n"
        "    var c = dot(e[w[i, 0]], e[w[i, 1]])\n    if c < 0.0 { c = 0.2 * c }\n    o[w[i, 1]] "
        "+= " +
            std::string(scale) + " * e[w[i, 0]]\n  }\n  return sum(o * o)\n}",
        "f");
    testing::CheckDerivatives(edges, RowsAndPlaces(3, 4), 1e-5, {true, false});
    const ir::Module gradient = testing::Derived(edges, Transform::kValueAndGrad, {true, false});
    constexpr int64_t v = 400, n = 20;
    CHECK(ElementsMade(gradient, RowsAndPlaces(v, n), LowerOptions{}) < 5 * 2 * v + 40 * n);
  }
}

TEST_CASE("rows: both rows of a pair are added to, also where a turn is run again") {
  const ir::Module pairs = testing::LowerText(
      "fn f(e: [v, d]f64, w: [n, k]i64) -> f64 {\n  var s, t = 0.0, 0.0\n  for i < n {\n    s += "
      "relu(norm2(sin.(e[w[i, 0]] - e[w[i, 1]])) - 1.0)\n    t += f64(w[i, 0])\n  }\n  return s * "
      "t\n}",
      "f");
  const std::string text =
      ir::Print(testing::Derived(pairs, Transform::kValueAndGrad, {true, false}));
  CHECK(text.find("fit ") != std::string::npos);
  CHECK(text.find("add_arrays") == std::string::npos);
}

// Four times rows of one array at places that data say: its cotangent is one array, which they are added to.
TEST_CASE("rows: rows at places that data say have one array of cotangents") {
  const ir::Module module = testing::LowerText(
      "fn f(x: [n, d]f64, w: [d, e]f64, a: [m]i64, p: [m]i64, q: [m]i64) -> f64 { let z = x @ w\n "
      "return sum i < m { relu(norm2(z[a[i]] - z[p[i]]) - norm2(z[a[i]] - z[q[i]]) + 0.3) } }",
      "f");
  const auto args = [](int64_t n, int64_t m) {
    std::vector<Tensor> all = {Ramp({n, 2}), Ramp({2, 5})};
    for (const int64_t step : {3, 5, 7}) {
      std::vector<int64_t> at;
      for (int64_t i = 0; i < m; ++i) at.push_back((i * step + 1) % n);
      all.push_back(Tensor::Of<int64_t>(DType::kI64, {m}, at));
    }
    return all;
  };
  const std::vector<bool> wrt = {true, true, false, false, false};
  testing::CheckDerivatives(module, args(7, 9), 1e-5, wrt);
  const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, wrt);
  constexpr int64_t n = 300;
  // What is read and its cotangent, of 5 columns; the gradient, of 2.
  CHECK(ElementsMade(gradient, args(n, 30), kRows) < 2 * 5 * n + 2 * n + 20 * 30);
  for (const int64_t few : {1, 2, 17}) RunBoth(gradient, args(few, 9), Traps::kSame, kRows);
}

}  // namespace
}  // namespace pullback::loops
