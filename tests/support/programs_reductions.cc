#include "tests/support/programs.h"

#include "tests/support/derivatives.h"
#include "tests/support/relations.h"

namespace pullback::testing {
namespace {

std::vector<ProgramCase> Logical() {
  return {
      {"argmax of one index and of two, in a gen and behind a bracket",
       "fn f(a: [n, m]f64) -> f64 { let (i, j) = argmax i < n, j < m { a[i, j] * a[i, 0] }\n"
       " let k = gen p < n { argmin q in 1..m { a[p, q] } }\n"
       " return a[i, j] * a[i, j] + sum p < n { a[p, k[p]] * [p > 0] * a[p - 1, argmax q < m { "
       "a[p - 1, q] }] } }",
       "f",
       {Mat(2, 3, {0.5, -1.2, 0.7, 1.9, 0.1, 2.2})},
       {}},
      {"argmax of a body with a loop, over a triangle",
       "fn f(a: [n, n]f64) -> f64 {\n"
       " let k = argmax i < n { var s = 0.0\n for j < n { if j == i { continue }\n s += a[i, j] }\n"
       " s }\n"
       " let (i, j) = argmin i < n, j in i..n { a[i, j] }\n"
       " return a[k, 0] * a[k, 1] * a[i, j] + a[argmax l < 2 { a[l, l] }, 0] }",
       "f",
       {Mat(2, 2, {0.5, -1.2, 0.7, 1.9})},
       {}},
      {"and, or, exists in brackets, arms and conditions",
       "fn f(x: [n]f64, k: [m]i64, a: [n, n]f64) -> f64 {\n"
       " var s = 0.0\n"
       " if and i < n { x[i] > 0.0 } { s = x[0] * x[0] }\n"
       " while not (or j < m { k[j] < 0 } or s > 3.0) { s += x[1] * x[1] }\n"
       " let y = gen i < n { if exists j < m: k[j] == i { x[i] } else { x[i] * x[i] } }\n"
       " return s * sum i < n { [exists j < m: k[j] == i and (and l < n { a[i, l] > 0.0 })] *\n"
       "   y[i] * a[i, k[0] % 2] } }",
       "f",
       {Vec({1.1, 0.7, 1.3}), IntVector({2, 0, 2}), Mat(3, 3, {1, 2, 3, 4, -5, 6, 7, 8, 9})},
       {}},
      {"an exists inside an exists, whose range depends on the index",
       "fn f(x: [n]f64, e: [n, n]bool) -> f64 {\n"
       " return sum i < n, j < n { [i < j and exists k < j: e[i, k] and (exists l in k..j: "
       "e[k, l])] * x[i] * x[j] } }",
       "f",
       {Vec({1, 2, 3}), Tensor::Of<uint8_t>(DType::kBool, {3, 3}, {0, 1, 0, 0, 1, 0, 1, 0, 0})},
       {{3, 3, 3}}},
      {"a disjunction and data inside an exists, and a number that may be anything",
       "fn f(x: [n]f64, y: [n]f64, k: i64) -> f64 {\n"
       " return sum i < n { [exists j < n: (2*j == i or 3*j == i) and y[i] > 0.0] * x[i]**2 } +\n"
       "   sum i < n { [and j < n { 2*j != i or j == k or y[i] > 0.5 }] * x[i]**3 } }",
       "f",
       {Vec({1.1, 0.7, 1.3, 0.4, 0.9}), Vec({1, 1, -1, 0.4, 0.3}), Tensor::I64(1)},
       {}},
      {"and and or of nothing",
       "fn f(x: [n]f64) -> f64 { return 2.0 * [and i < n { x[i] > 0.0 }] + "
       "3.0 * [or i < n { x[i] > 0.0 }] + sum i < n { x[i] } }",
       "f",
       {Vec({})},
       {{}}},
  };
}

std::vector<ProgramCase> Scans() {
  return {
      {"a running sum and what it was before",
       "fn f(x: [n]f64) -> f64 { let a = scan sum i < n { x[i] * x[i] }\n"
       " let b = exscan sum i < n { x[i] }\n return sum i < n { a[i] * sin(b[i]) } }",
       "f",
       {Vec({1.1, 0.7, -1.3, 0.4})},
       {}},
      {"running products with zeros",
       "fn f(x: [n]f64) -> f64 { let a = scan prod i < n { x[i] }\n"
       " return sum i < n { a[i] * f64(i + 1) } }",
       "f",
       {Vec({2, 0, 3, 0, 5})},
       {{1, 4 + 18, 0, 0, 0}}},
      {"running extrema",
       "fn f(x: [n]f64) -> f64 { let a = scan max i < n { x[i] * x[i] }\n"
       " let b = exscan min i in 1..n { sin(x[i]) }\n"
       " return sum i in 1..n - 1 { a[i] * a[i - 1] * b[i] * x[i] } }",
       "f",
       {Vec({0.3, 0.2, -0.8, 1.1, 0.9, 1.4, -0.1})},
       {}},
      {"the first of equals stays the greatest so far",
       "fn f(x: [n]f64) -> f64 { let a = scan max i < n { x[i] }\n let b = exscan max i < n { x[i] "
       "}\n"
       " return sum i in 1..n { a[i] + 10.0 * b[i] } }",
       "f",
       {Vec({1, 3, 3, 2, 3})},
       {{10, 4 + 30, 0, 0, 0}},
       true},
      {"scans of rows, of two indices, of a triangle",
       "fn f(a: [n, m]f64) -> f64 { let r = gen i < n { scan sum j < m { a[i, j] * a[i, 0] } }\n"
       " let t = exscan prod i < n, j < m { a[i, j] }\n"
       " let s = gen i < n { sum((scan max j < m { a[i, j] }) * r[i, :]) }\n"
       " return sum i < n, j < m { r[i, j] * t[i, j] } + sum i < n { s[i] * "
       "(scan sum j < i + 1 { a[i, j] })[i] } }",
       "f",
       {Mat(2, 3, {0.5, -1.2, 0.7, 1.9, 0.1, 2.2})},
       {}},
      {"extrema, products and scans of rows, element by element",
       "fn f(a: [n, m]f64) -> f64 { let p = prod i < n { a[i] * a[0] }\n"
       " let q = min i < n { var r = a[i]\n for j < i { r[j] = r[j] * 0.5 }\n r }\n"
       " let s = scan max i < n { a[i] * q }\n let t = gen k < 2 { exscan prod i < n { a[i] + "
       "f64(k) "
       "} }\n return sum i < n, j < m { s[i, j] * p[j] * t[1, i, j] } }",
       "f",
       {Mat(3, 2, {0.5, -1.2, 0.7, 1.9, 0.1, 2.2})},
       {}},
      {"a scan whose terms need a loop, behind a bracket",
       "fn f(x: [n]f64, k: i64) -> f64 { let a = scan sum i < n { var p = 1.0\n"
       " for j < i { p = p * x[j] }\n p }\n"
       " return sum i < n { [i != k] * (scan prod j < n { a[j] * x[i] })[n - 1] } }",
       "f",
       {Vec({1.1, 0.7, -1.3}), Tensor::I64(1)},
       {}},
      {"a layer of recurrences, read by steps, and one of running maxima from the end",
       "fn f(x: [t, d]f64, a: [h]f64, b: [d, h]f64, c: [h, d]f64) -> f64 { let u = x @ b\n"
       " let s = gen i < h { scan_linear(gen k < t { a[i] }, u[:, i]) }\n let o = s.T @ c - x\n"
       " let m = gen i < h { scan max k < t { u[t - 1 - k, i] } }\n"
       " return sum(o * o) + sum k < t { sin(sum i < h { m[i, t - 1 - k] * u[k, i] }) } }",
       "f",
       {Mat(4, 2, {0.5, -1.2, 0.7, 1.9, -0.3, 0.4, 1.1, 0.2}), Vec({0.9, -0.5, 0.3}),
        Mat(2, 3, {0.4, -0.7, 0.2, 1.3, 0.6, -0.8}), Mat(3, 2, {0.5, 0.1, -0.9, 0.7, 0.2, 1.4})},
       {}},
      {"a linear recurrence",
       "fn f(a: [n]f64, b: [n]f64) -> f64 { let s = scan_linear(a, b * b)\n"
       " let t = scan_linear(gen i < n { sin(s[i]) }, a)\n"
       " return sum i < n { s[i] * t[i] } }",
       "f",
       {Vec({0.5, -1.2, 0.0, 1.9}), Vec({1.1, 0.7, -1.3, 0.4})},
       {}},
      {"the gradient of a scan, differentiated",
       "fn g(x: [n]f64) -> f64 { let a = scan max i < n { x[i] * x[i] }\n"
       " let b = scan prod i < n { x[i] }\n return sum i < n { a[i] * b[i] } }\n"
       "fn f(x: [n]f64) -> f64 { let d = grad(g)(x)\n return sum i < n { d[i] * d[i] } }",
       "f",
       {Vec({0.3, 0.2, -0.8, 1.1})},
       {}},
      {"a monoid of the user's: linear maps, folded, scanned, reduced",
       "fn then(f: (f64, f64), g: (f64, f64)) -> (f64, f64) { return (g.0 * f.0, g.0 * f.1 + g.1) "
       "}\n"
       "fn f(a: [n]f64, b: [n]f64) -> f64 {\n"
       " let whole = fold(|s: (f64, f64), i| then(s, (a[i], b[i])), (1.0, 0.0), n)\n"
       " let states = scan(|s: (f64, f64), i| then(s, (a[i], b[i])), (1.0, 0.0), n)\n"
       " let again = reduce(then, (1.0, 0.0), states)\n"
       " return whole.0 * whole.1 + again.0 * again.1 }",
       "f",
       {Vec({0.5, -1.2, 0.7}), Vec({1.1, 0.7, -1.3})},
       {}},
  };
}

}  // namespace

const std::vector<ProgramCase>& ReductionPrograms() {
  static const std::vector<ProgramCase> all = [] {
    std::vector<ProgramCase> list = Logical();
    for (ProgramCase& c : Scans()) list.push_back(std::move(c));
    return list;
  }();
  return all;
}

}  // namespace pullback::testing
