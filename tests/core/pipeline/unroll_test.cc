// Sums over a few points become straight-line code with the same bits.
#include <catch2/catch.hpp>

#include "core/ir/printer.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

std::string Final(const std::string& program) {
  return ir::Print(Derived(LowerText(program, "f"), Transform::kValue));
}

bool HasStatement(const std::string& program) {
  return Final(program).find("each(") != std::string::npos;
}

std::string Sum(int n) {
  return "fn f(x: [n]f64) -> f64 { return sum i < " + std::to_string(n) + " { x[i] * x[2 * i] } }";
}

TEST_CASE("sums of up to eight points are straight-line code, of the same bits") {
  std::vector<double> v;
  for (int i = 0; i < 20; ++i) v.push_back(1.0 / (i + 1) * (i % 3 == 0 ? -1 : 1e5));
  for (int n = 1; n <= 9; ++n) {
    INFO(n);
    CHECK(HasStatement(Sum(n)) == (n > 8));
    const ir::Module ssa = LowerText(Sum(n), "f");
    const std::vector<Tensor> args = {Vec(v)};
    CHECK(RunOk(Derived(ssa, Transform::kValue), args)[0].data ==
          RunOk(Derived(ssa, Transform::kValue, {}, false), args)[0].data);
    CheckDerivatives(ssa, args);
  }
  // All terms are -0: the sum is not.
  const ir::Module zeros = LowerText("fn f(x: [n]f64) -> f64 { return sum i < 3 { x[i] } }", "f");
  for (bool optimise : {true, false}) {
    CHECK(!std::signbit(Scalar(
        RunOk(Derived(zeros, Transform::kValue, {}, optimise), {Vec({-0.0, -0.0, -0.0})})[0])));
  }
}

TEST_CASE("what is unrolled and what is not") {
  CHECK_FALSE(HasStatement(
      "fn f(x: [n]f64) -> f64 { return sum i < 2, j < 3 { x[i] * x[j] * f64(i + 2 * j) } }"));
  CHECK(HasStatement("fn f(x: [n]f64) -> f64 { return sum i < n { x[i] } }"));
  CHECK(HasStatement("fn f(x: [n]f64) -> [3]f64 { return gen i < 3 { x[i] } }"));
  CHECK(HasStatement("fn f(x: [n]f64) -> f64 { return sum i < 3, j < 3 { x[i] * x[j] } }"));
  // A trap is where it was.
  const ir::Module ssa = LowerText("fn f(x: [n]f64) -> f64 { return sum i < 4 { x[i] } }", "f");
  for (bool optimise : {true, false}) {
    const auto r = eval::Run(Derived(ssa, Transform::kValue, {}, optimise), {Vec({1, 2})});
    REQUIRE(r.ok());
    REQUIRE(r->trap);
    CHECK(r->trap->kind == ir::TrapKind::kIndex);
    CHECK(r->trap->a == 2);
  }
  CheckDerivatives(LowerText("fn f(x: [n]f64) -> f64 {\n  var a = x\n"
                             "  for i in 2..n { a[i] = sum j < 2 { sin(a[i - j]) * a[j] } }\n"
                             "  return a[n - 1] }",
                             "f"),
                   {Vec({0.3, 1.2, -0.7, 0.9, 0.4})});
}

}  // namespace
}  // namespace pullback::testing
