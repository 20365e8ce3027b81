#include "tests/support/relations.h"

namespace pullback::testing {
Tensor PositiveFloats(std::vector<int64_t> shape) {
  int64_t count = 1;
  for (int64_t n : shape) count *= n;
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(0.3 + 0.17 * static_cast<double>(i * 7 % 11));
  return Tensor::Of(DType::kF64, std::move(shape), values);
}

Tensor IntVector(const std::vector<int64_t>& values) {
  return Tensor::Of(DType::kI64, {static_cast<int64_t>(values.size())}, values);
}

namespace {

Tensor Reversed(const Tensor& x) {
  std::vector<double> values;
  for (int64_t i = x.ElementCount(); i-- > 0;) values.push_back(x.At<double>(i));
  return Tensor::Of(DType::kF64, x.shape, values);
}

}  // namespace

const std::vector<RelationProgram>& RelationPrograms() {
  const TestRelation square = RandomRelation({6, 6}, 14, 1), wide = RandomRelation({6, 4}, 9, 2);
  const TestRelation set = RandomRelation({6}, 3, 3), triple = RandomRelation({4, 5, 3}, 17, 4);
  const TestRelation none = RandomRelation({6, 4}, 0, 5),
                     quad = RandomRelation({3, 2, 4, 3}, 20, 6);
  const Tensor x = PositiveFloats({6}), q = Reversed(x), y = PositiveFloats({4}),
               w = PositiveFloats({6, 6}), v = PositiveFloats({6, 4});
  static const std::vector<RelationProgram> programs = {
      {"laplacian",
       R"(fn f(r: rel[n, n], w: [n, n]f64, x: [n]f64) -> [n]f64 {
         return gen i < n { sum j < n { [r(i, j)] * w[i, j] * (x[i] - x[j]) } } })",
       {square},
       {w, x}},
      {"energy",
       R"(fn f(r: rel[n, n], x: [n]f64) -> f64 {
         return sum i < n, j < n { [r(i, j)] * (x[i] - x[j]) ** 2 } })",
       {square},
       {x}},
      {"ARAP",
       R"(fn stretch(a: f64, x: f64, y: f64, u: f64, v: f64) -> f64 {
         return (x - (cos(a) * u - sin(a) * v)) ** 2 + (y - (sin(a) * u + cos(a) * v)) ** 2 }
       fn f(r: rel[n, n], w: [n, n]f64, x: [n]f64, y: [n]f64, u: [n]f64, v: [n]f64, a: [n]f64) -> f64 {
         return sum i < n, j < n {
           [r(i, j)] * w[i, j] * stretch(a[i], x[i] - x[j], y[i] - y[j], u[i] - u[j], v[i] - v[j]) } })",
       {square},
       {w, x, q, q, x, q}},
      {"columns",
       R"(fn f(r: rel[n, m], x: [n]f64) -> [m]f64 {
         return gen j < m { sum i < n { [r(i, j)] * sin(x[i]) } } })",
       {wide},
       {x}},
      {"transposed use",
       R"(fn f(r: rel[n, m], x: [m]f64) -> [n]f64 {
         return gen j < n { sum i < m { [r(j, i)] * x[i] * x[i] } } })",
       {wide},
       {y}},
      {"dense result",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> [n, m]f64 {
         return gen i < n, j < m { [r(i, j)] * x[i] * y[j] } })",
       {wide},
       {x, y}},
      {"a branch whose other arm is 0",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> f64 {
         return sum i < n, j < m { if r(i, j) { let d = x[i] - y[j]; d * d / (1.0 + y[j]) } else { 0.0 } } })",
       {wide},
       {x, y}},
      {"a branch whose other arm is below 0",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> f64 {
         return sum i < n, j < m { if r(i, j) { x[i] * y[j] } else { -5.0 } } })",
       {wide},
       {x, y}},
      {"rows of branches",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> [n]f64 {
         return gen i < n { sum j < m { if r(i, j) and y[j] > 0.5 { x[i] / y[j] } else { 0.0 } } } })",
       {wide},
       {x, y}},
      {"empty",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> ([n]f64, f64) {
         return (gen i < n { sum j < m { [r(i, j)] * x[i] * y[j] } },
                 sum i < n, j < m { [r(i, j)] * x[i] }) })",
       {none},
       {x, y}},
      {"row beside other terms",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> [n]f64 {
         return gen i < n { x[i] * x[i] + sum j < m { [r(i, j)] * x[i] * y[j] } } })",
       {wide},
       {x, y}},
      {"row beside a let",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> [n]f64 {
         return gen i < n { let e = exp(x[i]); e + e * sum j < m { [r(i, j)] * e * y[j] } } })",
       {wide},
       {x, y}},
      {"in a row, an inner sum",
       R"(fn f(r: rel[n, m], a: [n, m]f64, y: [m]f64) -> [n]f64 {
         return gen i < n { y[0] + sum j < m { [r(i, j)] * y[j] * (sum k < m { a[i, k] * y[k] }) } } })",
       {wide},
       {v, y}},
      {"sampled product",
       R"(fn f(r: rel[n, n], a: [n, m]f64) -> f64 {
         return sum i < n, j < n { [r(i, j)] * tanh(sum k < m { a[i, k] * a[j, k] }) } })",
       {square},
       {v}},
      {"rows as values",
       R"(fn f(r: rel[n, n], a: [n, m]f64) -> f64 {
         return sum i < n, j < n { [r(i, j)] * norm(a[i] - a[j] + 0.1) } })",
       {square},
       {v}},
      {"other conditions",
       R"(fn f(r: rel[n, n], x: [n]f64) -> f64 {
         return sum i < n, j < i + 1 { [r(i, j) and x[j] > 0.5 and 2 * i < j + 5] * x[i] * x[j] } })",
       {square},
       {x}},
      {"guarded row",
       R"(fn f(r: rel[n, n], x: [n]f64) -> [n]f64 {
         return gen i < n { [i > 1] * sum j < n { [r(i, j)] * x[i - 2] * x[j] } } })",
       {square},
       {x}},
      {"row guarded by data",
       R"(fn f(r: rel[n, n], x: [n]f64) -> [n]f64 {
         return gen i < n { [x[i] > 0.5] * sum j < n { [r(i, j)] * x[i] * x[j] } } })",
       {square},
       {x}},
      {"diagonal",
       R"(fn f(r: rel[n, n], x: [n]f64) -> f64 {
         return sum i < n { [r(i, i)] * x[i] * x[i] } })",
       {square},
       {x}},
      {"shifted",
       R"(fn f(r: rel[n, n], x: [n]f64) -> [n]f64 {
         return gen i < n { sum j < n - 2 { [r(n - 1 - i, j + 2)] * x[i] * x[j] } } })",
       {square},
       {x}},
      {"part of it",
       R"(fn f(r: rel[n, n], x: [n]f64) -> f64 {
         return sum i in 1..n - 1, j in 2..n { [r(i, j)] * x[i] * x[j] } })",
       {square},
       {x}},
      {"with a free index",
       R"(fn f(r: rel[n, m], a: [n, m]f64, y: [m]f64) -> [n, m]f64 {
         return gen i < n, k < m { sum j < m { [r(i, j)] * a[i, k] * y[j] } } })",
       {wide},
       {v, y}},
      {"set",
       R"(fn f(r: rel[n], x: [n]f64) -> ([n]f64, f64) {
         return (gen i < n { [r(i)] * x[i] * x[i] }, sum i < n { [not r(i)] * x[i] * x[i] }) })",
       {set},
       {x}},
      {"triples",
       R"(fn f(r: rel[n, m, l], x: [n]f64, y: [m]f64, z: [l]f64) -> ([m]f64, f64) {
         return (gen j < m { sum i < n, k < l { [r(i, j, k)] * x[i] * y[j] * z[k] } },
                 sum i < n, j < m, k < l { [not r(i, j, k)] * x[i] * y[j] * z[k] }) })",
       {triple},
       {y, PositiveFloats({5}), PositiveFloats({3})}},
      {"quadruples",
       R"(fn f(r: rel[n, m, l, k], x: [n]f64, y: [m]f64, z: [l]f64, u: [k]f64) -> [l]f64 {
         return gen c < l { sum a < n, b < m, d < k { [r(a, b, c, d)] * x[a] * y[b] * z[c] * u[d] } } })",
       {quad},
       {PositiveFloats({3}), PositiveFloats({2}), PositiveFloats({4}), PositiveFloats({3})}},
      {"negation",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> f64 {
         return sum i < n, j < m { [not r(i, j)] * x[i] * y[j] } })",
       {wide},
       {x, y}},
      {"either",
       R"(fn f(r: rel[n, n], s: rel[n, n], x: [n]f64) -> f64 {
         return sum i < n, j < n { [r(i, j) or s(j, i)] * x[i] * x[j] } })",
       {square, RandomRelation({6, 6}, 8, 7)},
       {x}},
      {"both",
       R"(fn f(r: rel[n, n], s: rel[n, n], x: [n]f64) -> f64 {
         return sum i < n, j < n { [r(i, j) and s(j, i)] * x[i] * x[j] } })",
       {square, RandomRelation({6, 6}, 20, 7)},
       {x}},
      {"join",
       R"(fn f(r: rel[n, m], s: rel[m, n], x: [n]f64, y: [m]f64) -> [n, n]f64 {
         return gen i < n, k < n { sum j < m { [r(i, j) and s(j, k)] * x[i] * y[j] * x[k] } } })",
       {wide, RandomRelation({4, 6}, 10, 8)},
       {x, y}},
      {"join by the second index",
       R"(fn f(r: rel[n, m], s: rel[n, m], x: [n]f64, y: [m]f64) -> f64 {
         return sum i < n, j < m, k < n { [r(i, j)] * [s(k, j)] * x[i] * y[j] * x[k] } })",
       {wide, RandomRelation({6, 4}, 10, 9)},
       {x, y}},
      {"three in a row",
       R"(fn f(r: rel[n, n], x: [n]f64) -> f64 {
         return sum i < n, j < n, k < n, l < n { [r(i, j) and r(j, k) and r(k, l)] * x[i] * x[l] } })",
       {square},
       {x}},
      {"triangles",
       R"(fn f(r: rel[n, n], x: [n]f64) -> f64 {
         return sum i < n, j < n, k < n { [r(i, j) and r(j, k) and r(k, i)] * x[i] * x[j] * x[k] } })",
       {square},
       {x}},
      {"nested sums",
       R"(fn f(r: rel[n, m], s: rel[m, n], x: [n]f64, y: [m]f64) -> f64 {
         return sum i < n, j < m { [r(i, j)] * x[i] * exp(sum k < n { [s(j, k)] * x[k] * y[j] }) } })",
       {wide, RandomRelation({4, 6}, 10, 8)},
       {x, y}},
      {"softmax over neighbours",
       R"(fn f(r: rel[n, n], x: [n]f64) -> [n]f64 {
         return gen i < n { sum j < n {
           [r(i, j)] * (exp(x[i] * x[j]) / (sum k < n { [r(i, k)] * exp(x[i] * x[k]) })) } } })",
       {square},
       {x}},
      {"quotients",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> f64 {
         return sum i < n, j < m { [r(i, j)] * x[i] / y[j] } +
           sum j < m { y[j] * sum i < n { x[i] * [r(i, j) and x[i] > 0.4] * y[j] / x[i] / 2.0 } } +
           sum(gen i < n { max j < m { -([r(i, j)] * x[i] / -y[j]) } }) +
           sum i < n { prod j < m { 1.0 + [r(i, j)] / (x[i] + y[j]) } } })",
       {wide},
       {x, y}},
      {"quotients over one relation or another",
       R"(fn f(r: rel[n, n], x: [n]f64) -> [n]f64 {
         return gen i < n { sum j < n { [r(i, j) or r(j, i) or i == j] * x[j] / x[i] } } })",
       {square},
       {x}},
      {"rows, divided",
       R"(fn f(r: rel[n, m], x: [n]f64, h: [m, 3]f64) -> [n, 3]f64 {
         return gen i < n { sum j < m { [r(i, j)] * sin.(x[i] * h[j]) / h[j] * x[i] } } })",
       {wide},
       {x, PositiveFloats({4, 3})}},
      {"nested sums over pairs",
       R"(fn f(r: rel[n, m], s: rel[m, n], x: [n]f64, y: [m]f64) -> f64 {
         return sum i < n, j < m {
           [r(i, j) and x[i] > 0.4] * exp(sum k < n { [s(j, k) and k != i] * x[k] * y[j] * x[i] }) } })",
       {wide, RandomRelation({4, 6}, 10, 8)},
       {x, y}},
      {"three nested sums",
       R"(fn f(r: rel[n, n], x: [n]f64) -> f64 {
         return sum i < n, j < n { [r(i, j)] * tanh(sum k < n { [r(j, k)] * x[i] *
             sin(sum l < n { [r(k, l)] * x[l] * x[j] * x[i] }) }) } })",
       {square},
       {x}},
      {"nested by the second index",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> f64 {
         return sum i < n, j < m { [r(i, j)] * y[j] * (sum k < n { [r(k, j)] * x[k] * x[i] }) ** 2 } })",
       {wide},
       {x, y}},
      {"exists",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> f64 {
         return sum i < n { [exists j < m: r(i, j) and y[j] > 0.5] * x[i] * x[i] } +
           sum j < m { [not (exists i < n: r(i, j))] * y[j] } })",
       {wide},
       {x, y}},
      {"rows of a matrix",
       R"(fn f(r: rel[n, m], x: [n]f64, h: [m, 3]f64) -> [n, 3]f64 {
         return gen i < n { sum j < m { [r(i, j)] * x[i] * h[j] } } })",
       {wide},
       {x, PositiveFloats({4, 3})}},
      {"rows under more conditions",
       R"(fn f(r: rel[n, m], x: [n]f64, h: [m, 3]f64) -> [n, 3]f64 {
         return gen i < n { sum j < m { [r(i, j) and x[i] > 0.5] * (sin.(x[i] * h[j]) + h[j]) } } })",
       {wide},
       {x, PositiveFloats({4, 3})}},
      {"rows, as they are",
       R"(fn f(r: rel[n, m], x: [n]f64, h: [m, 3]f64) -> [n, m, 3]f64 {
         return gen i < n, j < m { [r(i, j)] * x[i] * h[j] } })",
       {wide},
       {x, PositiveFloats({4, 3})}},
      {"hessian",
       R"(fn f(r: rel[n, n], x: [n]f64) -> [n, n]f64 {
         return hessian(|u| sum i < n, j < n { [r(i, j)] * exp(u[i] * u[j]) })(x) })",
       {square},
       {x}},
      {"hessian of quotients",
       R"(fn f(r: rel[n, n], x: [n]f64) -> [n, n]f64 {
         return hessian(|u| sum i < n, j < n { [r(i, j)] * exp(u[i]) / (u[j] + 2.0) })(x) })",
       {square},
       {x}},
      {"jacobian",
       R"(fn f(r: rel[n, m], x: [n]f64) -> [m, n]f64 {
         return jacobian(|u| gen j < m { sum i < n { [r(i, j)] * sin(u[i]) } })(x) })",
       {wide},
       {x}},
      {"a row in a loop",
       R"(fn f(r: rel[n, n], x: [n]f64) -> f64 {
         var s = 1.0
         for i < n { s = 0.5 * s + sin(s) * sum j < n { [r(i, j)] * x[j] * x[i] } }
         return s })",
       {square},
       {x}},
      {"a column in a loop",
       R"(fn f(r: rel[n, m], x: [n]f64) -> f64 {
         var s = 1.0
         for j < m { s = 0.5 * s + sin(s) * sum i < n { [r(i, j)] * x[i] } }
         return s })",
       {wide},
       {x}},
      {"as a condition",
       R"(fn f(r: rel[n, n], x: [n]f64) -> f64 {
         var s = 0.0
         for i < n { for j < n { if r(i, j) and i != j { s += x[i] * x[j] } } }
         return s })",
       {square},
       {x}},
      {"body with control flow",
       R"(fn g(x: f64) -> f64 { var s = x; while s < 4.3 { s = 2.0 * s } return s * x }
       fn f(r: rel[n, n], x: [n]f64) -> f64 {
         return sum i < n, j < n { [r(i, j)] * g(x[i]) * x[j] } })",
       {square},
       {x}},
      {"passed on",
       R"(fn row(r: rel[k, l], i: i64, x: [l]f64) -> f64 {
         return sum j < l { [r(i, j)] * x[j] * x[j] } }
       fn f(r: rel[n, m], y: [m]f64) -> [n]f64 { return gen i < n { row(r, i, y) } })",
       {wide},
       {y}},
      {"captured",
       R"(fn f(r: rel[n, n], x: [n]f64) -> [n]f64 {
         let e = |u| sum i < n, j < n { [r(i, j)] * u[i] * u[j] * u[j] }
         return grad(e)(x) })",
       {square},
       {x}},
      {"largest of a row",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> [n]f64 {
         return gen i < n { max j < m { [r(i, j)] * x[i] * (y[j] - 0.9) } } })",
       {wide},
       {x, y}},
      {"smallest of a column",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> [m]f64 {
         return gen j < m { min i < n { [r(i, j) and i > 0] * (x[i] - 0.9) * y[j] } } })",
       {wide},
       {x, y}},
      {"product of a row, with a value elsewhere",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> ([n]f64, [m]f64, [n]f64) {
         return (gen i < n { prod j < m { if r(i, j) { y[j] * x[i] } else { 1.0 } } },
                 gen j < m { prod i < n { if not r(i, j) { 1.0 } else { x[i] - 0.3 } } },
                 gen i < n { prod j < m { [r(i, j)] * y[j] } }) })",
       {RandomRelation({6, 4}, 16, 2)},
       {x, y}},
      {"largest, with a value elsewhere",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> [n]f64 {
         return gen i < n { max j < m { let d = y[j] - x[i]; if r(i, j) { d * d } else { x[i] - 1.0 } } } })",
       {wide},
       {x, y}},
      {"largest in sums",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> f64 {
         return sum i < n { x[i] * max j < m { [r(i, j)] * x[i] * (y[j] - 0.9) } } +
           sum i < n, j < m { [r(i, j)] * exp(min k < n { [r(k, j)] * x[k] * x[i] }) } })",
       {wide},
       {x, y}},
      {"extrema over all pairs",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> (f64, f64, f64) {
         return (max i < n, j < m { [r(i, j)] * x[i] * (y[j] - 0.9) },
                 min j < m, i < n { [r(i, j)] * (x[i] * y[j] - 1.0) },
                 prod i < n { prod j < m { if r(i, j) { x[i] * y[j] } else { 1.0 } } }) })",
       {wide},
       {x, y}},
      {"ties with what is not related",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> ([n]f64, [m]f64) {
         return (gen i < n { max j < m { [r(i, j)] * x[i] * min(y[j] - 0.9, 0.0) } },
                 gen j < m { min i < n { [r(i, j)] * max(x[i] - 0.9, 0.0) } }) })",
       {RandomRelation({6, 4}, 16, 2)},
       {x, y}},
      {"where the extremum is",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> ([n]i64, [m]i64, (i64, i64), f64) {
         return (gen i < n { argmax j < m { [r(i, j)] * (y[j] - 0.9) } },
                 gen j < m { argmin i in 1..n { [r(i, j)] * (x[i] - 0.9) } },
                 argmax i < n, j < m { [r(i, j)] * x[i] * y[j] },
                 sum i < n { x[argmin j < m { if r(i, j) { y[j] } else { 0.5 } }] }) })",
       {wide},
       {x, y}},
      {"whether all neighbours",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> (f64, f64) {
         return (sum i < n { [and j < m { not r(i, j) or y[j] > 0.5 }] * x[i] },
                 sum j < m { [and i < n { not (r(i, j) and x[i] < 0.5) }] * y[j] }) })",
       {wide},
       {x, y}},
      {"shifted and turned",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> ([n]f64, [m]f64) {
         return (gen i < n { max j in 1..m { [r(n - 1 - i, j - 1)] * x[i] * (y[j] - 0.9) } },
                 gen j < m { max i < n - 1 { [r(n - 2 - i, j)] * (x[i] - 0.9) } }) })",
       {wide},
       {x, y}},
      {"largest by one of three",
       R"(fn f(r: rel[n, m, l], x: [n]f64, y: [m]f64, z: [l]f64) -> ([n, l]f64, [m]f64) {
         return (gen i < n, k < l { max j < m { [r(i, j, k)] * x[i] * (y[j] - 0.9) * z[k] } },
                 gen j < m { max i < n, k < l { [r(i, j, k)] * x[i] * x[i] * y[j] * z[k] } }) })",
       {triple},
       {y, PositiveFloats({5}), PositiveFloats({3})}},
      {"largest of a set",
       R"(fn f(r: rel[n], x: [n]f64) -> (f64, i64, f64) {
         return (max i < n { [r(i)] * (x[i] - 0.9) }, argmax i < n { [r(i)] * x[i] },
                 prod i < n { if r(i) { x[i] } else { 1.0 } }) })",
       {set},
       {x}},
      {"rows, the largest of each feature",
       R"(fn f(r: rel[n, m], x: [n]f64, h: [m, 3]f64) -> [n, 3]f64 {
         return gen i < n { max j < m { [r(i, j)] * x[i] * (h[j] - 0.9) } } })",
       {wide},
       {x, PositiveFloats({4, 3})}},
      {"parts of tuples, each reduced",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> ([n]f64, [n]f64) {
         let t = gen i < n { max j < m { ([r(i, j)] * (y[j] - 0.9), [r(i, j)] * x[i] * y[j]) } }
         return (gen i < n { t[i].0 }, gen i < n { t[i].1 }) })",
       {wide},
       {x, y}},
      {"a row in a loop, its product",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> f64 {
         var s = 1.0
         for i < n { s = 0.5 * s + sin(s) * prod j < m { if r(i, j) { y[j] * x[i] } else { 1.0 } } }
         return s })",
       {wide},
       {x, y}},
      {"a sum inside the largest",
       R"(fn f(r: rel[n, m], s: rel[m, n], x: [n]f64, y: [m]f64) -> [n]f64 {
         return gen i < n { max j < m { [r(i, j)] * (sum k < n { [s(j, k)] * x[k] * y[j] }) } } })",
       {wide, RandomRelation({4, 6}, 10, 8)},
       {x, y}},
      {"nearly the whole",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> ([n]f64, [n]f64, [n]i64) {
         return (gen i < n { max j < m { [r(i, j)] * (y[j] - 5.0) * x[i] } },
                 gen i < n { prod j < m { [r(i, j)] * y[j] * x[i] } },
                 gen i < n { argmax j < m { [r(i, j)] * (y[j] - 5.0) } }) })",
       {RandomRelation({6, 4}, 60, 2)},
       {x, y}},
      {"passed on, the largest",
       R"(fn row(r: rel[k, l], i: i64, x: [l]f64) -> f64 {
         return max j < l { [r(i, j)] * x[j] * x[j] } }
       fn f(r: rel[n, m], y: [m]f64) -> ([n]f64, [m]f64) {
         return (gen i < n { row(r, i, y) }, (|t: f64| t * row(r, 1, y)).(y)) })",
       {wide},
       {y}},
      {"gathered: rows",
       R"(fn f(r: rel[n, m], k: [l]i64, x: [l]f64, y: [m]f64) -> ([l]f64, [l]f64, f64) {
         return (gen i < l { sum j < m { [r(k[i], j)] * x[i] * y[j] } },
                 gen i < l { x[i] * sin(x[i] + sum j < m { [r(k[i], j) and y[j] > 0.5] * y[j] }) },
                 sum i < l, j < m { [r(k[i], j)] * x[i] * y[j] * y[j] }) })",
       {wide},
       {IntVector({3, 0, 5, 5, 3}), PositiveFloats({5}), y}},
      {"gathered: columns",
       R"(fn f(r: rel[n, m], k: [l]i64, x: [n]f64, y: [l]f64) -> ([l]f64, [n]f64, [n, l]f64) {
         return (gen j < l { sum i < n { [r(i, k[j])] * x[i] * y[j] } },
                 gen i < n { sum j < l { [r(i, k[j])] * x[i] * y[j] } },
                 gen i < n, j < l { [r(i, k[j])] * x[i] * y[j] }) })",
       {wide},
       {IntVector({3, 0, 1, 1, 3}), x, PositiveFloats({5})}},
      {"gathered, in a row of rows",
       R"(fn f(r: rel[n, n], k: [n]i64, x: [n]f64, h: [n, 3]f64) -> ([n, 3]f64, f64) {
         return (gen i < n { sum j < n { [r(k[i], j)] * x[i] * h[j] } },
                 sum i < n { x[i] * exp(sum j < n { let b = k[n - 1 - i]; [r(j, b)] * x[j] * (
                   sum l < n { [r(k[j], l)] * x[l] * x[i] }) }) }) })",
       {square},
       {IntVector({3, 0, 5, 5, 1, 2}), x, PositiveFloats({6, 3})}},
      {"gathered, with what is told",
       R"(fn f(r: rel[n, n], s: rel[n, n], k: [n]i64, x: [n]f64) -> (f64, f64, f64, [n]f64) {
         return (sum i < n, j < n, l < n { [r(k[i], j) and s(j, l)] * x[i] * x[j] * x[l] },
                 sum i < n, j < n { [r(i, j) and s(k[i], j)] * x[i] * x[j] },
                 sum i < n, j < n { [r(k[j], j) and s(k[i], k[j])] * x[i] * x[j] },
                 gen i < n { [x[i] > 0.5] * sum j < n { [r(k[i], j) and s(j, k[i])] * x[i] * x[j] } }) })",
       {square, RandomRelation({6, 6}, 15, 7)},
       {IntVector({3, 0, 5, 5, 1, 2}), x}},
      {"computed from an index",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> ([3]f64, [3]f64, [2]f64) {
         return (gen i < 3 { sum j < m { [r(2 * i, j)] * x[i] * y[j] } },
                 gen i < 3 { max j < m { [r(2 * i + 1, j)] * x[i] * (y[j] - 0.9) } },
                 gen j < 2 { sum i < n { [r(i, 3 * j)] * x[i] * y[j] } }) })",
       {wide},
       {x, y}},
      {"gathered in a loop",
       R"(fn f(r: rel[n, m], k: [l]i64, x: [l]f64, y: [m]f64) -> f64 {
         var s = 1.0
         for i < l { s = 0.5 * s + sin(s) * sum j < m { [r(k[i], j)] * y[j] * x[i] } }
         for i < l - 1 { s = 0.5 * s + sin(s) * max j < m { [r(k[i + 1], j)] * (y[j] - 0.9) * x[i] } }
         return s })",
       {wide},
       {IntVector({3, 0, 5, 5, 3}), PositiveFloats({5}), y}},
      {"gathered: reductions by neighbours",
       R"(fn f(r: rel[n, m], k: [l]i64, x: [l]f64, y: [m]f64) -> ([l]f64, [l]f64, [l]i64, [l]f64) {
         return (gen i < l { max j < m { [r(k[i], j)] * x[i] * (y[j] - 0.9) } },
                 gen i < l { prod j < m { if r(k[i], j) { y[j] * x[i] } else { 1.0 } } },
                 gen i < l { argmin j < m { [r(k[i], j)] * (y[j] - 0.9) } },
                 gen i < l { [and j < m { not r(k[i], j) or y[j] > 0.5 }] * x[i] }) })",
       {wide},
       {IntVector({3, 0, 5, 5, 3}), PositiveFloats({5}), y}},
      {"gathered, two that differ in their subscript",
       R"(fn f(r: rel[n, m], k: [l]i64, x: [l]f64, y: [m]f64) -> f64 {
         return sum i < l - 1 { x[i] * max j < m { [r(k[i], j) and r(k[i + 1], j)] * (y[j] - 0.9) } } })",
       {RandomRelation({6, 4}, 20, 2)},
       {IntVector({3, 0, 5, 5, 3}), PositiveFloats({5}), y}},
      {"pinned by data",
       R"(fn f(r: rel[n], k: [n]i64, x: [n]f64) -> ([n]f64, [n]f64, f64) {
         return (gen i < n { sum j < n { [j == k[i]] * x[j] * x[i] } },
                 gen j < n { sum i < n { [k[i] + 1 == j] * x[i] * x[j] } },
                 sum i < n, j < n { [x[i] > 0.5 and j == k[i] and r(i)] * x[i] * x[j] }) })",
       {set},
       {Tensor::Of<int64_t>(DType::kI64, {6}, {3, 0, 5, 5, -1, 7}), x}},
      // Conditions on an index around the sum, which the relation binds there.
      {"a bound index around: conditions",
       R"(fn f(r: rel[n, n], x: [n]f64, c: i64) -> (f64, f64, f64, f64, [n]f64) {
         return (sum i < n { x[i] * sum j < n { [i < 2 and r(i, j)] * x[j] } },
                 sum i < n { x[i] * sum j < n { [r(i, j)] * [i >= c] * x[j] } },
                 sum i < n { x[i] * sum j < n { [r(j, i) and i == c] * x[j] * x[i] } },
                 sum i < n { x[i] * sum j < n { [r(i, j) and i > 0 and j < i and x[j] > 0.5] * x[j] * x[i - 1] } },
                 gen i < n { sin(sum j < n { [r(i, j) and i > 0] * x[i] * x[j] }) }) })",
       {square},
       {x, Tensor::Of<int64_t>(DType::kI64, {}, {3})}},
      {"a bound index around: whether there is one",
       R"(fn f(r: rel[n, n], x: [n]f64, c: i64) -> (f64, f64, [n]f64) {
         return (sum i < n { [exists j < n: r(i, j) and i < 2] * x[i] },
                 sum i < n { [exists j < n: i >= c and r(j, i) and x[j] > 0.5] * x[i] },
                 gen i < n { if exists j < n: r(i, j) and i != c { x[i] } else { x[i] * x[i] } }) })",
       {square},
       {x, Tensor::Of<int64_t>(DType::kI64, {}, {3})}},
      {"a bound index around: keys",
       R"(fn f(r: rel[m, n], k: [n]i64, x: [n]f64, c: i64) -> (f64, f64, f64, f64, [n]f64) {
         return (sum i < n { x[i] * sum j < n { [i < 2 and r(i + 1, j)] * x[j] } },
                 sum i < n { x[i] * sum j < n { [i >= c and r(2 * i, j)] * x[j] } },
                 sum i < n { x[i] * sum j < n { [r(k[i] + 1, j) and i < c] * x[j] } },
                 sum i < n { [i > 0] * x[i] * (1.0 + sum j < n { [r(2 * i, j)] * x[j] * x[i] }) },
                 gen i < n { exp(sum j < n { [r(k[i] + 1, j) and i < 2 and i != c] * x[j] }) }) })",
       {RandomRelation({12, 6}, 30, 7)},
       {IntVector({3, 0, 5, 9, 3, -1}), x, Tensor::Of<int64_t>(DType::kI64, {}, {3})}},
      {"a bound index around: conditions in front of the sum",
       R"(fn f(r: rel[m, n], k: [n]i64, x: [n]f64) -> (f64, f64, f64, [n]f64) {
         return (sum i < n { [i < 3] * sum j < n { [r(2 * i, j)] * x[j] * x[i] } },
                 sum i < n { [i < 3] * sum j < n { [r(k[i] + 1, j)] * x[j] * x[i] } },
                 sum i < n, l < i { x[l] * sum j < n { [r(2 * i, j)] * x[j] * x[i - 1 - l] } },
                 gen i < n { [i > 1] * exp(x[i] + sum j < n { [r(k[i] + 1, j)] * x[j] * x[i] }) }) })",
       {RandomRelation({12, 6}, 30, 7)},
       {IntVector({3, 0, 5, 9, 3, -1}), x}},
      {"a bound index around: ranges, and other indices",
       R"(fn f(r: rel[n, n], x: [n]f64) -> (f64, f64, f64, f64, [n]f64) {
         return (sum i < n { x[i] * sum j < n { [r(i, j)] * sum l < i { x[l] } } },
                 sum i < n { x[i] * sum j < n { [r(i, j)] * x[j] * (1.0 + sum l in i..n { x[l] * x[j] }) } },
                 sum i < n, l < 2 { x[i] * sum j < n { [r(i, j) and l < i] * x[j] * x[l] } },
                 sum i < n { x[i] * sum j < n { [r(i, j) and i > 1] * x[j] * exp(sum l < n { [l < i and r(j, l)] * x[l] }) } },
                 gen i < n { x[i] * sum j < n, l < n { [r(i, j) and l <= i and i + l > 1] * x[j] * x[l] } }) })",
       {square},
       {x}},
      {"names of matrices: extrema in nests",
       R"(fn f(r: rel[n, n], k: [n]i64, x: [n]f64) -> (f64, f64, f64, f64, f64, f64, f64, f64) {
         let a = gen i < n, j < n { [r(i, j)] * x[i] * (x[j] - 1.0) }
         return (max i < n { max j < n { a[i, j] } },
                 max j < n { sum q < n { a[j, q] } },
                 max i < n, t < n { x[t] * max j < n { a[i, j] } },
                 prod i < n { x[i] - sum j < n { a[j, i] * x[j] } },
                 sum i < n { let p = k[i]
                   max j < n { a[p, j] } },
                 sum i < n { let p = i
                   min j < n { a[p, j] } },
                 max i < n, j < n { a[i, j] / (2.0 + max(a)) },
                 sum i < n { max j < n { a[i, j] / (3.0 + max q < n { a[i, q] }) } }) })",
       {square},
       {IntVector({3, 0, 5, 1, 3, 2}), x}},
      {"names of matrices: rows, and reductions beside others",
       R"(fn f(r: rel[n, n], s: rel[n, n], x: [n]f64) -> (f64, f64, f64, f64, f64, f64) {
         let a = gen i < n, j < n { [r(i, j)] * x[i] * (x[j] - 1.0) }
         let b = gen i < n, j < n { [s(i, j)] * x[j] }
         return (sum i < n { max(a[i, :]) + max(a) },
                 sum i < n { (max(a[i]) - min(a[i])) / (2.0 + max(a)) },
                 sum i < n { max(a[i]) + max(a[i]) * max(a) },
                 sum i < n { max(a[i]) - min(b[i]) },
                 sum i < n { max(a[i]) * x[i] + sum(a[i]) + sum(b[i]) + sum(a * b) },
                 max(a * b.T) + min(a.T)) })",
       {square, RandomRelation({6, 6}, 14, 8)},
       {x}},
      {"names of matrices: products",
       R"(fn f(r: rel[n, n], s: rel[n, n], k: [n]i64, x: [n]f64) -> (f64, f64, f64, f64, f64, f64) {
         let a = gen i < n, j < n { [r(i, j)] * x[i] * (x[j] - 1.0) }
         let b = gen i < n, j < n { [s(i, j)] * x[j] }
         return (sum i < n { let t = k[i]
                   sum j < n { a[i, j] * a[t, j] } },
                 sum i < n { let t = 1
                   sum j < n { a[t, j] * a[j, t] } },
                 sum i < n, j < n { a[i, j] * a[j, i] / (2.0 + sum(a * a.T)) },
                 sum t < n, i < n, j < n { a[i, j] * b[j, i] * x[t] },
                 sum i < n, j < n { a[i, j] * b[i, j] * b[j, i] - a[i, j] * a[i, j] },
                 max i < n { x[i] * sum j < n { a[i, j] * b[j, i] } }) })",
       {square, RandomRelation({6, 6}, 14, 8)},
       {IntVector({3, 0, 5, 1, 3, 2}), x}},
      {"names of matrices: what is in a box when they are made",
       R"(fn f(r: rel[n, n], x: [n]f64) -> (f64, f64) {
         let inside = box(x[2])
         let c = gen i < n, j < n { [r(i, j)] * get(inside) }
         set(inside, x[1])
         return (sum i < n, j < n { c[i, j] * c[j, i] }, sum(c * c.T)) })",
       {square},
       {x}},
  };
  static const std::vector<RelationProgram> all = [] {
    std::vector<RelationProgram> joined = programs;
    for (RelationProgram& p : KeyPrograms()) joined.push_back(std::move(p));
    for (RelationProgram& p : EitherPrograms()) joined.push_back(std::move(p));
    return joined;
  }();
  return all;
}

}  // namespace pullback::testing
