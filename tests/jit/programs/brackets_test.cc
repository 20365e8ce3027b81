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

TEST_CASE("brackets: functions in functions, and folds over lists, are guarded") {
  const std::string six =
      "fn f(x: f64, k: i64) -> f64 {\n"
      " let g1 = |t| t * t[k]\n let g2 = |t| g1(t)\n let g3 = |t| g2(t)\n let g4 = |t| g3(t)\n"
      " let g5 = |t| g4(t)\n let g6 = |t| g5(t)\n"
      " return sum([0 <= k < 2] * g6(gen i < 2 { x })) }";
  CheckAll({{six, 7, 0, 0}, {six, -1, 0, 0}, {six, 1, 8, 8}});
  CheckGuarded("sum([0 <= k < 2] * reduce(|s, e| s * s[k] * e, a, list(x, x)))", 256, 896);
  CheckGuarded("sum([0 <= k < 2] * reduce(|s, e| s * e[k], a, repeat(a, 3)))", 32, 64);
}

TEST_CASE("brackets: functions of which only the run knows which they are are guarded") {
  const std::string chosen =
      "fn f(x: f64, k: i64) -> f64 { let a = gen i < 2 { x }\n"
      " let g = if k > 0 { |t: [2]f64| t * t[k] } else { |t: [2]f64| t + t[k] }\n"
      " return sum([0 <= k < 2] * g(a)) }";
  const std::string listed =
      "fn f(x: f64, k: i64) -> f64 { let a = gen i < 2 { x }\n"
      " let gs = list(|t: [2]f64| t * t[k], |t: [2]f64| t + t[k])\n"
      " return sum([0 <= k < 2] * gs[k](a)) }";
  CheckAll({{chosen, 7, 0, 0}, {chosen, -1, 0, 0}, {chosen, 1, 8, 8}});
  CheckAll({{listed, 7, 0, 0}, {listed, -1, 0, 0}, {listed, 1, 8, 4}});
}

// The size of an arm is that of the other, or the one that a condition without traps chooses.
TEST_CASE("brackets: conditionals whose arms differ in size are guarded") {
  CheckGuarded("sum([0 <= k < 2] * (if k == 0 { gen i < 2 { a[k] } } else { gen i < 3 { a[k] } }))",
               6, 3);
  CheckGuarded(
      "sum([0 <= k < 2] * (if x > 3.0 { a[k] * gen i < k { a[k] } }"
      " else if k < 1 { gen i < 3 { a[k] } } else { gen i < k + 3 { a[k] * x } }))",
      16, 16);
  const std::string empty =
      Of("x * f64(len([k > 4] * (if x > 1.0 { gen i < k { 1.0 / x } } else { gen i < 3 { x } })))");
  CheckAll({{empty, -3, 0, 0}, {empty, 4, 8, 4}, {empty, 5, 10, 5}});
}

TEST_CASE("brackets: sizes that are products, and sizes of structs, are known beforehand") {
  const std::string product =
      "fn rep(t: [n]f64, w: [m]f64, k: i64) -> [n * m]f64 {\n"
      " var y = zeros(n * m)\n for i < n * m { y[i] = t[i / m] * t[k] }\n return y }\n"
      "fn f(x: f64, k: i64) -> f64 { let l = list(gen i < 2 { x }, gen i < 3 { 1.0 })\n"
      " let u = l[0]\n let w = l[1]\n return sum([0 <= k < 2] * rep(u, w, k)) }";
  CheckAll({{product, 7, 0, 0}, {product, -1, 0, 0}, {product, 1, 24, 24}});
  const std::string structure =
      "struct S { a: [n]f64, b: f64 }\n"
      "fn mk(t: [n]f64, k: i64) -> S { return S(gen i < n { t[k] }, t[0]) }\n"
      "fn f(x: f64, k: i64) -> f64 { let a = gen i < 2 { x }\n"
      " return sum([0 <= k < 2] * mk(a, k).a) }";
  CheckAll({{structure, 7, 0, 0}, {structure, -1, 0, 0}, {structure, 1, 4, 2}});
}

// At k = 0 the divisor is 0, elsewhere x / k is 2 / k.
TEST_CASE("brackets: quotients of products with brackets, of numbers") {
  for (const std::string value :
       {"[k != 0] * x / f64(k)", "x * [k != 0] / f64(k)", "-(-[k != 0] * x / f64(k))",
        "[k != 0] / (f64(k) / x)", "2.0 * ([k != 0] * (x / f64(k))) / 2.0"}) {
    CheckAll({{Of(value), 0, 0, 0}, {Of(value), 4, 0.5, 0.25}, {Of(value), -2, -1, -0.5}});
  }
  const std::string whole = Of("x * f64([k != 0] * 7 / k)");
  CheckAll({{whole, 0, 0, 0}, {whole, 2, 6, 3}, {whole, -2, -6, -3}});
  // Where the divisor is 0 with a derivative that is not.
  const std::string slope = Of("[k > 0] / (x - 2.0) + x ** 2 * [k < 2] / x");
  CheckAll({{slope, 0, 2, 1}});
  const std::string alone = Of("[x > 2.0] * x / (x - 2.0) / f64(k)");
  CheckAll({{alone, 0, 0, 0}, {alone, 3, 0, 0}});
  // Names alone: what divides by 0 is in no derivative, either.
  const std::string names =
      "fn f(x: f64, k: i64) -> f64 { let z = x * f64(k)\n"
      " return [k != 0] / z + [k > 0] * x / z }";
  CheckAll({{names, 0, 0, 0}, {names, 2, 0.75, -0.125}, {names, -2, -0.25, 0.125}});
  const std::string twice = Of("grad(|t| { let z = t * f64(k); [k != 0] * t / z / z })(x)");
  CheckAll({{twice, 0, 0, 0}, {twice, 1, -0.25, 0.25}});
  const std::string many = Of("grad(|t| sum i < 2 { let z = t * f64(k); [k > i] * t / z / z })(x)");
  CheckAll({{many, 0, 0, 0}, {many, 1, -0.25, 0.25}, {many, 2, -0.125, 0.125}});
  const std::string loop =
      Of("fold(|s, i| s + [i > k] * x / f64(i - k), 0.0, 4) +"
         " sum i < 4 { [i > k] / f64(i - k) * x }");
  CheckAll({{loop, 1, 6, 3}, {loop, 7, 0, 0}});
  const std::string second = Of("grad(|t| [k != 0] * t / (t * f64(k) - 2.0 + f64(k)))(x)");
  CheckAll({{second, 0, 0, 0}, {second, 2, 0, 0}});
  const std::string curved = Of("grad(|t| [k != 0] * 6.0 / (t * f64(k)))(x)");
  CheckAll({{curved, 0, 0, 0}, {curved, 1, -1.5, 1.5}});
}

TEST_CASE("brackets: quotients of products with brackets, of arrays") {
  CheckGuarded("sum([0 <= k < 2] * a / a[k])", 2, 0);
  CheckGuarded("sum([0 <= k < 2] * a * x / a[k] / (a + x))", 1, 0);
  CheckGuarded("sum([0 <= k < 2] / (a * a[k]))", 0.5, -0.5);
  CheckGuarded("sum(a * [0 <= k < 2] / ([x > 1.0] * row(a, k)))", 1, -0.5);
  CheckGuarded("sum(gen i < 2 { [0 <= k < 2] * cube(a, k) / a[k] })", 8, 8);
  CheckGuarded("sum(sum i < 2 { [0 <= k < 2 and i > 0] * row(a, k) / a[i - 1] })", 4, 2);
  const std::string twice =
      Of("grad(|t| { let z = t * f64(k)\n sum([k > 0] * (gen i < 2 { t }) / z / z) })(x)");
  CheckAll({{twice, 0, 0, 0}, {twice, 1, -0.5, 0.5}});
  CheckGuarded("sum(grad(|t| sum([0 <= k < 2] * t / (t * t[k] * t[k])))(a))", -0.5, 0.75);
}

// A function that doubles itself again and again is not looked through without end.
TEST_CASE("brackets: what functions hold is looked at within bounds") {
  std::string text = "fn f(x: f64, k: i64) -> f64 {\n let g0 = |t| t\n";
  for (int i = 1; i < 16; ++i) {
    const std::string before = "g" + std::to_string(i - 1);
    text += " let g" + std::to_string(i) + " = |t| 0.5 * (" + before + "(t) + " + before + "(t))\n";
  }
  text += " return sum([k > 0] * g15(gen i < 2 { x })) }";
  CheckAll({{text, 0, 0, 0}, {text, 1, 4, 2}});
}

}  // namespace
}  // namespace pullback::testing
