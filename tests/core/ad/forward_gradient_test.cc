// Gradients by few scalars: which mode makes them, and that it is all the same.
#include <catch2/catch.hpp>

#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

struct ForwardCase {
  const char* name;
  std::string text;
  std::vector<Tensor> args;
  std::vector<bool> wrt;
  bool forward;
};

std::vector<ForwardCase> Cases() {
  const Tensor x = Tensor::F64(0.7), y = Tensor::F64(-0.4), n = Tensor::I64(7);
  const Tensor w = Vec({0.3, -0.8, 1.2});
  const std::string loop =
      "fn f(x: f64, y: f64, z: f64, n: i64) -> f64 { var s = x\n"
      " for i < n { s = sin(s) * y + z * exp(-x * s) }\n return s }";
  const std::string array =
      "fn f(x: f64, w: [k]f64, n: i64) -> f64 { var v = w\n"
      " for i < n { v = sin.(v * x) + w\n v[0] = x * v[1] }\n return sum(v) }";
  return {
      {"pow: additions and multiplications only",
       "fn f(x: f64, n: i64) -> f64 { var r = 1.0\n for i < n { r = r * x }\n return r }",
       {x, n},
       {true, false},
       false},
      {"two scalars through a loop", loop, {x, y, y, n}, {true, true, false, false}, true},
      {"three scalars through a loop", loop, {x, y, y, n}, {true, true, true, false}, false},
      {"a scalar through arrays", array, {x, w, n}, {true, false, false}, true},
      {"an array through a loop", array, {x, w, n}, {false, true, false}, false},
      {"a scalar and an array through a loop", array, {x, w, n}, {true, true, false}, false},
      {"a recursion",
       "fn f(x: f64, n: i64) -> f64 { if n <= 0 { return x }\n"
       " return sin(x * f(x, n - 1)) + f(x * 0.5, n - 3) }",
       {x, n},
       {true, false},
       true},
      {"a list that grows, a function with a loop",
       "fn g(t: f64, n: i64) -> f64 { var r = t\n for i < n { r = cos(r) * t }\n return r }\n"
       "fn f(x: f64, n: i64) -> f64 { var xs = list(x)\n"
       " for i < n { xs = push(xs, g(xs[i], 3) + x) }\n return xs[n] * xs[1] }",
       {x, n},
       {true, false},
       true},
      {"no loop",
       "fn f(x: f64, y: f64) -> f64 { return sin(x) * exp(y * x) }",
       {x, y},
       {true, true},
       false},
      {"a loop that no tangent goes through",
       "fn f(x: f64, n: i64) -> f64 { var k = 0\n for i < n { k = k + i * i }\n"
       " return x * f64(k) }",
       {x, n},
       {true, false},
       false},
      {"snapshots are asked for",
       "fn f(x: f64, n: i64) -> f64 { var r = x\n"
       " for i < n checkpoint(2) { r = sin(r) * x }\n return r }",
       {x, n},
       {true, false},
       true},
      {"a rule of reverse mode",
       "fn g(t: f64) -> f64 with vjp back { return sin(t) }\n"
       "fn back(t: f64, w: f64) -> f64 { return cos(t) * w }\n"
       "fn f(x: f64, n: i64) -> f64 { var r = x\n for i < n { r = g(r) * x }\n return r }",
       {x, n},
       {true, false},
       false},
      {"a partial that may be infinite",
       "fn f(x: f64, n: i64) -> f64 { var r = x\n for i < n { r = cbrt(r) * x }\n return r }",
       {x, n},
       {true, false},
       false},
      {"a power whose partial is finite",
       "fn f(x: f64, n: i64) -> f64 { var r = x\n for i < n { r = r ** 1.5 * x }\n return r }",
       {x, n},
       {true, false},
       true},
      {"a gradient inside, by one scalar",
       "fn g(t: f64, n: i64) -> f64 { var r = t\n for i < n { r = sin(r) * t }\n return r }\n"
       "fn f(x: f64, n: i64) -> f64 { return grad(|t| g(t * x, n))(x) * x }",
       {x, n},
       {true, false},
       true},
  };
}

TEST_CASE("few scalars: the gradient's mode, and the same gradient by reverse mode") {
  for (const ForwardCase& c : Cases()) {
    INFO(c.name);
    const ir::Module ssa = LowerText(c.text, "f");
    for (const bool optimise : {true, false}) {
      const ir::Module made = Derived(ssa, Transform::kValueAndGrad, c.wrt, optimise);
      const bool forward = made.Get(made.entry).name.find(".forward_grad") != std::string::npos;
      CHECK(forward == c.forward);
      const std::vector<Tensor> got = RunOk(made, c.args);
      std::vector<Tensor> args = c.args;
      args.push_back(Tensor::F64(1));
      const std::vector<Tensor> expected =
          RunOk(Derived(ssa, Transform::kVjp, c.wrt, optimise), args);
      REQUIRE(got.size() == expected.size());
      for (size_t k = 0; k < got.size(); ++k) {
        const std::vector<double> a = Doubles(got[k]), b = Doubles(expected[k]);
        REQUIRE(a.size() == b.size());
        for (size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).epsilon(1e-12));
      }
    }
    CheckDerivatives(ssa, c.args, 1e-5, c.wrt);
  }
}

TEST_CASE("few scalars: f32 and f64 side by side") {
  const ir::Module ssa = LowerText(
      "fn f(x: f32, n: i64) -> f64 { var r = 1.0\n for i < n { r = sin(r) * f64(x) }\n return r }",
      "f");
  const ir::Module made = Derived(ssa, Transform::kValueAndGrad, {true, false});
  CHECK(made.Get(made.entry).name.find(".forward_grad") != std::string::npos);
  const std::vector<Tensor> got = RunOk(made, {Tensor::F32(0.5F), Tensor::I64(4)});
  CHECK(got[1].dtype == DType::kF32);
  const Tensor x = Tensor::F32(0.5F), n = Tensor::I64(4);
  CHECK(Scalar(got[1]) ==
        Scalar(RunOk(Derived(ssa, Transform::kVjp, {true, false}), {x, n, Tensor::F64(1)})[1]));
}

}  // namespace
}  // namespace pullback::testing
