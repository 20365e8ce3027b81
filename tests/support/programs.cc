#include "tests/support/programs.h"

#include <cmath>
#include <limits>

#include "tests/support/derivatives.h"
#include "tests/support/relations.h"

namespace pullback::testing {
namespace {

Tensor D(double v) { return Tensor::F64(v); }
Tensor I(int64_t v) { return Tensor::I64(v); }

// A chain of 300 arms, the k-th giving k * x.
std::string Switch300() {
  std::string s = "fn f(x: f64, k: i64) -> f64 {\n  if k == 0 { return 0.0 * x }\n";
  for (int k = 1; k < 300; ++k) {
    const std::string n = std::to_string(k);
    s += "  else if k == " + n + " { return " + n + ".0 * x }\n";
  }
  return s + "  return 0.0\n}\n";
}

std::vector<ProgramCase> Scalars() {
  constexpr char kPow[] =
      "fn pow(x: f64, n: i64) -> f64 { var r = 1.0\n var k = n\n"
      "  while k > 0 { k = k - 1; r = r * x }\n  return r }";
  constexpr char kArms[] =
      "fn f(x: f64) -> f64 { var y = x\n if x > 0.0 { y = 2.0 * x } else if x < 0.0 { y = 3.0 * x "
      "}\n"
      " return y }";
  return {
      {"1 pow", kPow, "pow", {D(2), I(3)}, {{12}}},
      {"1 pow, no step", kPow, "pow", {D(2), I(0)}, {{0}}},
      {"2 three swaps",
       "fn f(x: f64) -> f64 { var a = x\n var b = 2.0 * x\n"
       " for i < 3 { a, b = b, a }\n return a }",
       "f",
       {D(0.5)},
       {{2}}},
      {"2 four rotations",
       "fn f(x: f64) -> f64 { var a = x\n var b = 2.0 * x\n var c = 3.0 * x\n"
       " for i < 4 { a, b, c = b, c, a }\n return a }",
       "f",
       {D(0.5)},
       {{2}}},
      {"3 halving interval",
       "fn f(z: f64) -> f64 { var x = 1.0\n var y = 1.0 + z\n"
       " while abs(x - y) > 1e-6 { y, x = (x + y) / 2.0, y }\n return y }",
       "f",
       {D(1024)},
       {{715827883.0 / 1073741824.0}}},
      {"4 dead code",
       "fn f(x: f64) -> f64 { return 3.0 * x\n let y = x * x\n return y }",
       "f",
       {D(0.7)},
       {{3}}},
      {"5 first arm", kArms, "f", {D(1.5)}, {{2}}},
      {"5 second arm", kArms, "f", {D(-1.5)}, {{3}}},
      {"5 no arm", kArms, "f", {D(0)}, {{1}}, true},
      {"6 break",
       "fn f(x: f64) -> f64 { var s = 0.0\n while true { s += x * x\n if s > 2.0 { break } }\n"
       " return s }",
       "f",
       {D(1.1)},
       {{4.4}}},
      {"6 continue",
       "fn f(x: f64) -> f64 { var s = 0.0\n"
       " for i < 4 { if i % 2 == 1 { continue }\n s += f64(i) * x }\n return s }",
       "f",
       {D(1.1)},
       {{2}}},
      {"a loop without a derivative, left in two ways, behind one that has one",
       "fn f(x: f64, k: i64) -> f64 { var s = x\n for i < 2 { s = s * s }\n"
       " for i < 2 { var j = k\n while j > 0 { if j == 1 { break }\n j -= 1 } }\n return s }",
       "f",
       {D(1.5), I(3)},
       {{13.5}}},
      {"a gradient by two arguments of which one is used, of a recursion",
       "fn g(x: f64, k: i64) -> f64 { if k <= 0 { return x }\n return sin(x) * g(x * x, k - 1) }\n"
       "fn h(x: f64, y: f64) -> f64 { return tanh(x * y + g(x, 2)) }\n"
       "fn f(x: f64, y: f64) -> f64 { return grad(h)(x, y).1 }",
       "f",
       {D(0.7), D(0.4)},
       {}},
      {"7 switch", Switch300(), "f", {D(0.5), I(217)}, {{217}}},
      {"8 three times the same",
       "fn f(x: f64) -> f64 { var acc = 5.0\n for i < 3 { acc += x }\n return acc * acc }",
       "f",
       {D(2)},
       {{66}}},
      {"10 recursive pow",
       "fn p(x: f64, n: i64) -> f64 { if n == 0 { return 1.0 }\n return x * p(x, n - 1) }",
       "p",
       {D(2), I(3)},
       {{12}}},
      {"10 mutual recursion",
       "fn even(x: f64, n: i64) -> f64 { if n == 0 { return 1.0 }\n return x * odd(x, n - 1) }\n"
       "fn odd(x: f64, n: i64) -> f64 { if n == 0 { return 0.5 }\n return sin(x) * even(x, n - 1) "
       "}",
       "even",
       {D(1.2), I(5)},
       {}},
      {"11 flag and tuple",
       "fn f(a: f64, b: f64) -> f64 {\n"
       " let (flag, z) = if a < b { (true, a * b) } else { (false, 2.0 * a) }\n"
       " if flag { return z * z }\n return z * z * z }\n"
       "fn g(a: f64) -> f64 { return f(a, a + 1.0) }",
       "g",
       {D(1)},
       {{12}}},
      {"12 guarded square root",
       "fn f(x: f64) -> f64 { return if x > 0.0 { sqrt(x) } else { 0.0 } }",
       "f",
       {D(0)},
       {{0}},
       true},
      {"13 select of NaN",
       "fn f(beta: f64, x: f64) -> f64 { return select(false, beta * x, 1.0) }",
       "f",
       {D(2), D(std::numeric_limits<double>::quiet_NaN())},
       {{0}, {0}},
       true},
      {"14 root of a square",
       "fn f(x: f64) -> f64 { return sqrt(x * x) }",
       "f",
       {D(0)},
       {{0}},
       true},
      {"16 powers at 0",
       "fn f(x: f64) -> f64 { return sum k < 3 { x ** k } }",
       "f",
       {D(0)},
       {{1}},
       true},
      {"16 negative base", "fn f(x: f64) -> f64 { return x ** 3.0 }", "f", {D(-2)}, {{12}}},
      {"18 tie of max",
       "fn f(x: f64, y: f64) -> f64 { return max(x, y) }",
       "f",
       {D(2), D(2)},
       {{1}, {0}},
       true},
      {"28 map with a condition",
       "fn f(a: f64, d: f64) -> f64 { return sum i in 1..4 { if i == 1 { a } else { d } } }",
       "f",
       {D(3), D(4)},
       {{1}, {2}}},
      {"lambda with an active capture",
       "fn apply(g: fn(f64) -> f64, x: f64) -> f64 { return g(x) + g(2.0 * x) }\n"
       "fn f(x: f64, a: f64) -> f64 { return apply(|t| a * t * t, x) }",
       "f",
       {D(3), D(2)},
       {{60}, {45}}},
      {"recursion with a closure",
       "fn go(g: fn(f64) -> f64, n: i64, x: f64) -> f64 { if n == 0 { return x }\n"
       " return go(g, n - 1, g(x)) }\n"
       "fn f(x: f64, a: f64) -> f64 { return go(|t| a * t, 3, x) }",
       "f",
       {D(3), D(2)},
       {{8}, {36}}},
      {"35 unused and constant",
       "fn f(x: f64, n: i64, y: f64) -> f64 { return 2.0 * y }",
       "f",
       {D(1), I(3), D(4)},
       {{0}, {2}}},
      {"37 atan", "fn f(x: f64) -> f64 { return atan(x) }", "f", {D(1)}, {{0.5}}},
      {"37 fmod",
       "fn f(x: f64, y: f64) -> f64 { return fmod(x, y) }",
       "f",
       {D(7), D(2)},
       {{1}, {-3}},
       true},
  };
}

std::vector<ProgramCase> Arrays() {
  return {
      {"a guarded sum whose tangent is a number from outside",
       "fn f(y: f64, a: [n]f64) -> f64 {\n"
       "  let m = gen i < n, j < n { a[i] + [i <= j] * (y + 1.5) }\n"
       "  return sum(m) }",
       "f",
       {D(0.5), Vec({1, 2, 3})},
       {{6}, {3, 3, 3}}},
      {"a function from f32 to f64 for every element",
       "fn g(x: f32) -> f64 { if x > 0.0 { return f64(x) * 2.0 } return f64(x * x) }\n"
       "fn f(x: [n]f64) -> f64 { return sum i < n { g(f32(x[i])) } }",
       "f",
       {Vec({0.5, -0.5})},
       {{2, -1}},
       true},
      {"9 running sum",
       "fn f(x: f64) -> f64 { var out = zeros(5)\n out[0] = x\n"
       " for i in 1..5 { out[i] = out[i - 1] + x }\n return out[4] }",
       "f",
       {D(0.5)},
       {{5}}},
      {"15 norm at 0",
       "fn f(x: [n]f64) -> f64 { return sqrt(sum i < n { x[i] * x[i] }) }",
       "f",
       {Vec({0, 0, 0})},
       {{0, 0, 0}},
       true},
      {"15 squared norm at 0",
       "fn f(x: [n]f64) -> f64 { let r = sqrt(sum i < n { x[i] * x[i] })\n return r * r }",
       "f",
       {Vec({0, 0, 0})},
       {{0, 0, 0}},
       true},
      {"18 tie of a maximum over an index",
       "fn f(x: [n]f64) -> f64 { return (max i < n { x[i] }) - 2.0 * (min i < n { x[i] }) }",
       "f",
       {Vec({1, 3, 3, 1, 2})},
       {{-2, 1, 0, 0, 0}},
       true},
      {"19 product with a zero",
       "fn f(x: [n]f64) -> f64 { return prod i < n { x[i] } }",
       "f",
       {Vec({5, 0, 6})},
       {{0, 30, 0}}},
      {"19 product with two zeros",
       "fn f(x: [n]f64) -> f64 { return prod i < n { x[i] } }",
       "f",
       {Vec({0, 2, 0})},
       {{0, 0, 0}}},
      {"19 products and extrema of rows",
       "fn f(a: [n, m]f64) -> f64 { return sum i < n { (prod j < m { sin(a[i, j]) }) * "
       "(max j < m { a[i, j] * a[i, 0] }) } }",
       "f",
       {Mat(2, 3, {0.5, -1.2, 0.7, 1.9, 0.1, 2.2})},
       {}},
      {"20 matrix product",
       "fn f(x: [4]f64, a: [2, 4]f64) -> f64 { let y = a @ x\n return 5.0 * y[0] + y[1] }",
       "f",
       {Vec({0, 0, 0, 0}), Mat(2, 4, {1, 0, 0, 0, 0, 0, 1, 1})},
       {{5, 0, 1, 1}, {0, 0, 0, 0, 0, 0, 0, 0}}},
      {"21 repeated index",
       "fn f(x: [n]f64, idx: [m]i64) -> f64 { var s = 0.0\n for k < m { s += x[idx[k]] }\n return "
       "s }",
       "f",
       {Vec({1, 2, 3}), IntVector({0, 1, 2, 2})},
       {{1, 1, 2}}},
      {"22 overwritten",
       "fn f(a: f64, b: f64) -> f64 { var y = zeros(1)\n y[0] = a\n y[0] = b\n return y[0] }",
       "f",
       {D(2), D(3)},
       {{0}, {1}}},
      {"23 input intact",
       "fn f(x: [n]f64) -> f64 { var y = x\n y[0] = y[0] * y[0]\n return y[0] * y[1] }",
       "f",
       {Vec({3, 5})},
       {{30, 9}}},
      {"24 old value",
       "fn f(a: [n, m]f64, x: [m]f64) -> f64 { var v = x\n let y = a @ v\n"
       " for i < m { v[i] = 0.0 }\n return sum i < n { y[i] } }",
       "f",
       {Mat(2, 2, {1, 2, 3, 4}), Vec({7, 9})},
       {{7, 9, 7, 9}, {4, 6}}},
      {"25 the same argument twice",
       "fn g(a: [n]f64, b: [n]f64) -> f64 { return sum i < n { a[i] * b[i] } }\n"
       "fn f(x: [n]f64) -> f64 { return g(x, x) }",
       "f",
       {Vec({1, 2, 3})},
       {{2, 4, 6}}},
      {"29 captured array",
       "fn f(x: [n]f64, y: [n]f64) -> f64 { return sum i < n { x[i] * x[i] + y[0] } }",
       "f",
       {Vec({1, 2, 3}), Vec({4, 5, 6})},
       {{2, 4, 6}, {3, 0, 0}}},
      {"30 column against matrix",
       "fn f(a: [n, 1]f64, b: [n, m]f64) -> f64 { let c = a * b\n"
       " return sum i < n, j < m { c[i, j] } }",
       "f",
       {Mat(2, 1, {1, 2}), Mat(2, 3, {1, 2, 3, 4, 5, 6})},
       {{6, 15}, {1, 1, 1, 2, 2, 2}}},
      {"30 counting",
       "fn f(x: [n]f64) -> f64 { return sum i < n { if x[i] > 0.0 { 1.0 } else { 0.0 } } }",
       "f",
       {Vec({1, -2, 3})},
       {{0, 0, 0}}},
      {"31 two outputs",
       "fn p(x: f64) -> (f64, f64) { return (x * x, x * x * x) }\n"
       "fn f(x: [n]f64) -> f64 { let (a, b) = p.(x)\n return sum i < n { a[i] + b[i] } }",
       "f",
       {Vec({1, 2})},
       {{5, 16}}},
      {"35 empty sum",
       "fn f(x: [n]f64) -> f64 { return sum i < n { x[i] * x[i] } }",
       "f",
       {Vec({})},
       {{}}},
      {"38 evalpoly",
       "fn f(x: f64, p: [n]f64) -> f64 { var s = 0.0\n var k = n\n"
       " while k > 0 { k = k - 1\n s = s * x + p[k] }\n return s }",
       "f",
       {D(0.5), Vec({1, 2, 3, 4})},
       {{2 + 3 + 3}, {1, 0.5, 0.25, 0.125}}},
      {"42 map of vectors",
       "fn f(rot: [n]f64) -> f64 { let theta = sqrt(sum i < n { rot[i] * rot[i] })\n"
       " let w = rot / theta\n return sum i < n { w[i] * f64(i + 1) } }",
       "f",
       {Vec({0.3, -0.4, 0.5})},
       {}},
      {"convolution",
       "fn conv(x: [n]f64, c: [m]f64) -> [n - m + 1]f64 {\n"
       "  return gen i < n - m + 1 { sum j < m { x[i + j] * c[j] } } }\n"
       "fn f(x: [n]f64, c: [m]f64) -> f64 { let y = conv(x, c)\n"
       "  return sum i < n - m + 1 { sin(y[i]) } }",
       "f",
       {Vec({1, 2, 3, 4, 5}), Vec({0.5, -1, 0.25})},
       {}},
      {"diag and trace",
       "fn diag(x: [n]f64) -> [n, n]f64 { return gen i < n, j < n { [i == j] * x[i] } }\n"
       "fn trace(a: [n, n]f64) -> f64 { return sum i < n { a[i, i] } }\n"
       "fn f(x: [n]f64, k: f64) -> f64 { return k * trace(diag(x)) }",
       "f",
       {Vec({1, 2, 3}), D(2)},
       {{2, 2, 2}, {6}}},
      {"first column times first row of a diagonal",
       "fn diag(x: [n]f64) -> [n, n]f64 { return gen i < n, j < n { [i == j] * x[i] } }\n"
       "fn f(x: [n]f64) -> f64 { let a = diag(x)\n return sum i < n { a[i, 0] * a[0, i] } }",
       "f",
       {Vec({3, 2, 5})},
       {{6, 0, 0}}},
      {"skipped index",
       "fn f(x: [n]f64) -> f64 { return sum i < n { [i != 2] * x[i] * x[i] } }",
       "f",
       {Vec({1, 2, 3, 4})},
       {{2, 4, 0, 8}}},
      {"guarded access",
       "fn f(x: [n]f64) -> f64 { return sum i < n { [i > 0] * x[i - 1] * x[i] } }",
       "f",
       {Vec({1, 2, 3})},
       {{2, 4, 2}}},
      {"matrix chain",
       "fn f(a: [n, k]f64, b: [k, m]f64) -> f64 { let c = a @ b\n let d = c.T @ c\n"
       " return sum i < m { d[i, i] } }",
       "f",
       {Mat(2, 3, {1, 2, 3, 4, 5, 6}), Mat(3, 2, {0.5, 1, -1, 2, 0.25, -0.5})},
       {}},
      {"broadcast of a function with control flow",
       "fn cell(c: f64, f: f64, z: f64) -> f64 { if z == 0.0 { return sin(f) * c }\n return c * c "
       "}\n"
       "fn g(c: [n, m]f64, f: [n, m]f64, z: [m]f64) -> f64 { let y = cell.(c, f, z)\n"
       " return sum i < n, j < m { y[i, j] * y[i, j] } }",
       "g",
       {Mat(2, 2, {1, 2, 3, 4}), Mat(2, 2, {0.1, 0.2, 0.3, 0.4}), Vec({0, 1})},
       {},
       true},
      {"loop over arrays",
       "fn f(w: [n, n]f64, x: [n]f64) -> f64 { var v = x\n for t < 3 { v = tanh.(w @ v) }\n"
       " return sum i < n { v[i] } }",
       "f",
       {Mat(2, 2, {0.5, -0.3, 0.8, 0.1}), Vec({1, 2})},
       {}},
      {"sequential read",
       "fn f(x: [n]f64, s0: f64) -> f64 { var s = s0\n for i < n { s = sin(s) * x[i] }\n return s "
       "}",
       "f",
       {Vec({1.5, -0.7, 2.0}), D(0.4)},
       {}},
      {"sequential update",
       "fn f(x: [n]f64) -> f64 { var v = x\n for i in 1..n { v[i] = sin(v[i]) * v[i - 1] }\n"
       " return v[n - 1] }",
       "f",
       {Vec({1.5, -0.7, 2.0})},
       {}},
      {"recursion over an array",
       "fn go(x: [n]f64, i: i64) -> f64 { if i == n { return 1.0 }\n"
       " return (x[i] + 1.0) * go(x, i + 1) }\n"
       "fn f(x: [n]f64) -> f64 { return go(x, 0) }",
       "f",
       {Vec({1, 2, 3})},
       {{12, 8, 6}}},
      {"27 struct of an array and a scalar",
       "struct Particle { r: [3]f64, m: f64, n: i64 }\n"
       "fn push(p: Particle, dt: f64) -> Particle { var q = p\n"
       " for i < 3 { q.r[i] += dt * q.r[i] * p.m }\n q.m = q.m * 1.5\n return q }\n"
       "fn f(r: [3]f64, m: f64, dt: f64) -> f64 { var p = Particle(r: r, m: m, n: 2)\n"
       " for k < p.n { p = push(p, dt) }\n"
       " let far = p with m = sin(p.m) with r[1] = p.m\n"
       " return sum i < 3 { p.r[i] * p.r[i] * far.r[i] } + far.m }",
       "f",
       {Vec({1.1, 0.7, -1.3}), D(0.8), D(0.1)},
       {}},
      {"structs inside structs, in branches",
       "struct P { x: f64, v: f64 }\nstruct Pair { a: P, b: P }\n"
       "fn swap(q: Pair) -> Pair { return Pair(q.b, q.a) }\n"
       "fn f(x: f64, v: f64, n: i64) -> f64 { var q = Pair(P(x, v), P(v, 2.0))\n"
       " for i < n { if q.a.x > q.b.x { q = swap(q) } else { q.a.x = q.a.x + q.b.v * q.a.v } }\n"
       " return q.a.x * q.b.x + q.a.v }",
       "f",
       {D(0.3), D(1.7), I(5)},
       {}},
      {"nested loops with break",
       "fn f(x: [n]f64) -> f64 { var s = 0.0\n for i < n { var p = 1.0\n for j < n {\n"
       " if j > i { break }\n p = p * x[j] }\n s += p * p }\n return s }",
       "f",
       {Vec({1.1, 0.7, -1.3})},
       {}},
  };
}

// Derivative operators in the program; every one is differentiated once more by the tests.
std::vector<ProgramCase> Operators() {
  return {
      {"32 derivative of a derivative's function",
       "fn f(x: f64) -> f64 { return grad(|a| a * grad(|b| a + b)(a))(x) }",
       "f",
       {D(4)},
       {{0}}},
      {"32 the inner point is an active value, grad in grad",
       "fn f(x: f64) -> f64 { return grad(|a| a * grad(|b| a * b)(a))(x) }",
       "f",
       {D(4)},
       {{2}}},
      {"32 jvp in grad",
       "fn f(x: f64) -> f64 { return grad(|a| a * jvp(|b| a * b, a, 1.0))(x) }",
       "f",
       {D(4)},
       {{2}}},
      {"32 grad in jvp",
       "fn f(x: f64) -> f64 { return jvp(|a| a * grad(|b| a * b)(a), x, 1.0) }",
       "f",
       {D(4)},
       {{2}}},
      {"32 jvp in jvp",
       "fn f(x: f64) -> f64 { return jvp(|a| a * jvp(|b| a * b, a, 1.0), x, 1.0) }",
       "f",
       {D(4)},
       {{2}}},
      {"34 a square of a shifted square",
       "fn f(x: f64) -> f64 { return 1.0 - x ** 2.0 - (x - 0.5) ** 2.0 }",
       "f",
       {D(1)},
       {{-3}}},
      {"34 inside an outer pullback",
       "fn f(x: f64) -> f64 {\n"
       " let (y, back) = vjp(|t| 1.0 - t ** 2.0 - (t - 0.5) ** 2.0, x)\n"
       " return back(1.0) }",
       "f",
       {D(1)},
       {{-4}}},
      {"36 a pullback called twice",
       "fn f(x: f64, y: f64) -> f64 {\n"
       " let (z, back) = vjp(|a, b| a * b * b + sin(a), (x, y))\n"
       " let (p, q) = back(1.0)\n let (r, s) = back(z)\n"
       " return p * s + q * r - (back(1.0).0 - p) }",
       "f",
       {D(1.2), D(0.7)},
       {}},
      {"41 stop_gradient",
       "fn f(x: f64) -> f64 { return sin(x) * cos(stop_gradient(x)) }",
       "f",
       {D(0.3)},
       {{0.9126678074548391}},  // cos(x)^2, which differences do not give
       true},
      {"41 stop_gradient of rows in a body",
       "fn f(x: [n]f64) -> f64 { return sum i < 2 { let y = gen j < n { x[j] * f64(i + 1) }\n"
       " sum(stop_gradient(y) * y) } }",
       "f",
       {Tensor::Of<double>(DType::kF64, {2}, {0.5, -2})},
       {{0.5 + 4 * 0.5, -2 - 4 * 2.0}},
       true},
      {"17 second derivatives of a power",
       "fn f(x: f64, y: f64) -> f64 {\n"
       " return grad(|a| grad(|b| a ** b)(y))(x) + grad(|b| grad(|c| x ** c)(b))(y) }",
       "f",
       {D(4), D(0.5)},
       {}},
      {"a Hessian times a vector, forward over reverse",
       "fn loss(w: [n]f64, k: f64) -> f64 {\n"
       " return sum i < n, j < n { k * w[i] * w[i] * sin(w[j]) } }\n"
       "fn f(w: [n]f64, v: [n]f64, k: f64) -> f64 {\n"
       " let h = jvp(|u| grad(|t| loss(t, k))(u), w, v)\n return sum i < n { h[i] * h[i] } }",
       "f",
       {Vec({0.3, -0.8, 1.1}), Vec({1, -0.5, 0.25}), D(0.7)},
       {}},
      {"gradients by a struct, a tuple and several arguments",
       "struct P { a: f64, v: [2]f64, n: i64 }\n"
       "fn g(p: P, t: (f64, i64), s: f64) -> f64 {\n"
       " return p.a * p.v[0] * p.v[1] * t.0 * s * s * f64(p.n + t.1) }\n"
       "fn f(a: f64, v: [2]f64, s: f64) -> f64 {\n"
       " let (dp, dt, ds) = grad(g)(P(a, v, 2), (s, 1), a)\n"
       " return dp.a * ds + dp.v[0] * dp.v[1] * dt.0 + f64(dp.n + dt.1) }",
       "f",
       {D(0.4), Vec({1.5, -0.6}), D(1.3)},
       {}},
      {"the gradient by what a closure captures",
       "fn apply(g: fn(f64) -> f64, x: f64) -> f64 { return g(x) * g(2.0 * x) }\n"
       "fn f(a: f64, x: f64) -> f64 {\n"
       " let (by_closure, by_x) = grad(apply)(|t| a * t * t + x, x)\n"
       " return by_closure.0 * by_closure.1 * by_x }",
       "f",
       {D(0.8), D(1.1)},
       {}},
      {"gradients at the points of a gen, of a loop",
       "fn f(x: [n]f64, k: f64) -> f64 {\n"
       " let g = gen i < n { grad(|t| sin(t) * k)(x[i]) }\n var s = 0.0\n"
       " for i < n { let c = s\n s += grad(|t| t * t * t * g[i] * c)(x[i]) + g[i] }\n return s }",
       "f",
       {Vec({0.3, -0.8, 1.1}), D(0.7)},
       {}},
      {"a hyper-gradient: through steps of gradient descent",
       "fn loss(w: f64, a: f64) -> f64 { return (w - a) ** 2.0 + cos(w * a) }\n"
       "fn f(rate: f64, a: f64) -> f64 {\n var w = 0.1\n"
       " for i < 5 { w = w - rate * grad(|t| loss(t, a))(w) }\n return loss(w, a) }",
       "f",
       {D(0.1), D(0.9)},
       {}},
      {"a Jacobian and a Hessian",
       "fn g(x: [n]f64, k: f64) -> [2]f64 { return gen i < 2 { x[i] * x[i + 1] * sin(k * x[0]) } "
       "}\n"
       "fn h(x: [n]f64, y: f64) -> f64 { return y * y * sum i < n { x[i] * x[i] * x[i] } * x[0] }\n"
       "fn f(x: [n]f64, k: f64) -> f64 {\n let j = jacobian(|t| g(t, k))(x)\n"
       " let (by_x, by_k) = hessian(h)(x, k)\n let (xx, xy) = by_x\n let (yx, yy) = by_k\n"
       " return sum i < 2, l < n { j[i, l] * xx[i, l] * xy[l] } + yx[0] * yy }",
       "f",
       {Vec({0.7, -0.8, 1.1}), D(0.7)},
       {}},
      {"ranges that do not begin at 0",
       "fn f(x: [n]f64) -> f64 { let y = gen i in -1..n - 1 { [i >= 0] * x[i] }\n"
       " return sum i in 1..n { x[i] * x[i - 1] } * prod i in 1..n { x[i] } +\n"
       " max i in -1..2 { x[i + 1] } + min i in 1..n { x[i] * y[i] } }",
       "f",
       {Vec({1, 2, 3})},
       {{14, 49, 29}}},
      {"39 a bounded loop that leaves at its first step",  // for a bound that no run would reach
       "fn f(x: f64, n: i64) -> f64 { var s = x\n"
       " for i < n { s = s * x\n if s > 0.0 { break } }\n return s }",
       "f",
       {D(1.5), I(int64_t{1} << 60)},
       {{3}}},
      {"40 a loop with snapshots that reads an array",
       "fn f(ys: [n]f64, x: f64, c: i64) -> f64 {\n var s = x\n var p = 1.0\n"
       " for t < n checkpoint(c) { s = sin(s) * ys[t] + p\n if s > 0.5 { p = p * s } }\n"
       " return s * p }",
       "f",
       {Vec({1.5, -0.7, 2.0, 0.3, -1.1, 0.8}), D(0.4), I(2)},
       {}},
      {"a loop with snapshots over an array that it changes",
       "fn f(x: [n]f64) -> f64 {\n var v = x\n"
       " for t in 1..n checkpoint(1) { v[t] = sin(v[t]) * v[t - 1] }\n return v[n - 1] }",
       "f",
       {Vec({1.5, -0.7, 2.0, 0.3})},
       {}},
      {"fold, scan, map, filter and reduce",
       "fn f(x: f64, y: [n]f64) -> f64 {\n"
       " let a = fold(|s, i| s * y[i] + x, x, n)\n"
       " let (b, k) = fold(|s, i| (s.0 * x, s.1 + i), (a, 0), 3)\n"
       " let xs = map(|t: f64| sin(t) * x, scan(|s, i| s + y[i], b, n))\n"
       " return reduce(|s, t| s * 0.5 + t * t, 1.0, filter(|t: f64| t > -10.0, xs)) + f64(k) }",
       "f",
       {D(0.8), Vec({0.3, -0.8, 1.1})},
       {}},
      {"checkpoint of a function with a loop",
       "fn step(s: f64, x: [n]f64) -> f64 { var t = s\n for i < n { t = sin(t) * x[i] }\n return t "
       "}\n"
       "fn f(s: f64, x: [n]f64) -> f64 { return checkpoint(step)(checkpoint(step)(s, x), x) }",
       "f",
       {D(0.4), Vec({1.5, -0.7, 2.0})},
       {}},
      {"rules of both modes",
       "fn cube(x: f64, k: [n]f64, m: i64) -> f64 with vjp back, jvp forth {\n"
       " return x * x * x * k[m] }\n"
       "fn back(x: f64, k: [n]f64, m: i64, y: f64) -> (f64, [n]f64) {\n"
       " return (3.0 * x * x * k[m] * y, gen i < n { [i == m] * x * x * x * y }) }\n"
       "fn forth(x: f64, k: [n]f64, m: i64, u: f64, v: [n]f64) -> (f64, f64) {\n"
       " return (x * x * x * k[m], 3.0 * x * x * k[m] * u + x * x * x * v[m]) }\n"
       "fn f(x: f64, k: [n]f64) -> f64 { return sin(cube(x, k, 1)) * x }",
       "f",
       {D(0.9), Vec({0.5, 1.4})},
       {}},
  };
}

}  // namespace

const std::vector<ProgramCase>& FirstPrograms() {
  static const std::vector<ProgramCase> all = [] {
    std::vector<ProgramCase> list = Scalars();
    for (ProgramCase& c : Arrays()) list.push_back(std::move(c));
    for (ProgramCase& c : Operators()) list.push_back(std::move(c));
    list.insert(list.end(), ReductionPrograms().begin(), ReductionPrograms().end());
    list.insert(list.end(), PreludePrograms().begin(), PreludePrograms().end());
    list.insert(list.end(), BracketPrograms().begin(), BracketPrograms().end());
    list.insert(list.end(), WindowPrograms().begin(), WindowPrograms().end());
    return list;
  }();
  return all;
}

}  // namespace pullback::testing
