// What stands outside a mask is zeros (erratum of ATL's 5.33): logarithms, quotients, roots, integer divisions
// and subscripts that only one arm may evaluate give nothing there, neither a NaN nor a trap, in lanes either.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/jit/programs/compiled.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

struct Masked {
  const char* body;  // of point i, by x[i] and k[i]
  double (*value)(double x, int64_t k), (*slope)(double x, int64_t k);
};

const Masked kMasked[] = {
    {"if x[i] > 0.0 { log(x[i]) / x[i] } else { 0.0 }",
     [](double x, int64_t) { return x > 0 ? std::log(x) / x : 0; },
     [](double x, int64_t) { return x > 0 ? (1 - std::log(x)) / (x * x) : 0; }},
    {"if x[i] < 0.0 { sqrt(-x[i]) } else { x[i] }",
     [](double x, int64_t) { return x < 0 ? std::sqrt(-x) : x; },
     [](double x, int64_t) { return x < 0 ? -0.5 / std::sqrt(-x) : 1; }},
    {"if k[i] != 0 { x[i] * f64(10 / k[i]) } else { x[i] }",
     [](double x, int64_t k) { return k != 0 ? x * static_cast<double>(10 / k) : x; },
     [](double, int64_t k) { return k != 0 ? static_cast<double>(10 / k) : 1; }},
    {"if i >= 0 and i < 0 { x[i - 1000] / 0.0 } else { 2.0 * x[i] }",
     [](double x, int64_t) { return 2 * x; }, [](double, int64_t) { return 2.0; }},
};

TEST_CASE("masks: what an arm may not evaluate leaves no NaN and no trap, compiled neither") {
  for (const Masked& m : kMasked) {
    INFO(m.body);
    const ir::Module ssa = LowerText(
        std::string("fn f(x: [n]f64, k: [n]i64) -> f64 { return sum i < n { ") + m.body + " } }",
        "f");
    for (const int64_t n : {3, 40}) {
      std::vector<double> x;
      std::vector<int64_t> k;
      for (int64_t i = 0; i < n; ++i) {
        x.push_back(0.5 * static_cast<double>(i % 7 - 3));  // zeros, and both signs
        k.push_back(i % 3 - 1);
      }
      const std::vector<Tensor> args = {Tensor::Of(DType::kF64, {n}, x),
                                        Tensor::Of(DType::kI64, {n}, k)};
      const ir::Module gradient = Derived(ssa, pipeline::Transform::kValueAndGrad);
      const std::vector<Tensor> got = RunOk(gradient, args);
      double sum = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        sum += m.value(x[i], k[i]);
        CHECK(got[1].At<double>(static_cast<int64_t>(i)) == Approx(m.slope(x[i], k[i])));
      }
      CHECK(Scalar(got[0]) == Approx(sum));
      CheckBitwise(Derived(ssa, pipeline::Transform::kValue), args);
      CheckBitwise(gradient, args);
    }
  }
}

}  // namespace
}  // namespace pullback::testing
