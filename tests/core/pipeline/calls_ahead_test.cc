// Calls that no index changes, in comprehensions: values, derivatives, and what they cost as they grow, by counting.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

constexpr char kFunctions[] = R"(
fn halves(x: [n]f64) -> [n]f64 { var y = x; for i in 1..n { y[i] = 0.5 * y[i - 1] + x[i] } return y }
fn last(x: [n]f64) -> f64 { var y = 0.0; for i < n { y = 0.5 * y + x[i] } return y }
)";

std::vector<Tensor> Arguments(int64_t n) {
  std::vector<double> x, y;
  for (int64_t i = 0; i < n; ++i) {
    x.push_back(std::sin(static_cast<double>(7 * i + 1)));
    y.push_back(std::cos(static_cast<double>(3 * i + 2)));
  }
  return {Tensor::Of(DType::kF64, {n}, x), Tensor::Of(DType::kF64, {n}, y)};
}

double StepsFor(const ir::Module& final, int64_t n) {
  const auto run = eval::Run(final, Arguments(n));
  REQUIRE(run.ok());
  REQUIRE_FALSE(run->trap);
  return static_cast<double>(run->cost.steps);
}

struct Growing {
  const char* value;
  double times;  // as much for twice the size, at most
};

TEST_CASE("calls that no index changes: value and gradient grow as if they were made in front") {
  const Growing programs[] = {
      {"sum i < n { softmax(x)[i] * y[i] }", 2.1},
      {"sum(gen i < n { softmax(x)[i] * y[i] })", 2.1},
      {"sum i < n { halves(x)[i] * y[i] }", 2.1},
      {"sum i < n { last(x) * y[i] }", 2.1},
      {"prod i < n { 1.0 + 0.01 * halves(x)[i] * y[i] }", 2.4},
      {"max i < n { halves(x)[i] * y[i] }", 2.1},
      {"sum(scan sum i < n { halves(x)[i] * y[i] })", 2.2},
      {"sum i < n { let z = halves(x); halves(z)[i] * y[i] }", 2.1},
      {"sum i < n { grad(last)(x)[i] * y[i] }", 2.1},
      {"sum i < 3 { sum j < n { halves(x)[j] * y[j] * f64(i) } }", 2.1},
      {"sum i < n { (sum j < n { exp(x[j]) }) * last(gen j < 3 { y[i] }) }", 2.1},
      // n log n
      {"sum i < n { sort(x)[i] * y[i] }", 2.4},
      {"sum i < n { (y[i] - median(x)) ** 2.0 }", 2.4},
      // Of all pairs
      {"sum i < n, j < i + 1 { halves(x)[j] * y[i] }", 4.1},
      {"sum i < n { sum j < n { softmax(y[i] * x)[j] * y[j] } }", 4.1},
      {"sum i < n, j < n { softmax(y[i] * x)[j] * y[j] }", 4.1},
  };
  for (const Growing& p : programs) {
    INFO(p.value);
    const ir::Module ssa = LowerText(
        std::string(kFunctions) + "fn f(x: [n]f64, y: [n]f64) -> f64 { return " + p.value + " }",
        "f");
    for (const Transform t : {Transform::kValue, Transform::kValueAndGrad}) {
      const ir::Module final = Derived(ssa, t);
      const double at_small = StepsFor(final, 40), at_large = StepsFor(final, 80);
      CAPTURE(pipeline::TransformName(t), at_small, at_large);
      CHECK(at_large < p.times * at_small);
    }
    CheckDerivatives(ssa, Arguments(5));
    const double plain = Scalar(RunOk(Derived(ssa, Transform::kValue, {}, false), Arguments(5))[0]);
    CHECK(Scalar(RunOk(Derived(ssa, Transform::kValue), Arguments(5))[0]) ==
          Approx(plain).epsilon(1e-12));
  }
}

TEST_CASE("calls that no index changes: gradients of ranges without points are zeros") {
  for (const char* value : {"sum i < m { softmax(x)[i] * y[i] }", "sum i < m { last(x) * y[i] }",
                            "sum i < n { sum j < m { halves(x)[j] * y[j] } }",
                            "sum i < m, j < i { halves(x)[j] * y[j] }"}) {
    INFO(value);
    const ir::Module ssa = LowerText(
        std::string(kFunctions) + "fn f(x: [n]f64, y: [m]f64) -> f64 { return " + value + " }",
        "f");
    const std::vector<Tensor> args = {Tensor::Of<double>(DType::kF64, {2}, {1, 2}),
                                      Tensor::Of<double>(DType::kF64, {0}, {})};
    CHECK(Doubles(Gradients(ssa, args)[0]) == std::vector<double>{0, 0});
  }
}

}  // namespace
}  // namespace pullback::testing
