#include "tests/support/atl_programs.h"

#include <cmath>

namespace pullback::testing {
namespace {

constexpr char kDiag[] = R"(
fn diag(x: [n]f64) -> [n, n]f64 { return gen i < n, j < n { [i == j] * x[i] } }
fn trace(a: [n, n]f64) -> f64 { return sum i < n { a[i, i] } }
fn eye(x: f64, n: i64) -> [n, n]f64 { return gen i < n, j < n { [i == j] * x } }
)";

// Values that neither vanish nor coincide.
Tensor Filled(std::vector<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(0.6 + 0.3 * std::sin(static_cast<double>(i) * 1.7));
  return Tensor::Of<double>(DType::kF64, std::move(shape), values);
}

constexpr int64_t kTaps = 5;  // of a filter
constexpr int64_t kRank = 3;  // of a factorisation

std::vector<Tensor> Vector(int64_t n) { return {Filled({n})}; }
std::vector<Tensor> ScalarAndSize(int64_t n) { return {Tensor::F64(1.3), Tensor::I64(n)}; }

const std::string kDeconvolution = R"(
fn f(x: [n + m - 1]f64, c: [m]f64, z: [n]f64) -> f64 {
  let y = gen i < n { sum j < m { x[i + m - 1 - j] * c[j] } }
  return sum i < n { (y[i] - z[i]) * (y[i] - z[i]) }
})";

std::vector<Tensor> Signals(int64_t n) {
  return {Filled({n + kTaps - 1}), Filled({kTaps}), Filled({n})};
}

// As rigid as possible: every edge of a mesh keeps its length under the rotation of the vertex it starts from.
const std::string kArap = R"(
fn rotated(a: f64, b: f64, c: f64, x: f64, y: f64, z: f64) -> (f64, f64, f64) {
  let u = cos(a) * x - sin(a) * y
  let v = sin(a) * x + cos(a) * y
  let w = cos(b) * z - sin(b) * u
  let t = sin(b) * z + cos(b) * u
  return (t, cos(c) * v - sin(c) * w, sin(c) * v + cos(c) * w)
}
fn f(p: [n, 3]f64, angles: [n, 3]f64, rest: [n, 3]f64, weight: [m]f64, from: [m]i64, to: [m]i64) -> f64 {
  return sum e < m {
    let i = from[e]
    let j = to[e]
    let (x, y, z) = rotated(angles[i, 0], angles[i, 1], angles[i, 2],
                            rest[i, 0] - rest[j, 0], rest[i, 1] - rest[j, 1], rest[i, 2] - rest[j, 2])
    let dx = p[i, 0] - p[j, 0] - x
    let dy = p[i, 1] - p[j, 1] - y
    let dz = p[i, 2] - p[j, 2] - z
    weight[e] * (dx * dx + dy * dy + dz * dz)
  }
})";

// A closed strip of n vertices: each has edges both ways to the two that follow it.
std::vector<Tensor> Mesh(int64_t n) {
  std::vector<int64_t> from, to;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t step : {1, 2}) {
      const int64_t j = (i + step) % n;
      from.insert(from.end(), {i, j});
      to.insert(to.end(), {j, i});
    }
  }
  const int64_t edges = static_cast<int64_t>(from.size());
  return {Filled({n, 3}),
          Filled({n, 3}),
          Filled({n, 3}),
          Filled({edges}),
          Tensor::Of<int64_t>(DType::kI64, {edges}, from),
          Tensor::Of<int64_t>(DType::kI64, {edges}, to)};
}

std::vector<AtlProgram> Make() {
  const std::string diag = kDiag;
  return {
      {"dot(A[:,0], A[0,:]), A = diag(x)",
       diag + "fn f(x: [n]f64) -> f64 { let a = diag(x)\n return sum i < n { a[i, 0] * a[0, i] } }",
       {true},
       Vector},
      {"elements and another column of A = diag(x)",
       diag + "fn f(x: [n]f64) -> f64 { let a = diag(x)\n"
              " return a[1, 1] * a[2, 2] + dot(a[:, 1], a[1, :]) }",
       {true},
       Vector},
      {"k * trace(diag(x))",
       diag + "fn f(k: f64, x: [n]f64) -> f64 { return k * trace(diag(x)) }",
       {true, true},
       [](int64_t n) { return std::vector{Tensor::F64(1.3), Filled({n})}; }},
      {"trace(eye(x))",
       diag + "fn f(x: f64, n: i64) -> f64 { return trace(eye(x, n)) }",
       {true, false},
       ScalarAndSize},
      {"the skipped index",
       "fn f(x: [n]f64) -> f64 { return x[0] + sum i < n { [2 <= i] * x[i] } }",
       {true},
       Vector},
      {"the skipped index, by not",
       "fn f(x: [n]f64) -> f64 { return sum i < n { [not (i == 1)] * x[i] } }",
       {true},
       Vector},
      {"products with those two places away",
       "fn f(x: [n]f64) -> f64 { return sum i < n, j < n { [abs(i - j) <= 2] * x[i] * x[j] } }",
       {true},
       Vector},
      {"deconvolution loss, by the signal", kDeconvolution, {true, false, false}, Signals},
      {"deconvolution loss, by the weights", kDeconvolution, {false, true, false}, Signals},
      {"batched weights",
       R"(
fn f(x: [b, n + m - 1]f64, w: [m]f64, z: [b, n]f64) -> f64 {
  return sum k < b { sum i < n {
    let d = (sum j < m { x[k, i + m - 1 - j] * w[j] }) - z[k, i]
    d * d
  } }
})",
       {false, true, false},
       [](int64_t n) {
         return std::vector{Filled({4, n + kTaps - 1}), Filled({kTaps}), Filled({4, n})};
       }},
      {"n dead copies",
       "fn f(x: f64, n: i64) -> f64 { let z = gen i < n { x }\n return 2.0 * x }",
       {true, false},
       ScalarAndSize},
      {"the fan-in graph",
       R"(
fn f(x: [n]f64, y: [n]f64) -> f64 {
  let a = gen i < n { 2.0 * x[i] + 3.0 * y[i] }
  let b = gen i < n { 4.0 * x[i] + a[i] }
  let z = gen i < n { 8.0 * x[i] }
  let w = gen i < n { 5.0 * a[i] + 6.0 * b[i] }
  return sum i < n { z[i] * w[i] }
})",
       {true, true},
       [](int64_t n) { return std::vector{Filled({n}), Filled({n})}; }},
      {"quadratic form",
       "fn f(a: [n, n]f64, x: [n]f64) -> f64 { return sum i < n, j < n { x[i] * a[i, j] * x[j] } }",
       {true, true},
       [](int64_t n) { return std::vector{Filled({n, n}), Filled({n})}; },
       2},
      {"NNMF",
       R"(
fn f(v: [n, m]f64, w: [n, k]f64, h: [k, m]f64) -> f64 {
  let p = gen i < n, j < m { sum l < k { w[i, l] * h[l, j] } }
  return sum i < n, j < m { (v[i, j] - p[i, j]) * (v[i, j] - p[i, j]) }
})",
       {false, true, true},
       [](int64_t n) {
         return std::vector{Filled({n, 8}), Filled({n, kRank}), Filled({kRank, 8})};
       }},
      {"scatter and gather by j = idx[i]",
       R"(
fn f(x: [n]f64, idx: [n]i64) -> f64 {
  let bins = gen k < n { sum i < n { [k == idx[i]] * x[i] * x[i] } }
  let back = gen i < n { sum k < n { [k == idx[i]] * bins[k] } }
  return sum i < n { back[i] * x[i] }
})",
       {true, false},
       [](int64_t n) {
         std::vector<int64_t> idx;
         for (int64_t i = 0; i < n; ++i) idx.push_back(i * i % n);
         return std::vector{Filled({n}), Tensor::Of<int64_t>(DType::kI64, {n}, idx)};
       }},
      {"a chain of diagonal matrices",
       "fn f(x: [n]f64, y: [n]f64) -> f64 { return sum(diag(x) @ diag(y) @ diag(x) @ y) }",
       {true, true},
       [](int64_t n) { return std::vector{Filled({n}), Filled({n})}; }},
      {"eye and a diagonal matrix",
       "fn f(x: [n]f64, y: [n]f64) -> f64 { return dot((eye(n) + diag(x)) @ y, y) }",
       {true, true},
       [](int64_t n) { return std::vector{Filled({n}), Filled({n})}; }},
      {"a band by its name",
       R"(
fn f(x: [n]f64, y: [n]f64) -> f64 {
  let a = gen i < n, j < n { [i - 2 <= j and j <= i + 2] * x[i] * y[j] }
  return sum(a @ y)
})",
       {true, true},
       [](int64_t n) { return std::vector{Filled({n}), Filled({n})}; }},
      {"three diagonals by brackets",
       R"(
fn f(x: [n]f64, y: [n]f64) -> f64 {
  let z = gen i < n { sum j < n { ([i == j] * x[i] - [i == j + 1] - [j == i + 1] * x[j]) * y[j] } }
  return dot(z, z)
})",
       {true, true},
       [](int64_t n) { return std::vector{Filled({n}), Filled({n})}; }},
      {"a diagonal matrix that is computed, read twice",
       R"(
fn f(x: [n]f64, y: [n]f64) -> f64 {
  let a = gen i < n, j < n { [i == j] * x[i] * x[j] }
  return sum(a @ tanh.(a @ y))
})",
       {true, true},
       [](int64_t n) { return std::vector{Filled({n}), Filled({n})}; }},
      {"the trace of a product",
       "fn f(a: [n, m]f64, b: [m, n]f64) -> f64 { return trace(a @ b) }",
       {true, true},
       [](int64_t n) { return std::vector{Filled({n, n}), Filled({n, n})}; },
       2},
      {"softmax in the body of a sum",
       "fn f(x: [n]f64, y: [n]f64) -> f64 { return sum i < n { softmax(x)[i] * y[i] } }",
       {true, true},
       [](int64_t n) { return std::vector{Filled({n}), Filled({n})}; }},
      {"ARAP", kArap, {true, true, false, false, false, false}, Mesh},
      {"n-body",
       R"(
fn f(p: [n, 3]f64, m: [n]f64) -> f64 {
  return sum i < n, j < n { [j < i] * m[i] * m[j] / sqrt(1.0 + sum k < 3 { (p[i, k] - p[j, k]) ** 2.0 }) }
})",
       {true, true},
       [](int64_t n) { return std::vector{Filled({n, 3}), Filled({n})}; },
       2},
  };
}

}  // namespace

const std::vector<AtlProgram>& AtlPrograms() {
  static const std::vector<AtlProgram> programs = Make();
  return programs;
}

}  // namespace pullback::testing
