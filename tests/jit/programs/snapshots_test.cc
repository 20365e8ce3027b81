// Loops with snapshots in the language: the plain loop's gradients bit for bit, in the interpreter and
// compiled, in memory that falls as asked.
#include <catch2/catch.hpp>

#include "core/loops/lower.h"
#include "tests/jit/llvm_support.h"
#include "tests/jit/programs/snapshots_support.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

std::vector<Case> Cases() {
  const Tensor x = Tensor::F64(0.7), p = Tensor::F64(1.3), n = Tensor::I64(11);
  const Tensor ys = Wave(11, 1.5), w = Wave(4, 0.8);
  return {
      {"a captured scalar, used three times a step and behind the loop",
       "fn f(x: f64, p: f64, n: i64, c: i64) -> f64 { var s = x\n"
       " for t < n CHECKPOINT { s = sin(s) * p + p * exp(-s) / (p + 2.0) }\n return s * p }",
       {x, p, n}},
      {"a captured scalar that nothing reads behind the loop, a branch that changes it",
       "fn f(x: f64, p: f64, n: i64, c: i64) -> f64 { var s = x\n var q = p * 2.0\n let k = p * p\n"
       " for t < n CHECKPOINT { s = sin(s) * q + k\n if s > 0.5 { q = q * s - k } }\n return s }",
       {x, p, n}},
      {"a captured array read by element",
       "fn f(ys: [n]f64, x: f64, c: i64) -> f64 { var s = x\n"
       " for t < n CHECKPOINT { s = sin(s) * ys[t] + ys[n - 1 - t] * ys[0] }\n return s * ys[1] }",
       {ys, x}},
      {"a captured array read by statements and by element, a captured scalar inside them",
       "fn f(w: [k]f64, ys: [n]f64, p: f64, c: i64) -> f64 { var s = 0.3\n"
       " for t < n CHECKPOINT {\n let u = sum i < k { w[i] * cos(s * f64(i)) * p }\n"
       " s = 0.5 * s + u * ys[t] + w[t - t / k * k] }\n return s }",
       {w, ys, p}},
      {"a state that is an array, changed by element and as a whole",
       "fn f(w: [k]f64, p: f64, n: i64, c: i64) -> f64 { var v = w\n var s = p\n"
       " for t < n CHECKPOINT {\n v[t - t / k * k] = sin(s) * p\n v = v * 0.9 + w * s\n"
       " s = s * 0.5 + v[0] * v[k - 1] }\n return s + sum(v) }",
       {w, p, n}},
      {"snapshots inside snapshots, both bodies read what is outside",
       "fn f(w: [k]f64, x: f64, p: f64, n: i64, c: i64) -> f64 { var s = x\n"
       " for t < n CHECKPOINT {\n let q = p * s\n var r = s\n"
       " for i < k CHECKPOINT { r = sin(r * p) + q * w[i] * p\n }\n s = r * p + w[0] }\n"
       " return s * p }",
       {w, x, p, n}},
      {"a helper with a loop of its own, called from the body",
       "fn g(s: f64, p: f64, w: [k]f64) -> f64 { var r = s\n"
       " for i < k { if r > 0.1 { r = r - sin(p * w[i]) } else { r = r + p } }\n return r }\n"
       "fn f(w: [k]f64, x: f64, p: f64, n: i64, c: i64) -> f64 { var s = x\n"
       " for t < n CHECKPOINT { s = g(s, p, w) * p + g(s * p, s, w) }\n return s }",
       {w, x, p, n}},
      {"a recursive helper",
       "fn g(s: f64, p: f64, i: i64) -> f64 { if i <= 0 { return s * p }\n"
       " return sin(g(s, p, i - 1) * p) + g(p, s, i - 2) }\n"
       "fn f(x: f64, p: f64, n: i64, c: i64) -> f64 { var s = x\n"
       " for t < n CHECKPOINT { s = g(s, p, 3) * p }\n return s }",
       {x, p, n}},
      {"f32",
       "fn f(ys: [n]f32, x: f32, p: f32, c: i64) -> f32 { var s = x\n"
       " for t < n CHECKPOINT { s = sin(s) * ys[t] * p + exp(-s * p) }\n return s * p }",
       {Tensor::Of<float>(DType::kF32, {5}, {1.5F, -0.7F, 0.3F, 0.9F, -1.1F}), Tensor::F32(0.4F),
        Tensor::F32(1.1F)}},
      {"a list is the state, a struct is captured",
       "struct W { a: f64, b: [k]f64 }\n"
       "fn f(w: W, n: i64, c: i64) -> f64 { var xs = list(w.a)\n"
       " for t < n CHECKPOINT { xs = push(xs, sin(xs[t]) * w.a + w.b[0])\n xs[0] = xs[t] * w.a }\n"
       " return xs[n] * w.a + xs[0] }",
       {x, w, n}},
      {"what the body computes stands in front of the loop, and behind it",
       "fn f(x: f64, p: f64, q: f64, n: i64, c: i64) -> f64 { var s = sin(p * q) * x\n"
       " for t < n CHECKPOINT { s = sin(s * exp(p)) + sin(p * q) * cos(q) }\n"
       " return s * sin(p * q) + exp(p) * cos(q) }",
       {x, p, Tensor::F64(-0.4), n}},
      {"what the body computes of arrays stands in front of the loop",
       "fn f(w: [k]f64, ys: [n]f64, p: f64, c: i64) -> f64 { var s = sum i < k { w[i] * w[i] }\n"
       " let u = gen i < k { sin(w[i]) * p }\n"
       " for t < n CHECKPOINT { let v = gen i < k { sin(w[i]) * p }\n"
       " s = sin(s) * ys[t] + v[0] * u[1] + (sum i < k { w[i] * w[i] }) * ys[0] }\n"
       " return s * u[0] }",
       {w, ys, p}},
      {"captured constants",
       "fn f(x: f64, p: f64, q: f64, n: i64, c: i64) -> f64 { var s = x\n"
       " let a = 2.0\n let half = 0.5\n let one = 1.0\n let zero = 0.0\n let e = 3\n"
       " for t < n CHECKPOINT { s = sin(s ** a * half + one * p) ** e * q + zero + s * one\n"
       " if one > half { s = s - half * p / a } else { s = q } }\n return s * a }",
       {x, p, Tensor::F64(-0.4), n}},
      {"captured constants are extents, and say which way to go",
       "fn f(w: [k]f64, p: f64, c: i64) -> f64 { var v = w\n let m = 3\n let up = true\n"
       " for t < 2 * m CHECKPOINT { let u = sum i < m { v[i] * w[k - 1 - i] * p }\n"
       " if up { v = v * 0.7 + u } else { v = w }\n v[m - 1] = sin(v[m]) * u }\n"
       " return sum(v) }",
       {w, p}},
      {"a helper is called with constants",
       "fn g(s: f64, p: f64, e: i64, up: bool) -> f64 { var r = s\n"
       " for i < e { if up { r = sin(r) * p } else { r = r * p * p } }\n return r * p ** e }\n"
       "fn f(x: f64, p: f64, q: f64, n: i64, c: i64) -> f64 { var s = x\n"
       " for t < n CHECKPOINT { s = g(s, p, 3, true) * 0.1 + g(q, s, 2, false) * 0.1 }\n"
       " return s }",
       {x, p, Tensor::F64(-0.4), n}},
      {"what is known in front of the loop is known in its body",
       "fn f(ys: [n]f64, x: f64, p: f64, c: i64) -> f64 { var s = x\n"
       " if n > 3 { for t < n CHECKPOINT { if n > 3 { s = sin(s * p) * ys[t] + p } else { s = p } "
       "}\n"
       " } else { s = p }\n return s * p }",
       {ys, x, p}},
      {"a cotangent that goes past the loop, of a matrix",
       "fn f(a: [k]f64, x: f64, n: i64, c: i64) -> f64 { let m = reshape(flatten(outer(a, a)), k, "
       "k) * a\n"
       " var v = a\n var t = 0\n"
       " while true CHECKPOINT { if t >= n { break }\n if t % 4 == 2 { break }\n v[t % k] = x\n t "
       "+= 3 }\n"
       " return v[1] + 0.414 * sum(v) + 0.570 * sum(m) }",
       {w, x, n}},
      {"a gradient by one scalar",
       "fn f(x: f64, n: i64, c: i64) -> f64 { var s = x\n"
       " for t < n CHECKPOINT { s = sin(s) * x + exp(-s * x) }\n return s * x }",
       {x, n}},
      {"a gradient by two scalars, the body computes what stands before it",
       "fn f(x: f64, p: f64, n: i64, c: i64) -> f64 { var s = sin(x * p)\n let a = 2.0\n"
       " for t < n CHECKPOINT { s = sin(s ** a) * p + sin(x * p) / a }\n return s }",
       {x, p, n}},
      {"a loop with snapshots in a recursion",
       "fn g(x: f64, p: f64, d: i64, n: i64, c: i64) -> f64 { if d == 0 { return x * p }\n"
       " var s = x\n let q = p * 0.9\n for t < n CHECKPOINT { s = sin(s * p) + q * p * 0.9 }\n"
       " return g(s, q, d - 1, n, c) * s }\n"
       "fn f(x: f64, p: f64, q: f64, n: i64, c: i64) -> f64 { return g(x, p, 3, n, c) * q }",
       {x, p, Tensor::F64(-0.4), n}},
      {"the step calls the function that the loop is in",
       "fn g(x: f64, p: f64, d: i64, c: i64) -> f64 { if d == 0 { return sin(x) * p }\n var s = x\n"
       " for t < 3 CHECKPOINT { s = s * p + g(s, x, d - 1, c) * 0.3 }\n return s }\n"
       "fn f(x: f64, p: f64, q: f64, c: i64) -> f64 { return g(x, p, 3, c) * q }",
       {x, p, Tensor::F64(-0.4)}},
      {"ways into the loop, and ways back to its start",
       "fn f(x: f64, p: f64, q: f64, n: i64, c: i64) -> f64 { var s = x\n var k = 0\n"
       " if p > q { s = p } else { if x > q { k = 2 } else { s = q * p } }\n"
       " for t in k..n CHECKPOINT { if s > 0.3 { s = s * sin(p) + q } else {\n"
       " if t % 2 == 0 { s = s + x } else { k = k + 1 } } }\n return s * f64(k + 1) }",
       {x, p, Tensor::F64(-0.4), n}},
      {"loops inside the body that are left early, a bound that the body changes",
       "fn f(w: [k]f64, x: f64, p: f64, n: i64, c: i64) -> f64 { var s = x\n var m = n\n"
       " for t < m CHECKPOINT { var r = s\n"
       " for i < k { if r > 1.0 { break }\n r = r + w[i] * w[i] * p }\n"
       " while r > 0.5 { r = r * 0.5 - p * 0.1 }\n s = sin(r) + p\n m = 3 }\n return s * p }",
       {w, x, p, n}},
      {"values, one after the other",
       "fn f(ys: [n]f64, x: f64, p: f64, c: i64) -> f64 { var s = x\n"
       " for y in ys CHECKPOINT { s = sin(s * y) + p * y }\n return s * p }",
       {ys, x, p}},
      {"a variable that functions share",
       "fn f(x: f64, p: f64, q: f64, n: i64, c: i64) -> f64 { var total = x\n var s = p\n"
       " let add = |v: f64| { total = total * 0.9 + v\n total }\n"
       " for t < n CHECKPOINT { s = sin(add(s * q)) + p }\n return s * total }",
       {x, p, Tensor::F64(-0.4), n}},
      {"in a function of an element",
       "fn f(w: [k]f64, p: f64, n: i64, c: i64) -> f64 {\n"
       " let u = gen i < k { var s = w[i]\n for t < n CHECKPOINT { s = sin(s) * p + w[i] }\n s }\n"
       " return sum(u) * p }",
       {w, p, n}},
      {"a gradient inside the step",
       "fn f(w: [k]f64, r: f64, n: i64, c: i64) -> f64 { var v = w\n"
       " for t < n CHECKPOINT { v = v - r * grad(|u| sum i < k { sin(u[i] * w[i]) * u[i] })(v) }\n"
       " return dot(v, v) * r }",
       {w, Tensor::F64(0.1), n}},
  };
}

TEST_CASE("snapshots: values and gradients are the plain loop's, bit for bit") {
  for (const Case& c : Cases()) CheckLikePlain(c);
}

TEST_CASE("snapshots: gradients that the program takes are the plain loop's, bit for bit") {
  const std::string text =
      "fn f(w: [k]f64, x: f64, n: i64, c: i64) -> [k]f64 { let a = 2.0\n"
      " let g = grad(|u| { var s = sin(x * x) * u[0]\n"
      " for t < n CHECKPOINT { s = sin(s) * u[1] ** a + sin(x * x) * u[2] }\n s })(w)\n"
      " return g * x }";
  const std::vector<Tensor> args = {Wave(4, 0.8), Tensor::F64(0.7), Tensor::I64(11)};
  for (const bool optimise : {true, false}) {
    CheckLikePlain(text, Transform::kValue, optimise, args, {});
    CheckLikePlain(text, Transform::kJvp, optimise, args, {Wave(4, 0.3), Tensor::F64(0.1)});
  }
}

TEST_CASE("snapshots: memory falls as asked") {
  // The body reads another array by a statement.
  CheckMemory(
      "fn f(w: [n]f64, p: f64, steps: i64, c: i64) -> f64 { var v = w\n"
      " for t < steps checkpoint(c) { v = sin.(v * p) + w }\n return sum(v) }");
}

TEST_CASE("snapshots: a million steps, and one snapshot, are no deep recursion") {
  const ir::Module m =
      Derived(LowerText("fn f(x: f64, p: f64, n: i64, c: i64) -> f64 { var s = x\n"
                        " for t < n checkpoint(c) { s = s * p + 0.25 }\n return s }",
                        "f"),
              Transform::kValueAndGrad, {true, true, false, false});
  const auto run = [&](int64_t n, int64_t s) {
    return RunCompiled(m, {Tensor::F64(0.5), Tensor::F64(0.875), Tensor::I64(n), Tensor::I64(s)});
  };
  CheckSame(run(1000000, 3), run(1000000, 0));
  CheckSame(run(20000, 1), run(20000, 0));
  // Calls within calls: as many as there are snapshots, not as there are steps.
  eval::Limits limits;
  limits.max_depth = 20;
  for (const int64_t s : {1, 3}) {
    const auto r = eval::Run(
        m, {Tensor::F64(0.5), Tensor::F64(0.875), Tensor::I64(300), Tensor::I64(s)}, limits);
    REQUIRE(r.ok());
    CHECK(!r->trap);
  }
}

}  // namespace
}  // namespace pullback::testing
