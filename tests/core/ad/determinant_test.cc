// Derivatives of the prelude's det at singular matrices, where differences cancel.
#include <catch2/catch.hpp>

#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

std::vector<double> Hessian(const std::string& function, const Tensor& a) {
  const ir::Module m = LowerText("fn f(a: [n, n]f64) -> f64 { return " + function + "(a) }", "f");
  const std::vector<Tensor> results = RunOk(Derived(m, pipeline::Transform::kHessian), {a});
  return Doubles(results.back());
}

TEST_CASE("det: second derivatives at ranks 3 to 0") {
  const Tensor matrices[] = {
      Mat(3, 3, {0.1, 1, 2, 4, 3, 0.5, 2, 0.5, 5}), Mat(3, 3, {0, 1, 2, 0, 2, 4, 0, 3, 7}),
      Mat(3, 3, {1, 2, 3, 2, 4, 6, -1, -2, -3}), Mat(3, 3, {0, 0, 0, 0, 0, 0, 0, 0, 0})};
  for (const Tensor& a : matrices) {
    const std::vector<double> got = Hessian("det", a), want = Hessian("det_without_division", a);
    REQUIRE(got.size() == 81);
    for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(want[i]).margin(1e-12));
  }
  // d2 det / da[0, 0] da[1, 1] is a[2, 2].
  CHECK(Hessian("det", matrices[2])[4] == Approx(-3));
}

}  // namespace
}  // namespace pullback::testing
