// A gen of structs goes into what reads it, part by part, and no work is done twice.
#include <catch2/catch.hpp>

#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

Tensor Wave(int64_t n) {
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(0.2 + 0.1 * static_cast<double>(i * 5 % 7));
  return Tensor::Of(DType::kF64, {n}, values);
}

eval::Cost CostOf(const ir::Module& module, const std::vector<Tensor>& args) {
  StatusOr<eval::Result> result = eval::Run(module, args);
  REQUIRE(result.ok());
  REQUIRE_FALSE(result->trap);
  return result->cost;
}

struct Case {
  const char* made;  // of x[i]
  const char* read;
  bool stored;
};

TEST_CASE("struct parts: what is made goes into its reader") {
  const Case cases[] = {
      {"P(sin(x[i]), x[i] * 2.0, i + 1)", "sum i < n { ps[i].a * ps[i].b }", false},
      {"P(sin(x[i]), x[i] * 2.0, i + 1)", "sum i < n { ps[n - 1 - i].a * ps[n - 1 - i].b }", false},
      {"let e = exp(x[i]); P(e * 2.0, e + x[i], i)",
       "sum i < n - 1 { ps[i + 1].a * ps[i + 1].b * f64(ps[i + 1].k) }", false},
      {"P(exp(x[i]), sin(x[n - 1 - i]), i)",
       "(sum i < n { ps[n - 1 - i].a }) * (sum i < n { ps[i].b ** 2 })", false},
      {"let e = exp(x[i]); P(e * 2.0, e + x[i], i)", "sum i < n { ps[i].a * ps[n - 1 - i].b }",
       true},
      {"P(sin(x[i]), cos(x[i]), i)", "sum i < n, j < n { sin(ps[i].a * ps[j].b) }", true},
      {"P(sin(x[i]), cos(x[i]), i)", "sum i < n, j < n { ps[i].a * ps[j].b }", false},
  };
  for (const Case& c : cases) {
    INFO(c.made << "\n" << c.read);
    const std::string text = std::string("struct P { a: f64, b: f64, k: i64 }\n") +
                             "fn f(x: [n]f64) -> f64 { let ps = gen i < n { " + c.made +
                             " }\n return " + c.read + " }";
    const ir::Module ssa = LowerText(text, "f");
    const std::vector<Tensor> args = {Wave(40)};
    CheckDerivatives(ssa, {Wave(7)});
    const eval::Cost plain = CostOf(Derived(ssa, pipeline::Transform::kValue, {}, false), args);
    const eval::Cost cost = CostOf(Derived(ssa, pipeline::Transform::kValue), args);
    CHECK((cost.array_bytes > 0) == c.stored);
    CHECK(cost.ops <= plain.ops);
  }
}

}  // namespace
}  // namespace pullback::testing
