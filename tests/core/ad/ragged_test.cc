// Derivatives through arrays inside a body whose sizes depend on its indices.
#include <catch2/catch.hpp>

#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

TEST_CASE("ragged: derivatives") {
  const char* const bodies[] = {
      "let row = gen j < i + 1 { x[j] * x[i] }; sum(row) + row[i]",
      "let row = gen j in i..n { x[j] - 0.5 * x[i] }; sum(row) * row[0]",
      "let row = gen j < i + 1 { x[j] + 1.0 }; sum j < i + 1 { row[i - j] * row[j] * x[j] }",
      "let row = gen j < i + 1 { exp(x[j] * x[i]) }; max(row)",
      "let row = gen j < i + 1 { exp(x[j] * x[i]) }; sum(row) * max(row)",
      "norm(x[i:n]) + prod(x[0:i])",
      "sum(gen j < i { gen k < j + 1 { x[k] * x[j] } [0] })",
  };
  for (const char* body : bodies) {
    INFO(body);
    CheckDerivatives(
        LowerText(std::string("fn f(x: [n]f64) -> [n]f64 { return gen i < n { ") + body + " } }",
                  "f"),
        {Vec({0.3, 0.9, -0.4, 1.1, 0.7})});
  }
}

}  // namespace
}  // namespace pullback::testing
