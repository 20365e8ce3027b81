// The examples of Bernstein et al.: gradients within theorem 6.35's bound, and of the primal's order of
// growth in operations, iterations of loops and bytes.
#include "tests/support/atl_programs.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>

#include "core/eval/interpreter.h"
#include "core/loops/lower.h"
#include "tests/core/loops/testing.h"
#include "tests/support/derivatives.h"

namespace pullback::loops {
namespace {

using pipeline::Transform;

struct Measured {
  double ops, iterations, bytes;
};

Measured Measure(const ir::Module& final_ir, const std::vector<Tensor>& args) {
  eval::Limits limits;
  limits.call_cost = 1;  // a scalar function and its derivative are black boxes
  const auto run = eval::Run(final_ir, args, limits);
  REQUIRE(run.ok());
  REQUIRE_FALSE(run->trap);
  const Outcome loops = RunBoth(final_ir, args);
  return {static_cast<double>(run->cost.ops), static_cast<double>(loops.iterations),
          static_cast<double>(run->cost.array_bytes)};
}

double InputsOf(const std::vector<Tensor>& args) {
  int64_t count = 0;
  for (const Tensor& t : args) count += t.ElementCount();
  return static_cast<double>(count);
}

// The order of growth of y over three sizes that double: differences, so that constants take no part.
double Exponent(double n, double two_n, double four_n) {
  const double first = two_n - n, second = four_n - two_n;
  return first <= 0 || second <= 0 ? 0 : std::log2(second / first);
}

struct Sizes3 {
  Measured at[3];

  double Exponent(double Measured::* what) const {
    return loops::Exponent(at[0].*what, at[1].*what, at[2].*what);
  }
};

TEST_CASE("examples of ATL: cheap gradients, of the primal's order of growth") {
  constexpr int64_t kSizes[] = {16, 32, 64};
  constexpr double kSlack = 0.05;  // of a slope between finite sizes
  std::printf("%-38s %25s   exponents: ops, loops, bytes (primal)\n", "", "ops / bound");
  for (const testing::AtlProgram& p : testing::AtlPrograms()) {
    INFO(p.name);
    const ir::Module ssa = testing::LowerText(p.text, "f");
    const ir::Module value = testing::Derived(ssa, Transform::kValue);
    const ir::Module gradient = testing::Derived(ssa, Transform::kValueAndGrad, p.wrt);
    Sizes3 v, g;
    double inputs[3];
    for (int k = 0; k < 3; ++k) {
      const std::vector<Tensor> args = p.arguments(kSizes[k]);
      v.at[k] = Measure(value, args);
      g.at[k] = Measure(gradient, args);
      inputs[k] = InputsOf(args);
    }
    const double bound = 4 * (v.at[2].ops + inputs[2] + 1);
    CHECK(g.at[2].ops <= bound);
    std::printf("%-38s %11.0f / %11.0f", p.name.c_str(), g.at[2].ops, bound);
    // A gradient writes what it is by: no less than the inputs' growth.
    const double least = Exponent(inputs[0], inputs[1], inputs[2]);
    for (double Measured::* what : {&Measured::ops, &Measured::iterations, &Measured::bytes}) {
      const double primal = v.Exponent(what), ours = g.Exponent(what);
      CHECK(ours <= std::max(primal, least) + kSlack);
      CHECK(primal <= p.order + kSlack);
      std::printf("  %5.2f (%4.2f)", ours, primal);
    }
    std::printf("\n");
  }
}

}  // namespace
}  // namespace pullback::loops
