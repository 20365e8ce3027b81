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

}  // namespace
}  // namespace pullback::testing
