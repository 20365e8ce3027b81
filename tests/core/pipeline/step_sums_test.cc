// Sums whose elements lie apart by steps, which are added up by rows first: without a term no element is asked for.
#include <catch2/catch.hpp>

#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {

using pipeline::Transform;

TEST_CASE("step sums: places that are not there, of no terms") {
  for (const char* body :
       {"  return sum i < n, l < h { x[2 * i + 1] * y[i, l] }\n",
        "  return sum i < n { sin(sum l < h { x[2 * i + 1] * y[i, l] }) }\n",
        "  return sum i < n, l < h { [2 * i + 1 < n] * x[2 * i + 1] * y[i, l] ** 2 }\n"}) {
    const std::string text = "fn f(x: [n]f64, y: [n, h]f64) -> f64 {\n" + std::string(body) + "}\n";
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    const ir::Module gradient = Derived(ssa, Transform::kValueAndGrad),
                     plain = Derived(ssa, Transform::kValueAndGrad, {}, false);
    for (const int64_t n : {0, 1, 3}) {
      for (const int64_t h : {0, 1, 2}) {
        INFO(n << " rows of " << h);
        Tensor x = Waves(n, 1, 0.5);
        x.shape = {n};
        const std::vector<Tensor> args = {x, Waves(n, h, 1.5)};
        if (CheckSameTrap(gradient, plain, args)) continue;
        CheckSameOptimised(ssa, Transform::kValueAndGrad, args);
      }
    }
  }
}

}  // namespace pullback::testing
