// Loops with snapshots in the language: the plain loop's gradients bit for bit, in the interpreter and
// compiled, in memory that falls as asked.
#include <catch2/catch.hpp>
#include <cmath>

#include "core/loops/lower.h"
#include "tests/jit/llvm_support.h"
#include "tests/jit/programs/compiled.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

std::string With(std::string text, const std::string& mark) {
  const std::string what = "CHECKPOINT";
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what))
    text.replace(at, what.size(), mark);
  return text;
}

Tensor Wave(int64_t n, double scale) {
  std::vector<double> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(scale * std::sin(static_cast<double>(7 * i + 1)));
  return Vec(v);
}

void CheckSame(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t k = 0; k < a.size(); ++k) {
    INFO("result " << k);
    CHECK(a[k].shape == b[k].shape);
    CHECK(a[k].data == b[k].data);
  }
}

struct Case {
  const char* name;
  std::string text;  // CHECKPOINT: where snapshots are asked for; c is the entry's last parameter
  std::vector<Tensor> args;
};

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
      {"a gradient inside the step",
       "fn f(w: [k]f64, r: f64, n: i64, c: i64) -> f64 { var v = w\n"
       " for t < n CHECKPOINT { v = v - r * grad(|u| sum i < k { sin(u[i] * w[i]) * u[i] })(v) }\n"
       " return dot(v, v) * r }",
       {w, Tensor::F64(0.1), n}},
  };
}

TEST_CASE("snapshots: gradients are the plain loop's, bit for bit") {
  for (const Case& c : Cases()) {
    INFO(c.name);
    for (const bool optimise : {true, false}) {
      INFO((optimise ? "optimised" : "as built"));
      const auto derived = [&](const std::string& mark, Transform t) {
        const ir::Module ssa = LowerText(With(c.text, mark), "f");
        std::vector<bool> wrt;
        for (ir::Value v : ssa.Get(ssa.entry).params())
          wrt.push_back(ir::CarriesTangent(ssa, ssa.Get(ssa.entry).TypeOf(v)));
        return Derived(ssa, t, wrt, optimise);
      };
      std::vector<Tensor> args = c.args;
      args.push_back(Tensor::I64(0));
      const std::vector<Tensor> value = RunOk(derived("checkpoint(c)", Transform::kValue), args);
      // vjp: the plain loop's gradient by a scalar or two would be forward mode.
      const bool f32 = value[0].dtype == DType::kF32;
      args.push_back(f32 ? Tensor::F32(1) : Tensor::F64(1));
      const std::vector<Tensor> plain = RunOk(derived("", Transform::kVjp), args);
      CheckSame(value, {plain[0]});
      const ir::Module snapshots = derived("checkpoint(c)", Transform::kVjp);
      for (const int64_t s : {0, 1, 2, 3, 5, 10, 11, 1000}) {
        INFO(s << " snapshots");
        args[c.args.size()] = Tensor::I64(s);
        CheckSame(RunOk(snapshots, args), plain);
        if (optimise && (s == 1 || s == 3)) CheckBitwise(snapshots, args);
      }
    }
  }
}

struct Ran {
  std::vector<Tensor> values;
  int64_t bytes;
};

TEST_CASE("snapshots: memory falls as asked") {
  // The state is an array of 8 n bytes; the body reads another one by a statement.
  const ir::Module m =
      Derived(LowerText("fn f(w: [n]f64, p: f64, steps: i64, c: i64) -> f64 { var v = w\n"
                        " for t < steps checkpoint(c) { v = sin.(v * p) + w }\n return sum(v) }",
                        "f"),
              Transform::kValueAndGrad, {true, true, false, false});
  const auto loops = loops::LowerToLoops(m);
  REQUIRE(loops.ok());
  jit::TestKernel kernel(*loops, 2);
  const int64_t n = 1000, steps = 200;
  const auto run = [&](int64_t snapshots) {
    kernel.context.peak_bytes = 0;
    Ran r{kernel.Run({Wave(n, 1), Tensor::F64(0.9), Tensor::I64(steps), Tensor::I64(snapshots)}),
          0};
    r.bytes = kernel.context.peak_bytes;
    return r;
  };
  const Ran plain = run(0);
  CHECK(plain.bytes > steps * 8 * n);
  for (const int64_t s : {1, 2, 3, 5, 10, 50}) {
    const Ran r = run(s);
    INFO(s << " snapshots: " << r.bytes << " bytes, plain " << plain.bytes);
    CheckSame(r.values, plain.values);
    CHECK(r.bytes < (s + 12) * 8 * n + 100000);
  }
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
