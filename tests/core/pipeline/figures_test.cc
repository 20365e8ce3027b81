// The experiments of dF~ (Figures 9 to 11): derivatives against those written by hand in C (tests/bench has the times).
#include <catch2/catch.hpp>

#include "core/ir/printer.h"
#include "tests/bench/dftilde_by_hand.h"
#include "tests/bench/dftilde_programs.h"
#include "tests/support/derivatives.h"
#include "tests/support/values.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;
using Floats = std::vector<double>;

Tensor Matrix(int64_t n, int64_t m, const Floats& v) {
  return Tensor::Of<double>(DType::kF64, {n, m}, v);
}

// Value and derivative of an entry by its parameter `wrt`.
std::vector<Tensor> Derivative(const std::string& entry, Transform transform, size_t wrt,
                               const std::vector<Tensor>& args) {
  const ir::Module ssa = LowerText(bench::kDftildePrograms, entry);
  std::vector<bool> by(args.size());
  by[wrt] = true;
  return RunOk(Derived(ssa, transform, by), args);
}

void CheckNear(const Tensor& got, const Floats& wanted) {
  const Floats floats = FloatsOf(got);
  REQUIRE(floats.size() == wanted.size());
  for (size_t k = 0; k < wanted.size(); ++k) CHECK(floats[k] == Approx(wanted[k]).margin(1e-12));
}

const Floats kA = {0.5, -1.25, 2, 0.75}, kB = {1, 2, -3, 0.25};

TEST_CASE("dF~, Figure 9: dot product, maximum, sum and scaled vector") {
  const int64_t n = 4;
  Floats y(4), d(4), square(16);
  auto got = Derivative("dot", Transform::kValueAndGrad, 0, {Vec(kA), Vec(kB)});
  const double dot = by_hand::DotGrad(kA.data(), kB.data(), n, d.data());
  CheckNear(got[0], {dot});
  CheckNear(got[1], d);
  got = Derivative("greatest", Transform::kValueAndGrad, 0, {Vec(kA)});
  const double greatest = by_hand::MaxGrad(kA.data(), n, d.data());
  CheckNear(got[0], {greatest});
  CheckNear(got[1], d);
  got = Derivative("added", Transform::kJacobian, 0, {Vec(kA), Vec(kB)});
  by_hand::AddJacobian(kA.data(), kB.data(), n, y.data(), square.data());
  CheckNear(got[0], y);
  CheckNear(got[1], square);
  got = Derivative("scaled", Transform::kJacobian, 1, {Vec(kA), Tensor::F64(1.5)});
  by_hand::ScaleByScalar(kA.data(), 1.5, n, y.data(), d.data());
  CheckNear(got[0], y);
  CheckNear(got[1], d);
}

TEST_CASE("dF~, Figure 10: NNMF") {
  const Floats u = {1, 2}, v = {0.5, 3, 1}, a = {1, 2, 3, 4, 0, 1};
  Floats d(3);
  const auto got =
      Derivative("nnmf", Transform::kValueAndGrad, 1, {Vec(u), Vec(v), Matrix(2, 3, a)});
  const double value = by_hand::NnmfGrad(u.data(), v.data(), a.data(), 2, 3, d.data());
  CheckNear(got[0], {value});
  CheckNear(got[1], d);
}

TEST_CASE("dF~, Figure 11: bundle adjustment, with and without a rotation") {
  const int64_t n = 7;  // 14 rows, more than the camera has numbers: the loop is over those
  Floats x;
  for (int k = 0; k < 3 * n; ++k) x.push_back(std::sin(1.7 * k));
  for (const bool turned : {true, false}) {
    Floats camera = {0.1, -0.2, 0.3, 0.05, 0.1, -4, 1.2, 0.4, 0.3, 0.01, -0.002};
    if (!turned) camera[0] = camera[1] = camera[2] = 0;
    Floats y(14), jacobian(14 * 11);
    by_hand::ProjectJacobian(camera.data(), x.data(), n, y.data(), jacobian.data());
    const auto got = Derivative("project", Transform::kJacobian, 0, {Vec(camera), Matrix(n, 3, x)});
    CheckNear(got[0], y);
    CheckNear(got[1], jacobian);
  }
}

TEST_CASE("dF~, Figure 11: a point's partials are computed once, not once a column") {
  const ir::Module ssa = LowerText(bench::kDftildePrograms, "project");
  const auto staged = pipeline::Derive(ssa, Transform::kJacobian, {true, false}, {});
  REQUIRE(staged.ok());
  CHECK(staged->rules.Of(opt::RuleId::kFissionOfInvariants) > 0);
  CHECK(staged->rules.Of(opt::RuleId::kFloatInvariantStatement) > 0);
}

}  // namespace
}  // namespace pullback::testing
