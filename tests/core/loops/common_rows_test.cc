// Programs whose statements agree on an index to run over first, and what they would hold otherwise.
#include <catch2/catch.hpp>
#include <cmath>

#include "core/ir/printer.h"
#include "core/pipeline/pipeline.h"
#include "tests/core/loops/rows.h"
#include "tests/support/derivatives.h"

namespace pullback::loops {
namespace {

using pipeline::Transform;

struct Program {
  std::string name;
  std::string text;
  std::vector<bool> wrt;
  std::vector<std::vector<int>> shapes;  // 0: long; else that size
  int64_t rows;                          // elements for each of the long extent, at most
};

std::vector<Tensor> Args(const Program& p, int64_t n) {
  std::vector<Tensor> args;
  for (const std::vector<int>& shape : p.shapes) {
    std::vector<int64_t> extents;
    for (int extent : shape) extents.push_back(extent == 0 ? n : extent);
    args.push_back(Ramp(extents));
  }
  return args;
}

// No two of its elements are as far from the same third.
Tensor Irregular(const std::vector<int64_t>& shape) {
  std::vector<double> values;
  for (int64_t k = 0; k < Ramp(shape).ElementCount(); ++k)
    values.push_back(std::sin(static_cast<double>(7 * k + 1)));
  return Tensor::Of<double>(DType::kF64, shape, values);
}

const std::string kHeads =
    "fn f(x: [n, c]f64, q: [h, c, d]f64, k: [h, c, d]f64, v: [h, c, d]f64) -> f64 { let o = sum a "
    "< "
    "h { let s = (x @ q[a]) @ (x @ k[a]).T\n exp.(0.1 * s) @ (x @ v[a]) }\n return sum(o * o) }";

const Program kPrograms[] = {
    {"groups, by what all of them read",
     "fn f(x: [n, c]f64, w: [h, c, d]f64) -> f64 { return sum a < h, i < n, j < d { sin(sum k < c "
     "{ "
     "x[i, k] * w[a, k, j] }) } }",
     {true, false},
     {{0, 2}, {7, 2, 5}},
     60},
    {"a mixture of experts",
     "fn f(x: [n, d]f64, p: [n, e]f64, w: [e, d, c]f64) -> f64 { let h = gen a < e { tanh.(x @ "
     "w[a]) }\n return sum i < n, j < c { (sum a < e { p[i, a] * h[a, i, j] }) ** 2 } }",
     {true, true, true},
     {{0, 2}, {0, 7}, {7, 2, 5}},
     70},
    // Its columns are read at places held, so that only turns of rows near each other may make them.
    {"two layers over an image, held at its edges",
     "fn f(x: [n, m, c]f64, k: [3, 3, c, h]f64, u: [3, 3, h]f64, y: [n, m]f64) -> f64 {\n"
     "  let a = gen i < n, j < m, o < h { tanh(sum p < 3, q < 3, r < c {\n"
     "    k[p, q, r, o] * x[min(n - 1, max(0, i + p - 1)), min(m - 1, max(0, j + q - 1)), r] }) }\n"
     "  let b = gen i < n, j < m { sum p < 3, q < 3, o < h {\n"
     "    u[p, q, o] * a[min(n - 1, max(0, i + p - 1)), min(m - 1, max(0, j + q - 1)), o] } }\n"
     "  return sum i < n, j < m { (b[i, j] - y[i, j]) ** 2 } }",
     {true, true, true, false},
     {{0, 4, 2}, {3, 3, 2, 9}, {3, 3, 9}, {0, 4}},
     130},
    {"pairs, by the points of both",
     "fn f(x: [n, d]f64, w: [d, h]f64) -> f64 { return sum i < n, j < n { tanh(sum c < h { "
     "tanh(sum "
     "k < d { (x[i, k] - x[j, k]) * w[k, c] }) }) } }",
     {true, false},
     {{0, 2}, {2, 6}},
     80},
    {"chained contractions, by the middle one",
     "fn f(t: [n, m]f64, g: [a, b, c]f64, u: [n, a]f64, v: [m, b]f64, w: [m, c]f64) -> f64 { let x "
     "= gen i < n, y < b, z < c { sum s < a { u[i, s] * g[s, y, z] } }\n let q = gen i < n, j < m, "
     "z < c { sum s < b { v[j, s] * x[i, s, z] } }\n return sum i < n, j < m { (t[i, j] - sum z < "
     "c "
     "{ w[j, z] * q[i, j, z] }) ** 2 } }",
     {false, false, false, true, false},
     {{0, 3}, {2, 6, 7}, {0, 2}, {3, 6}, {3, 7}},
     60},
    {"sums over sets, by the weights",
     "fn f(x: [g, n, d]f64, w: [d, h]f64) -> f64 { return sum a < g, j < h { (sum i < n { tanh(sum "
     "k "
     "< d { x[a, i, k] * w[k, j] }) }) ** 2 } }",
     {false, true},
     {{0, 6, 2}, {2, 5}},
     60},
};

TEST_CASE("common rows: gradients hold what one turn of an index that all share makes", "[long]") {
  for (const Program& p : kPrograms) {
    INFO(p.name);
    const ir::Module module = testing::LowerText(p.text, "f");
    testing::CheckDerivatives(module, Args(p, 4), 1e-5, p.wrt);
    const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, p.wrt);
    for (const int64_t n : {100, 200}) {
      CHECK(ElementsMade(gradient, Args(p, n), kRows) < p.rows * n / 4 + 20 * n);
      CHECK(ElementsMade(gradient, Args(p, n), LowerOptions{}) >= p.rows * n);
    }
    for (const int64_t n : {0, 1, 15, 16, 17, 35})
      RunBoth(gradient, Args(p, n), Traps::kSame, kRows);
  }
}

// Their sum is added up head by head: its rows are over the keys of all points.
TEST_CASE("common rows: attention holds one head at a time") {
  const ir::Module module = testing::LowerText(kHeads, "f");
  const auto args = [](int64_t n, int64_t h) {
    return std::vector<Tensor>{Ramp({n, 2}), Ramp({h, 2, 3}), Ramp({h, 2, 3}), Ramp({h, 2, 3})};
  };
  testing::CheckDerivatives(module, args(4, 3), 1e-5, {true, true, true, true});
  const ir::Module value = testing::Derived(module, Transform::kValue, {});
  const int64_t few = ElementsMade(value, args(50, 2), kRows);
  CHECK(ElementsMade(value, args(50, 20), kRows) == few);
  CHECK(ElementsMade(value, args(50, 20), LowerOptions{}) > 20 * 50 * 3 * 3);
  for (const int64_t h : {0, 1, 3}) RunBoth(value, args(h, 3 - h), Traps::kSame, kRows);
}

TEST_CASE("common rows: matrices that are reduced by rows and by columns are not made") {
  const std::string matrix =
      "fn f(x: [n, d]f64, z: [m, d]f64) -> f64 { let e = gen i < n, j < m { sqrt(0.1 + sum a < d { "
      "(x[i, a] - z[j, a]) ** 2 }) }\n return ";
  const std::string losses[] = {
      "(sum i < n { sin(sum j < m { e[i, j] }) }) + sum j < m { sin(sum i < n { e[i, j] }) } }",
      "(sum i < n { min j < m { e[i, j] } }) + sum j < m { min i < n { e[i, j] } } }",
      "(sum i < n { max j < m { e[i, j] * cos(f64(j)) } }) * sum j < m { sum i < n { e[i, j] * "
      "x[i, 0] } } }",
  };
  for (const std::string& loss : losses) {
    INFO(loss);
    const ir::Module module = testing::LowerText(matrix + loss, "f");
    const auto args = [](int64_t n, int64_t m) {
      return std::vector<Tensor>{Ramp({n, 2}), Ramp({m, 2})};
    };
    testing::CheckDerivatives(module, args(4, 3), 1e-5, {true, true});
    const ir::Module value = testing::Derived(module, Transform::kValue, {});
    CHECK(ElementsMade(value, args(100, 100), kRows) < 12 * 100);
    CHECK(ElementsMade(value, args(100, 100), LowerOptions{}) >= 100 * 100);
    for (const int64_t n : {1, 2, 17}) RunBoth(value, args(n, 5), Traps::kSame, kRows);
    RunBoth(value, args(0, 0), Traps::kSame, kRows);
  }
  // Soft assignments of points, and the means of the points of each: k sums of d numbers are added to.
  const ir::Module means = testing::LowerText(
      "fn f(x: [n, d]f64, c: [k, d]f64) -> [k, d]f64 { let r = gen i < n { softmax(gen j < k { "
      "-norm2(x[i] - c[j]) }) }\n return (r.T @ x) / column(column_sums(r)) }",
      "f");
  CHECK(ElementsMade(testing::Derived(means, Transform::kValue, {}),
                     {Ramp({200, 2}), Ramp({30, 2})}, kRows) < 200 * 8 + 30 * 20);
}

// They are told by the order of its rows.
TEST_CASE("common rows: places in a whole matrix stay what they are") {
  const std::string matrix =
      "fn f(x: [n]f64, z: [m]f64) -> f64 { let e = gen i < n, j < m { sin(x[i] * z[j]) }\n let s = "
      "gen j < m { sum i < n { e[i, j] } }\n return ";
  for (const std::string loss : {"max i < n, j < m { e[i, j] / (1.0 + s[j] ** 2) } }",
                                 "(min i < n, j < m { e[i, j] * s[j] }) + sum(s) }"}) {
    INFO(loss);
    const ir::Module module = testing::LowerText(matrix + loss, "f");
    testing::CheckDerivatives(module, {Irregular({4}), Irregular({5})}, 1e-5, {true, true});
  }
}

// The activations are needed behind a total, their cotangents are not: of these a channel.
TEST_CASE("common rows: gradients of convolutions hold one channel of cotangents") {
  const ir::Module module = testing::LowerText(
      "fn f(x: [k, h + 2, w + 2]f64, c: [m, k, 3, 3]f64) -> f64 { let o = gen p < m, i < h, j < w "
      "{ "
      "tanh(sum q < k, s < 3, t < 3 { x[q, i + s, j + t] * c[p, q, s, t] }) }\n let a = gen p < m "
      "{ "
      "sum i < h, j < w { o[p, i, j] } }\n return sum p < m { a[p] ** 2 } }",
      "f");
  const auto args = [](int64_t h, int64_t m) {
    return std::vector<Tensor>{Ramp({2, h + 2, 5}), Ramp({m, 2, 3, 3})};
  };
  testing::CheckDerivatives(module, args(3, 2), 1e-5, {true, true});
  const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, {true, false});
  constexpr int64_t h = 20, m = 40;
  // Two arrays over all channels: without this there are three.
  CHECK(ElementsMade(gradient, args(h, m), kRows) < 2 * m * h * 3 + 2 * (h + 2) * 5 + 20 * m);
  for (const int64_t few : {0, 1, 7}) RunBoth(gradient, args(few, 3), Traps::kSame, kRows);
}

// Which of the activations are 0 tells which of the sums in front were not positive.
// Of each row of residuals those rows of the image that its window covers: their number does not grow with the image.
TEST_CASE("common rows: the sum of turns' sums has the turns' conditions") {
  const ir::Module module = testing::LowerText(
      "fn f(x: [n, m]f64, k: [r, r]f64, y: f64) -> f64 {\n"
      "  return sum i < n - r + 1, j < m - r + 1 { ((sum a < r, b < r { k[a, b] * x[i + a, j + b] "
      "}) - "
      "y) ** 2 } }",
      "f");
  testing::CheckDerivatives(module, {Ramp({5, 4}), Ramp({2, 2}), Tensor::F64(0.7)});
  const std::string text =
      ir::Print(testing::Derived(module, Transform::kValueAndGrad, {true, false, false}));
  INFO(text);
  CHECK(testing::CountText(text, "where (%i <= %a and %a < %r + %i) {") == 1);
}

// Rows of p would go down a column of c for every j, since k is summed inside.
TEST_CASE("common rows: loops stay that would go down columns inside") {
  const ir::Module module = testing::LowerText(
      "fn f(x: [n, m]f64, c: [n, d]f64) -> f64 { return sum i < n, p < d, j < m { (sum k < n { "
      "abs(x[i, j] * c[k, p]) }) ** 2 } }",
      "f");
  testing::CheckDerivatives(module, {Irregular({4, 3}), Irregular({4, 2})});
  const std::string text = ir::Print(testing::Derived(module, Transform::kValue));
  INFO(text);
  CHECK(testing::CountText(text, "each(i < %n, j < %m, p < %d, k < %n)") == 1);
}

// The place of the sum by x[i, 0] is that of the read: no check comes between the loops.
TEST_CASE("common rows: sums of runs at places that were read keep loops together") {
  const ir::Module module = testing::LowerText(
      "fn f(x: [n, d]f64, r: [m]f64) -> f64 { return sum i < n, j < m { (sum k < d { x[i, k] * "
      "r[j] }) * exp(r[j] * x[i, 0]) } }",
      "f");
  testing::CheckDerivatives(module, {Irregular({4, 2}), Irregular({3})});
  const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad);
  for (const int64_t d : {0, 1, 3}) RunBoth(gradient, {Irregular({5, d}), Irregular({17})});
  CHECK(ElementsMade(gradient, {Irregular({100, 2}), Irregular({50})}, kRows) < 100 * 50);
}

TEST_CASE("common rows: of clipped activations that are kept what they were clipped from is not") {
  const ir::Module module = testing::LowerText(
      "fn f(x: [n, d]f64, w: [d, h]f64) -> f64 { let a = relu.(x @ w)\n return sum i < n, j < n { "
      "sin(dot(a[i], a[j])) } }",
      "f");
  const auto args = [](int64_t n, int64_t h) {
    return std::vector<Tensor>{Ramp({n, 2}), Ramp({2, h})};
  };
  testing::CheckDerivatives(module, args(4, 3), 1e-5, {true, true});
  const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, {true, false});
  constexpr int64_t n = 50, h = 40;
  // The activations, and their cotangents from both sides; rows beside them.
  CHECK(ElementsMade(gradient, args(n, h), kRows) < 3 * n * h + 10 * (n + h));
  for (const int64_t few : {0, 1, 17}) RunBoth(gradient, args(few, 5), Traps::kSame, kRows);
}

// The means need all points: what the turns of both loops need is kept, turned to be by points.
TEST_CASE("common rows: gradients of soft assignments keep their exponentials") {
  const ir::Module module = testing::LowerText(
      "fn f(x: [n, d]f64, c: [k, d]f64) -> f64 { let r = gen i < n { softmax(gen j < k { "
      "-norm2(x[i] "
      "- c[j]) }) }\n let m = (r.T @ x) / column(column_sums(r))\n return sum j < k { norm2(m[j]) "
      "** "
      "2 } }",
      "f");
  const auto args = [](int64_t n, int64_t k) {
    return std::vector<Tensor>{Ramp({n, 2}), Ramp({k, 2})};
  };
  testing::CheckDerivatives(module, args(5, 3), 1e-5, {true, true});
  for (const std::vector<bool>& wrt : {std::vector<bool>{true, false}, {false, true}}) {
    const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, wrt);
    constexpr int64_t n = 300, k = 100;
    CHECK(ElementsMade(gradient, args(n, k), kRows) < n * k + 30 * (n + k));
    for (const int64_t few : {1, 2, 17}) RunBoth(gradient, args(few, 4), Traps::kSame, kRows);
  }
}

// One pass finds the places of both, and what is behind each of them is computed there alone.
TEST_CASE("common rows: gradients of extrema of one matrix by rows and by columns hold rows") {
  const std::string matrix =
      "fn f(x: [n, d]f64, z: [m, d]f64) -> f64 { let e = gen i < n, j < m { sqrt(0.1 + sum a < d { "
      "(x[i, a] - z[j, a]) ** 2 }) }\n return ";
  const std::string losses[] = {
      "(sum i < n { min j < m { e[i, j] } }) + sum j < m { min i < n { e[i, j] } } }",
      "(sum i < n { x[i, 0] * max j < m { sin(e[i, j]) } }) + sum j < m { (min i < n { e[i, j] }) "
      "** 2 } }",
      "sum i < n { (min j < m { e[i, j] }) * (max j < m { e[i, j] }) } + sum j < m { max i < n { "
      "e[i, j] } } }",
  };
  const auto args = [](int64_t n, int64_t m) {
    return std::vector<Tensor>{Ramp({n, 2}), Irregular({m, 2})};
  };
  const std::string plain = "fn f(x: [n, d]f64, z: [m, d]f64) -> f64 { let e = ";
  std::vector<std::string> programs = {
      plain + "x @ z.T\n return " + losses[0],
      plain + "gen i < n, j < m { norm2(x[i] - z[j]) }\n return " + losses[0],
      plain +
          "gen i < n, j < m { norm2(x[i] - z[j]) }\n return max(max(gen i < n { min j < m { "
          "e[i, j] } }), sum(gen j < m { min i < n { e[i, j] } })) }",
  };
  for (const std::string& loss : losses) programs.push_back(matrix + loss);
  for (const std::string& program : programs) {
    INFO(program);
    const ir::Module module = testing::LowerText(program, "f");
    testing::CheckDerivatives(module, args(4, 3), 1e-5, {true, true});
    for (const std::vector<bool>& wrt : {std::vector<bool>{true, false}, {true, true}}) {
      const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, wrt);
      CHECK(ElementsMade(gradient, args(100, 100), kRows) < 50 * 100);
      CHECK(ElementsMade(gradient, args(100, 100), LowerOptions{}) >= 100 * 100);
      for (const int64_t n : {1, 2, 17}) RunBoth(gradient, args(n, 5), Traps::kSame, kRows);
      for (const int64_t n : {0, 3}) RunBoth(gradient, args(n, 3 - n), Traps::kSame, kRows);
    }
  }
}

// Of what is made of two matrices behind totals no more than these is kept.
TEST_CASE("common rows: what is cheap is made again for the loops that read it") {
  struct {
    std::string name, text;
    int matrices;
  } const programs[] = {
      {"centred distances",
       "let a = gen i < n, j < n { sqrt(norm2(x[i] - x[j]) + 0.1) }\n let b = gen i < n, j < n { "
       "sqrt(norm2(y[i] - y[j]) + 0.1) }\n let r = row_sums(a) / f64(n)\n let s = row_sums(b) / "
       "f64(n)\n let c = gen i < n, j < n { a[i, j] - r[i] - r[j] + mean(r) }\n let d = gen i < n, "
       "j < n { b[i, j] - s[i] - s[j] + mean(s) }\n return sum(c * d) / sqrt(sum(c * c) * sum(d * "
       "d))",
       2},
      {"a step of Sinkhorn's",
       "let k = gen i < n, j < n { exp(-norm2(x[i] - y[j])) }\n let u = gen i < n { 1.0 / sum j < "
       "n "
       "{ k[i, j] } }\n let v = gen j < n { 1.0 / sum i < n { k[i, j] * u[i] } }\n return sum i < "
       "n, j < n { u[i] * k[i, j] * v[j] * norm2(x[i] - y[j]) }",
       2},
      {"distances in space, by two steps",
       "let p = gen i < n { let z = x[i]\n [z[0], z[1]] }\n let a = gen i < n { sum j < n { (p[j] "
       "- "
       "p[i]) / (norm2(p[i] - p[j]) + 0.1) ** 1.5 } }\n let q = p + 0.1 * a\n let b = gen i < n { "
       "sum j < n { (q[j] - q[i]) / (norm2(q[i] - q[j]) + 0.1) ** 1.5 } }\n return sum(b * b)",
       1},
      {"rows and columns, centred",
       "let a = gen i < n, j < n { sin(norm2(x[i] - y[j])) }\n let m = mean(row_sums(a))\n let c = "
       "gen i < n, j < n { a[i, j] - m }\n let v = sum(c * c)\n return sum(gen i < n, j < n { c[i, "
       "j] * c[j, i] / v })",
       3},
  };
  for (const auto& p : programs) {
    INFO(p.name);
    const ir::Module module =
        testing::LowerText("fn f(x: [n, e]f64, y: [n, e]f64) -> f64 { " + p.text + " }", "f");
    const auto args = [](int64_t n) { return std::vector<Tensor>{Ramp({n, 2}), Ramp({n, 2})}; };
    testing::CheckDerivatives(module, args(4), 1e-5, {true, true});
    for (const std::vector<bool>& wrt : {std::vector<bool>{true, false}, {true, true}}) {
      const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, wrt);
      const int64_t n = 100;
      CHECK(ElementsMade(gradient, args(n), kRows) < p.matrices * n * n + 60 * n);
      for (const int64_t few : {0, 1, 17}) RunBoth(gradient, args(few), Traps::kSame, kRows);
    }
  }
}

// Of a set's points, inside the turn of the set, no more than one is held, but for what is needed before and behind a total.
TEST_CASE("common rows: within a turn the same is looked for once more") {
  const std::string params =
      "fn f(x: [b, n, d]f64, w: [d, h]f64, v: [h, k]f64) -> f64 { let p = gen s < b { ";
  struct {
    std::string text;
    Transform transform;
    int64_t of_points;  // matrices of a set's points and of what a layer makes of each
  } const programs[] = {
      {"max i < n { relu.(relu.(x[s, i] @ w) @ v) } }\n return sum(p * p) }", Transform::kValue, 0},
      {"(sum i < n { tanh.(x[s, i] @ w) }) @ v }\n return sum(p * p) }", Transform::kValueAndGrad,
       1},
  };
  const auto args = [](int64_t sets, int64_t n, int64_t h) {
    return std::vector<Tensor>{Irregular({sets, n, 2}), Irregular({2, h}), Irregular({h, 3})};
  };
  const std::vector<bool> wrt = {true, true, true};
  for (const auto& p : programs) {
    INFO(p.text);
    const ir::Module module = testing::LowerText(params + p.text, "f");
    testing::CheckDerivatives(module, args(2, 3, 4), 1e-5, wrt);
    const ir::Module derived = testing::Derived(module, p.transform, wrt);
    constexpr int64_t n = 60, h = 50;
    CHECK(ElementsMade(derived, args(3, n, h), kRows) < p.of_points * n * h + 20 * (n + h));
    CHECK(ElementsMade(derived, args(3, n, h), LowerOptions{}) >= 3 * n * h);
    for (const int64_t few : {1, 2, 17}) RunBoth(derived, args(2, few, 5), Traps::kSame, kRows);
    for (const int64_t sets : {0, 1}) RunBoth(derived, args(sets, 3, 1), Traps::kSame, kRows);
  }
}

// What a row of it would be made of again is updated meanwhile: a turn would copy the whole array.
TEST_CASE("common rows: what is updated in place is not read behind that for what is cheap") {
  const ir::Module module = testing::LowerText(
      "fn f(x0: [r, n]f64) -> f64 {\n  var x = x0\n  var t = 0.0\n  for k < r - 1 {\n    let c = "
      "gen i "
      "< n, j < n { x[k, i] - x[k, j] }\n    let s = sum i < n, j < n { c[i, j] * c[i, j] }\n    "
      "x[k "
      "+ 1, 0] = s * 0.001\n    let w = gen i < n { (sum j < n { c[i, j] * s * f64(j) }) ** 2 }\n  "
      "  t "
      "+= sum(w) * 0.001\n  }\n  return t\n}",
      "f");
  const ir::Module value = testing::Derived(module, Transform::kValue, {});
  const auto made = [&](int64_t r) { return ElementsMade(value, {Ramp({r, 3})}, kRows); };
  // As many for each turn, however long the array is.
  CHECK(made(40) - made(39) == made(20) - made(19));
  CHECK(made(40) - made(39) < 60);
}

// The total of one loop is needed by the next, or a turn would go down the columns of what it reads.
TEST_CASE("common rows: what needs a total keeps what is in front of it") {
  const std::string programs[] = {
      "let a = x @ w\n let m = gen j < h { (sum i < n { a[i, j] }) / f64(n) }\n return sum i < n { "
      "sin(sum j < h { (a[i, j] - m[j]) ** 2 }) }",
      "let a = x @ w\n return sum j < h { sin(sum i < n { a[i, j] }) } * (sum i < n { sin(sum j < "
      "h "
      "{ a[i, j] }) })",
  };
  for (const std::string& text : programs) {
    INFO(text);
    const ir::Module module =
        testing::LowerText("fn f(x: [n, d]f64, w: [d, h]f64) -> f64 { " + text + " }", "f");
    testing::CheckDerivatives(module, {Ramp({4, 2}), Ramp({2, 3})}, 1e-5, {true, true});
    for (const auto t : {Transform::kValue, Transform::kValueAndGrad}) {
      const ir::Module derived = testing::Derived(module, t, {true, true});
      for (const int64_t n : {0, 1, 17})
        RunBoth(derived, {Ramp({n, 2}), Ramp({2, 5})}, Traps::kSame, kRows);
    }
  }
}

}  // namespace
}  // namespace pullback::loops
