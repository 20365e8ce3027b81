#include "tests/core/pipeline/growth_check.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace pullback::testing {

using pipeline::Transform;

std::vector<double> Numbers(int64_t n) {
  std::vector<double> v;
  for (int64_t i = 0; i < n; ++i)
    v.push_back(std::sin(static_cast<double>(7 * i + 1)) + (i % 3 == 0 ? 0.5 : -0.2));
  return v;
}

Tensor Ints(const std::vector<int64_t>& v) {
  return Tensor::Of<int64_t>(DType::kI64, {static_cast<int64_t>(v.size())}, v);
}

int64_t Steps(const ir::Module& final, const std::vector<Tensor>& args) {
  const auto run = eval::Run(final, args);
  REQUIRE(run.ok());
  REQUIRE_FALSE(run->trap);
  return run->cost.steps;
}

void CheckValues(const ir::Module& ssa, const std::vector<Tensor>& args) {
  const double plain = Scalar(RunOk(Derived(ssa, Transform::kValue, {}, false), args)[0]);
  CHECK(Scalar(RunOk(Derived(ssa, Transform::kValue), args)[0]) == Approx(plain).epsilon(1e-12));
  CheckDerivatives(ssa, args);
}

void CheckLinear(const ir::Module& ssa, const std::vector<Tensor>& small,
                 const std::vector<Tensor>& large, const std::vector<Transform>& transforms) {
  for (const Transform t : transforms) {
    const ir::Module final = Derived(ssa, t);
    const int64_t at_small = Steps(final, small), at_large = Steps(final, large);
    CAPTURE(TransformName(t), at_small, at_large);
    CHECK(at_large < 2.2 * static_cast<double>(at_small));
  }
}

}  // namespace pullback::testing
