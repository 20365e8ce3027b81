#include "tests/support/programs.h"

#include "tests/support/derivatives.h"
#include "tests/support/relations.h"

namespace pullback::testing {
namespace {

std::vector<ProgramCase> Sorting() {
  return {
      {"sort, and sort_by of keys",
       "fn f(x: [n]f64, y: [n]f64) -> f64 { let a = sort(gen i < n { x[i] * y[i] })\n"
       " let b = sort_by(x, y)\n return sum i < n { a[i] * b[i] * f64(i + 1) } }",
       "f",
       {Vec({0.5, -1.2, 0.7, 1.9, 0.1}), Vec({1.1, 0.7, -1.3, 0.4, 2})},
       {}},
      {"logaddexp of equal numbers is smooth",
       "fn f(a: f64, b: f64) -> f64 { return logaddexp(a, b) }",
       "f",
       {Tensor::F64(1), Tensor::F64(1)},
       {{0.5}, {0.5}}},
      {"sort of equal elements: they keep their order",
       "fn f(x: [n]f64) -> f64 { let a = sort(x)\n return sum i < n { a[i] * f64(i * i) } }",
       "f",
       {Vec({2, 1, 2, 1})},
       {{4, 0, 9, 1}},
       true},
      {"sort in the body of a sum, and softmax in that of a gen",
       "fn f(x: [n]f64, y: [n]f64) -> f64 { let z = gen i < n { softmax(x)[i] * y[i] }\n"
       " return sum i < n { sort(x)[i] * sort(z)[n - 1 - i] * y[i] } }",
       "f",
       {Vec({0.5, -1.2, 0.7}), Vec({1.1, 0.7, -1.3})},
       {}},
      {"sort in the body of a sum, whose range has no points",
       "fn f(x: [n]f64, y: [m]f64) -> f64 { return x[0] + sum i < m { sort(x)[i] * y[i] } }",
       "f",
       {Vec({0.5, -1.2}), Vec({})},
       {{1, 0}, {}}},
      {"median and a quantile",
       "fn f(x: [n]f64, q: f64) -> f64 { return median(x) * quantile(x, q) }",
       "f",
       {Vec({3, 1, 2, 0.5}), Tensor::F64(0.8)},
       {{0.6, 1.2, 2.1, 0}, {4.5}}},
      {"interpolation, covariance, padding, shifts",
       "fn f(x: [n]f64, a: [n, n]f64, v: f64) -> f64 {\n"
       " let c = kron(covariance(a), [[1.0, v]])\n let p = pad(roll(x, 1), 1, n - 1)\n"
       " return interp(v, sort(x), tile(x, 2)[1:n + 1]) * sum i < n, j < 2 * n { c[i, j] * p[j] } "
       "}",
       "f",
       {Vec({0.5, -1.2, 1.7}), Mat(3, 3, {0.1, 1, 2, 4, 3, 0.5, 2, 0.5, 5}), Tensor::F64(0.3)},
       {}},
      {"a weighted histogram",
       "fn f(k: [n]i64, w: [n]f64) -> f64 { let y = bincount_weighted(k, w * w, 4)\n"
       " return sum i < 4 { y[i] * y[i] } }",
       "f",
       {IntVector({1, 3, 1}), Vec({1, 2, 3})},
       {{4 * 10, 4 * 2 * 4, 4 * 3 * 10}}},
  };
}

std::vector<ProgramCase> Linear() {
  return {
      {"the solution of a linear system, and an inverse",
       "fn f(a: [n, n]f64, b: [n]f64) -> f64 { let x = solve(a, b)\n let y = inv(a)\n"
       " return sum i < n { x[i] * x[i] * y[0, i] } }",
       "f",
       {Mat(3, 3, {0.1, 1, 2, 4, 3, 0.5, 2, 0.5, 5}), Vec({1, 2, 3})},
       {}},
      {"cholesky",
       "fn f(a: [n, n]f64) -> f64 { let l = cholesky(a)\n"
       " return sum i < n, j < n { l[i, j] * f64(i + 2 * j + 1) } }",
       "f",
       {Mat(3, 3, {4, 1, 2, 1, 3, 0.5, 2, 0.5, 5})},
       {}},
      {"a determinant",
       "fn f(a: [n, n]f64) -> f64 { return det(a) }",
       "f",
       {Mat(3, 3, {0.1, 1, 2, 4, 3, 0.5, 2, 0.5, 5})},
       {}},
      {"a determinant of rank 2 of 3",
       "fn f(a: [n, n]f64) -> f64 { return det(a) }",
       "f",
       {Mat(3, 3, {0, 1, 2, 0, 2, 4, 0, 3, 7})},
       {{2, 0, 0, -1, 0, 0, 0, 0, 0}}},
  };
}

std::vector<ProgramCase> Equations() {
  return {
      {"a root, by what its equation captures",
       "fn f(a: f64, b: f64) -> f64 { return root(|x| x * x * x + b * x - a, 1.0, 50) }",
       "f",
       {Tensor::F64(2), Tensor::F64(1)},
       {{0.25}, {-0.25}}},
      {"the second derivative of a root",
       "fn f(a: f64) -> f64 { return grad(|b| root(|x| x * x - b, 1.0, 50))(a) }",
       "f",
       {Tensor::F64(4)},
       {{-0.03125}}},
      {"a fixed point",
       "fn f(a: [n]f64) -> f64 {\n"
       " let x = fixed_point(|x| gen i < n { 0.5 * cos(x[i] * a[i] + x[n - 1 - i]) }, zeros(n), "
       "1e-12, 200)\n return sum i < n { x[i] * x[i] * a[i] } }",
       "f",
       {Vec({0.5, 0.7, 1})},
       {}},
      {"dF~'s functions of functions",
       "fn f(v: [n]f64, m: [n, n]f64, a: f64) -> f64 {\n"
       " let w = vectorMap2(vectorMap(v, |t| t * a), v, |s, t| sin(s) * t)\n"
       " let (p, q) = vectorZip(v, w)\n"
       " let r = matrixMap2(matrixMap(m, |row| vectorSMul(row, a)), matrixTranspose(m), "
       "vectorAdd)\n"
       " let (s, t) = matrixZip(r, m)\n"
       " return vectorDot(p, q) + matrixTrace(matrixMul(s, t)) }",
       "f",
       {Vec({0.5, -1.2}), Mat(2, 2, {1, 2, -0.3, 0.7}), Tensor::F64(0.8)},
       {}},
  };
}

std::vector<ProgramCase> Forms() {
  return {
      {"loops over values: of a list, an array, rows; slices of lists",
       "fn f(x: [n]f64, a: [n, n]f64) -> f64 { var xs: list f64 = list()\n"
       " for v in x { xs = push(xs, v * v) }\n var s = 1.0\n for v in xs[1:] { s = s * v + v }\n"
       " for row in a { for v in row { if v < 0.0 { continue }\n s += v * v } }\n"
       " for v in xs[0:3:2] checkpoint(1) { s = sin(s) * v }\n return s }",
       "f",
       {Vec({0.5, -1.2, 0.7}), Mat(3, 3, {1, -2, 3, 4, -5, 6, 7, 8, 9})},
       {}},
      {"gathers and scatters by two arrays of indices; values of fewer axes",
       "fn f(a: [n, n]f64, x: [n]f64, k: [m]i64, l: [m]i64) -> f64 { var b = a\n"
       " b[k, l] += x[l] * 2.0\n b[k] += x * x\n b[:2] = sin.(x)\n let c = b[l, k] * a[k, l]\n"
       " return sum i < m { c[i] * c[i] } + trace(b @ a) }",
       "f",
       {Mat(3, 3, {0.1, 1, 2, 4, 3, 0.5, 2, 0.5, 5}), Vec({1, 2, 3}), IntVector({0, 2, 2}),
        IntVector({1, 1, 0})},
       {}},
      {"broadcasts of closures, of several results, of a gradient",
       "struct L { act: fn(f64) -> f64 }\n"
       "fn f(x: [n]f64, y: [n, n]f64, a: f64) -> f64 { let z = x * a\n"
       " let (p, q) = (|t: f64, u: f64| if t > u { (t * u, a) } else { (z[1] * u, t) })"
       ".(column(x), y)\n"
       " let l = list(L(sin), L(|t| t * a))\n let g = grad(|t| t * t * a)\n"
       " return sum(p * q * l[1].act.(x)) + sum(l[0].act.(y) * g.(x)) }",
       "f",
       {Vec({0.5, -1.2}), Mat(2, 2, {1, -2, -0.3, 0.7}), Tensor::F64(0.8)},
       {}},
  };
}

}  // namespace

const std::vector<ProgramCase>& PreludePrograms() {
  static const std::vector<ProgramCase> all = [] {
    std::vector<ProgramCase> list = Sorting();
    for (ProgramCase& c : Linear()) list.push_back(std::move(c));
    for (ProgramCase& c : Equations()) list.push_back(std::move(c));
    for (ProgramCase& c : Forms()) list.push_back(std::move(c));
    return list;
  }();
  return all;
}

}  // namespace pullback::testing
