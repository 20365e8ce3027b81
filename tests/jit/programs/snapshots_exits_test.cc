// Loops with snapshots whose number of turns is known when they have run: while, break, continue, return.
#include <catch2/catch.hpp>

#include "core/loops/lower.h"
#include "tests/jit/llvm_support.h"
#include "tests/jit/programs/snapshots_support.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

std::vector<Case> WhileCases() {
  const Tensor x = Tensor::F64(0.7), p = Tensor::F64(1.3), n = Tensor::I64(11);
  const Tensor ys = Wave(11, 1.5), w = Wave(4, 0.8), q = Tensor::F64(-0.4);
  return {
      {"an integer decides",
       "fn f(x: f64, p: f64, n: i64, c: i64) -> f64 { var s = x\n var k = n\n"
       " while k > 0 CHECKPOINT { k = k - 1\n s = sin(s) * p + p * exp(-s) / (p + 2.0) }\n"
       " return s * p }",
       {x, p, n}},
      {"the state decides",
       "fn f(w: [k]f64, x: f64, p: f64, c: i64) -> f64 { var s = x * 20.0\n"
       " while s * s > 0.3 CHECKPOINT { s = s * 0.8 + sin(s * w[0]) * 0.1 * p }\n"
       " return s * p }",
       {w, x, p}},
      {"the state decides in two ways, a count grows in one of them",
       "fn f(w: [k]f64, x: f64, p: f64, c: i64) -> f64 { var s = x * 9.0\n var t = 0\n"
       " while s > 0.4 and t < 30 or t < 2 CHECKPOINT { if s > 2.0 { t = t + 1 }\n"
       " s = s * 0.85 + w[t % k] * 0.02 * p }\n return s * f64(t) * p }",
       {w, x, p}},
      {"a function decides, with a loop of its own",
       "fn g(s: f64, w: [k]f64) -> f64 { var r = s\n for i < k { r = r + sin(w[i] * s) * 0.1 }\n"
       " return r }\n"
       "fn f(w: [k]f64, x: f64, p: f64, c: i64) -> f64 { var s = x * 8.0\n"
       " while g(s, w) > 0.5 CHECKPOINT { s = s * 0.8 + g(p, w) * 0.01 }\n return s * p }",
       {w, x, p}},
      {"a recursive function decides",
       "fn g(s: f64, i: i64) -> f64 { if i <= 0 { return s }\n return g(s, i - 1) * 0.9 }\n"
       "fn f(x: f64, p: f64, n: i64, c: i64) -> f64 { var s = x * 8.0\n"
       " while g(s, n) > 0.2 CHECKPOINT { s = s * 0.8 + sin(s) * p * 0.01 }\n return s * p }",
       {x, p, Tensor::I64(3)}},
      {"forever, left in the middle",
       "fn f(w: [k]f64, x: f64, p: f64, c: i64) -> f64 { var s = x * 7.0\n var t = p\n"
       " while true CHECKPOINT { s = s * 0.8 - sin(t) * 0.01\n let r = s * p\n"
       " if r < 0.6 { break }\n t = t * 0.9 + r * w[1] }\n return s * t }",
       {w, x, p}},
      {"forever, left in two ways by return",
       "fn f(w: [k]f64, x: f64, p: f64, c: i64) -> f64 { var s = x * 7.0\n var t = 0\n"
       " while true CHECKPOINT { let r = sin(s) * p\n s = s * 0.8 + r * 0.01\n t = t + 1\n"
       " if s < 0.4 { return s * w[0] * r }\n if t > 40 { return r } }\n return p }",
       {w, x, p}},
      {"forever, the first turn is the last",
       "fn f(x: f64, p: f64, q: f64, c: i64) -> f64 { var s = x\n"
       " while true CHECKPOINT { s = sin(s) * p\n if s < 100.0 { break }\n s = s * q }\n"
       " return s * q }",
       {x, p, q}},
      {"never entered",
       "fn f(x: f64, p: f64, q: f64, c: i64) -> f64 { var s = x\n"
       " while s > 100.0 CHECKPOINT { s = sin(s) * p * q }\n return s * p }",
       {x, p, q}},
      {"what only the end reads is captured",
       "fn f(w: [k]f64, ys: [n]f64, x: f64, p: f64, c: i64) -> f64 { var s = x * 7.0\n var i = 0\n"
       " while true CHECKPOINT { if s < ys[0] * 0.3 { return dot(w, w) * s * ys[i] }\n"
       " s = s * 0.8 + 0.01 * p\n i = i + 1\n if i == n { break } }\n return s }",
       {w, ys, x, p}},
      {"an array is the state, its length decides",
       "fn f(w: [k]f64, p: f64, c: i64) -> f64 { var v = 6.0 * w\n var s = 0.0\n"
       " while dot(v, v) > 0.5 CHECKPOINT { v[1] = sin(v[0]) * p\n v = v * 0.8 + w * 0.01\n"
       " s = s * 0.5 + v[2] }\n return s + sum(v) * p }",
       {w, p}},
      {"a list is the state, taken from until it is empty",
       "fn f(ys: [n]f64, x: f64, p: f64, c: i64) -> f64 {\n"
       " var xs: list f64 = list()\n for y in ys { xs = push(xs, y * p) }\n var s = x\n"
       " while len(xs) > 0 CHECKPOINT { var y = 0.0\n xs, y = pop(xs)\n s = sin(s * y) + p\n"
       " if s > 1.5 and len(xs) > 3 { xs = push(xs, y * 0.5)\n xs, y = pop(xs)\n s = s * y } }\n"
       " return s * p }",
       {ys, x, p}},
      {"f32",
       "fn f(ys: [n]f32, x: f32, p: f32, c: i64) -> f32 { var s = x * 9.0\n var i = 0\n"
       " while s > 0.5 CHECKPOINT { s = s * 0.7 + sin(ys[i % n]) * 0.1 * p\n i += 1 }\n"
       " return s * p }",
       {Tensor::Of<float>(DType::kF32, {5}, {1.5F, -0.7F, 0.3F, 0.9F, -1.1F}), Tensor::F32(0.4F),
        Tensor::F32(1.1F)}},
      {"a gradient by one scalar",
       "fn f(x: f64, n: i64, c: i64) -> f64 { var s = x * 9.0\n"
       " while s > 0.5 CHECKPOINT { s = s * 0.8 + sin(s) * x * 0.1 }\n return s * x }",
       {x, n}},
      {"in a function of an element",
       "fn f(w: [k]f64, p: f64, n: i64, c: i64) -> f64 {\n"
       " let u = gen i < k { var s = w[i] + 3.0\n"
       " while s > 0.5 CHECKPOINT { s = s * 0.8 + sin(s) * 0.1 * p }\n s }\n"
       " return sum(u) * p }",
       {w, p, n}},
      {"a gradient inside the step, another decides",
       "fn h(v: f64, p: f64) -> f64 { return v * v * p + sin(v) }\n"
       "fn f(x: f64, p: f64, q: f64, c: i64) -> f64 { var v = x * 4.0\n"
       " while abs(grad(h)(v, p).0) > 0.05 CHECKPOINT {\n"
       " v = v - 0.2 * grad(|u| h(u, p) * q)(v) * q }\n return v * q }",
       {x, p, q}},
      {"in a recursion",
       "fn g(x: f64, p: f64, d: i64, c: i64) -> f64 { if d == 0 { return x * p }\n"
       " var s = x + 2.0\n while s > 0.8 CHECKPOINT { s = s * 0.8 + sin(s * p) * 0.1 }\n"
       " return g(s, p * 0.9, d - 1, c) * s }\n"
       "fn f(x: f64, p: f64, q: f64, c: i64) -> f64 { return g(x, p, 3, c) * q }",
       {x, p, q}},
      {"a variable that functions share",
       "fn f(x: f64, p: f64, q: f64, c: i64) -> f64 { var total = x\n var s = p * 5.0\n"
       " let add = |v: f64| { total = total * 0.9 + v\n total }\n"
       " while s > 1.0 CHECKPOINT { s = s * 0.7 + sin(add(s * q)) * 0.1 }\n return s * total }",
       {x, p, q}},
  };
}

std::vector<Case> ExitCases() {
  const Tensor x = Tensor::F64(0.7), p = Tensor::F64(1.3), n = Tensor::I64(11);
  const Tensor ys = Wave(11, 1.5), w = Wave(4, 0.8);
  return {
      {"for, left before the state changes",
       "fn f(ys: [n]f64, x: f64, p: f64, c: i64) -> f64 { var s = x * 3.0\n var last = 0\n"
       " for t < n CHECKPOINT { if s < 0.5 { break }\n s = s * 0.8 + sin(ys[t]) * 0.1 * p\n"
       " last = t }\n return s * p * f64(last) }",
       {ys, x, p}},
      {"for, left after the state has changed, or at its end",
       "fn f(ys: [n]f64, x: f64, p: f64, m: i64, c: i64) -> f64 { var s = x\n"
       " for t in 2..n CHECKPOINT { s = sin(s) * p + ys[t]\n if t == m { break } }\n"
       " for t < n CHECKPOINT { s = s * 0.9 + ys[t] * p\n if t == n + m { break } }\n"
       " return s * p }",
       {ys, x, p, Tensor::I64(7)}},
      {"continue, in two places",
       "fn f(ys: [n]f64, x: f64, p: f64, c: i64) -> f64 { var s = x\n"
       " for t < n CHECKPOINT { if t % 3 == 1 { continue }\n s = sin(s) * p + ys[t]\n"
       " if s > 0.5 { s = s * p\n continue }\n s = s + p * x }\n return s * p }",
       {ys, x, p}},
      {"return, with what the turn computed",
       "fn f(ys: [n]f64, x: f64, p: f64, m: i64, c: i64) -> f64 { var s = x\n"
       " for t < n CHECKPOINT { let r = sin(s) * p\n"
       " if t == m { return r * ys[t] + s }\n s = r + ys[t] * x }\n return s * p }",
       {ys, x, p, Tensor::I64(6)}},
      {"return from a loop inside, which breaks as well",
       "fn f(w: [k]f64, x: f64, p: f64, n: i64, c: i64) -> f64 { var s = x\n"
       " for t < n CHECKPOINT { var r = s\n"
       " for i < k CHECKPOINT { r = sin(r * p) + w[i] * p\n if r > 2.0 { break }\n"
       " if t == 7 and i == 2 { return r * s * p } }\n s = r * p + w[0] }\n return s * p }",
       {w, x, p, n}},
      {"loops within loops, all left early",
       "fn f(w: [k]f64, x: f64, p: f64, n: i64, c: i64) -> f64 { var s = x\n var t = 0\n"
       " while true CHECKPOINT { var r = s + 2.0\n"
       " while r > 0.7 CHECKPOINT { r = r * 0.7 + sin(w[t % k]) * 0.1\n"
       " if r < 0.8 and t == 4 { break } }\n t = t + 1\n if t == n { return s * r }\n"
       " s = sin(s * p) + r }\n return p }",
       {w, x, p, n}},
      {"values, one after the other, until one is large",
       "fn f(ys: [n]f64, x: f64, p: f64, c: i64) -> f64 { var s = x\n"
       " for y in ys CHECKPOINT { if y * y > 2.1 { break }\n s = sin(s * y) + p * y }\n"
       " return s * p }",
       {ys, x, p}},
      {"a loop that is left in its first turn, within a plain loop",
       "fn f(w: [k]f64, x: f64, p: f64, n: i64, c: i64) -> f64 { var s = x\n"
       " for t < n { for i < k CHECKPOINT { s = sin(s) * w[i] + p\n if i < n { break } }\n"
       " s = s * p }\n return s }",
       {w, x, p, n}},
      {"an array is the state, changed by element and left",
       "fn f(w: [k]f64, p: f64, n: i64, c: i64) -> f64 { var v = w\n var s = p\n"
       " for t < n CHECKPOINT { v[t % k] = sin(s) * p\n if v[0] * v[0] > 8.0 { return v[1] * s }\n"
       " v = v * 0.9 + w * s\n s = s * 0.5 + v[0] * v[k - 1]\n if t == 8 { break } }\n"
       " return s + sum(v) }",
       {w, p, n}},
  };
}

TEST_CASE("snapshots: while, to the last bit of the plain loop") {
  for (const Case& c : WhileCases()) CheckLikePlain(c);
}

TEST_CASE("snapshots: break, continue and return, to the last bit of the plain loop") {
  for (const Case& c : ExitCases()) CheckLikePlain(c);
}

TEST_CASE("snapshots: derivatives of derivatives through while and return") {
  // Of other code than the plain loop's: to rounding.
  const std::string text =
      "fn h(u: [k]f64) -> f64 { var s = u[0] * 6.0\n var t = 0\n"
      " while s > 0.5 CHECKPOINT { s = s * 0.8 + sin(s * u[1]) * 0.05\n t = t + 1\n"
      " if t == 9 { return s * u[2] * u[1] } }\n return s * u[2] }\n"
      "fn f(u: [k]f64, v: [k]f64, c: i64) -> f64 { let g = grad(h)(u)\n"
      " return dot(g, v) + dot(jvp(grad(h), u, v), v) + h(v) }";
  std::string plain = text, kept = text;
  const auto derived = [&](const std::string& mark, Transform t) {
    return DerivedFrom(WithMark(text, mark), t, true);
  };
  const Tensor seed = Tensor::F64(1.0);
  for (const double first : {0.9, 0.3}) {
    const std::vector<Tensor> args = {Vec({first, 0.7, -1.1}), Vec({0.4, 0.2, 0.6}), Tensor::I64(2),
                                      seed};
    const std::vector<Tensor> a = RunOk(derived("", Transform::kVjp), args);
    const ir::Module m = derived("checkpoint(2)", Transform::kVjp);
    const std::vector<Tensor> b = RunOk(m, args);
    CheckBitwise(m, args);
    REQUIRE(a.size() == b.size());
    for (size_t k = 0; k < a.size(); ++k) {
      for (int64_t i = 0; i < a[k].ElementCount(); ++i) {
        CHECK(a[k].At<double>(i) == Approx(b[k].At<double>(i)).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("snapshots: memory falls as asked where the turns are counted by running") {
  CheckMemory(
      "fn f(w: [n]f64, p: f64, steps: i64, c: i64) -> f64 { var v = w\n var t = 0.5\n"
      " while t < f64(steps) checkpoint(c) { v = sin.(v * p) + w\n t += 1.0 }\n"
      " return sum(v) }");
  CheckMemory(
      "fn f(w: [n]f64, p: f64, steps: i64, c: i64) -> f64 { var v = w\n"
      " for t < 10 * steps checkpoint(c) { v = sin.(v * p) + w\n"
      " if t > steps { return sum(v) * p } }\n return p }");
  CheckMemory(
      "fn f(w: [n]f64, p: f64, steps: i64, c: i64) -> f64 { var v = w\n var t = 0\n"
      " while true checkpoint(c) { if v[0] > 10.0 or t > steps { break }\n"
      " v = sin.(v * p) + w\n t = t + 1 }\n return sum(v) }");
}

}  // namespace
}  // namespace pullback::testing
