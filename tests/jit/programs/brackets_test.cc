// Products of arrays with Iverson brackets: where a bracket is false nothing else is evaluated, and no range ends the
// run; where it holds all is as without it. By the interpreter and both tiers, optimised and not, with gradients.
#include <catch2/catch.hpp>

#include "tests/jit/programs/compiled.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

struct Bracketed {
  std::string text;  // of f(x: f64, k: i64) -> f64
  int64_t k;
  double value, slope;  // at x = 2
};

void CheckAll(const std::vector<Bracketed>& programs) {
  for (const Bracketed& p : programs) {
    INFO(p.text << "\nk = " << p.k);
    const ir::Module ssa = LowerText(p.text, "f");
    const std::vector<Tensor> args = {Tensor::F64(2), Tensor::I64(p.k)};
    for (const bool optimise : {true, false}) {
      const ir::Module value = Derived(ssa, Transform::kValue, {}, optimise);
      CHECK(Scalar(RunOk(value, args)[0]) == p.value);
      CheckBitwise(value, args);
      const ir::Module gradient = Derived(ssa, Transform::kValueAndGrad, {}, optimise);
      const std::vector<Tensor> both = RunOk(gradient, args);
      CHECK(Scalar(both[0]) == p.value);
      CHECK(Scalar(both[1]) == Approx(p.slope));
      CheckBitwise(gradient, args);
    }
  }
}

std::string Of(const std::string& value) {
  return "fn f(x: f64, k: i64) -> f64 { return " + value + " }";
}

TEST_CASE("brackets: ranges inside a gen end early under a bracket as well") {
  const std::string two = Of("sum([k > 0] * (gen i < 2 { gen j < k { x } }))");
  const std::string three =
      Of("sum(-([k > 0] * (gen h < 2 { gen i < 2 { gen j < k + 1 { x } } })))");
  const std::string columns = Of("sum([k > 0] * (gen i < 2 { (gen j < k, l < 2 { x }).T }))");
  const std::string loop =
      Of("sum([k > 0] * (gen i < 2 { var y = x\n for t < 2 { y = y * x }\n gen j < k { y } }))");
  const std::string sums = Of("sum([k > 0] * (sum i < 3 { gen h < 2 { gen j < k { x } } }))");
  const std::string computed = Of("sum([k > 0] * (gen i < 2 { gen j < k * k - 10 { x } }))");
  const std::string holds = Of("sum([k < 9] * (gen i < 2 { gen j < k { x } }))");
  const std::string size = Of("x * f64(dim([k > 0] * (gen i < 0 { gen j < k { x } }), 1))");
  CheckAll({{two, -3, 0, 0},
            {two, 3, 12, 6},
            {three, -3, 0, 0},
            {three, 3, -32, -16},
            {columns, -3, 0, 0},
            {columns, 3, 24, 12},
            {loop, -3, 0, 0},
            {loop, 3, 48, 72},
            {sums, -3, 0, 0},
            {sums, 3, 36, 18},
            {computed, -3, 0, 0},
            {computed, 3, 0, 0},
            {computed, 4, 24, 12},
            {holds, -3, 0, 0},
            {holds, 3, 12, 6},
            {size, -3, 0, 0},
            {size, 3, 6, 3}});
}

// E of [0 <= k < 2] * E traps for other k. At k = 0 and 1 its sum is what is given.
void CheckGuarded(const std::string& rest, double value, double slope) {
  const std::string text =
      "fn row(t: [n]f64, k: i64) -> [n]f64 { return t * t[k] }\n"
      "fn cube(t: [n]f64, k: i64) -> f64 { return t[k] * t[k] * t[k] }\n"
      "fn f(x: f64, k: i64) -> f64 { let a = gen i < 2 { x }\n return " +
      rest + " }";
  CheckAll({{text, 7, 0, 0}, {text, -1, 0, 0}, {text, 1, value, slope}});
}

TEST_CASE("brackets: calls that are computed again are guarded") {
  CheckGuarded("sum([0 <= k < 2] * checkpoint(row)(a, k))", 8, 8);
  CheckGuarded("sum([0 <= k < 2] * checkpoint(|t| t * t[k])(a))", 8, 8);
  const std::string ends =
      "fn r(a: [n]f64, d: i64) -> [n]f64 { return a + [d > 0] * checkpoint(r)(0.5 * a, d - 1) }\n"
      "fn f(x: f64, k: i64) -> f64 { return sum(r(gen i < 2 { x }, k)) }";
  CheckAll({{ends, 2, 7, 3.5}, {ends, 0, 4, 2}});
}

TEST_CASE("brackets: derivatives are guarded") {
  CheckGuarded("sum([0 <= k < 2] * grad(cube)(a, k))", 12, 12);
  CheckGuarded("sum([0 <= k < 2] * grad(|t| cube(t, k))(a))", 12, 12);
  CheckGuarded("sum([0 <= k < 2] * value_and_grad(|t| cube(t, k))(a).1)", 12, 12);
  CheckGuarded("sum([0 <= k < 2] * jvp(|t| row(t, k), a, 3.0 * a / x))", 24, 12);
  CheckGuarded("sum([0 <= k < 2] * jacobian(|t| row(t, k))(a))", 8, 4);
  CheckGuarded("sum([0 <= k < 2] * hessian(|t| cube(t, k))(a))", 12, 6);
  CheckGuarded("sum([0 <= k < 2] * vjp(|t| row(t, k), a).0)", 8, 8);
  CheckGuarded("sum([0 <= k < 2] * jvp(|u| grad(|t| cube(t, k))(u), a, a / x))", 12, 6);
  const std::string seed =
      "fn f(x: f64, k: i64) -> f64 { let (y, back) = vjp(|t| t * t, gen i < 2 { x })\n"
      " return sum([k == 2] * back(gen i < k { 1.0 })) }";
  CheckAll({{seed, 5, 0, 0}, {seed, -3, 0, 0}, {seed, 2, 8, 4}});
}

TEST_CASE("brackets: calls of lambdas are guarded") {
  CheckGuarded("sum([0 <= k < 2] * (|t| t * t[k])(a))", 8, 8);
}

TEST_CASE("brackets: folds whose steps keep the sizes are guarded") {
  CheckGuarded("sum([0 <= k < 2] * fold(|s, i| s * s[k], a, 2))", 32, 64);
  CheckGuarded("sum([0 <= k < 2] * fold(|s, i| row(s, k), a, 2))", 32, 64);
  CheckGuarded("sum([0 <= k < 2] * fold(|s, i| (s.0 * s.0[k], s.1 + 1), (a, 0), 2).0)", 32, 64);
  // Of a fold that changes them only its value tells the sizes.
  const std::string grows =
      "fn f(x: f64, k: i64) -> f64 {\n"
      " return sum([k > 1] * fold(|s, i| gen j < len(s) + 1 { x }, gen i < 2 { x }, k)) }";
  CheckAll({{grows, 1, 0, 0}, {grows, 2, 8, 4}});
}

}  // namespace
}  // namespace pullback::testing
