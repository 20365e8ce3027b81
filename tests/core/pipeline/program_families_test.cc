// The programs by which the growth of the passes is measured (bench_compile): they mean what they say, and passes that
// change many loops, calls or blocks at once give what the code as it was written gives.
#include <catch2/catch.hpp>

#include "tests/support/derivatives.h"
#include "tests/support/program_families.h"
#include "tests/support/values.h"

namespace pullback::testing {
namespace {

constexpr int64_t kExtent = 9;

Tensor Argument(ir::Type t, size_t parameter) {
  const std::vector<int64_t> extents(t.IsArray() ? t.rank : 0, kExtent);
  int64_t size = 1;
  for (int64_t e : extents) size *= e;
  std::vector<double> floats;
  std::vector<int64_t> places;
  for (int64_t k = 0; k < size; ++k) {
    floats.push_back((parameter == 0 ? 0.8 : 0.1) + 0.01 * static_cast<double>(k % 11));
    places.push_back((5 * k + 2) % kExtent);
  }
  if (!t.IsFloat()) return Tensor::Of<int64_t>(DType::kI64, extents, places);
  return Tensor::Of<double>(DType::kF64, extents, floats);
}

std::vector<Tensor> Arguments(const ir::Module& ssa) {
  std::vector<Tensor> args;
  const ir::Function& f = ssa.Get(ssa.entry);
  for (ir::Value v : f.params()) args.push_back(Argument(f.TypeOf(v), args.size()));
  return args;
}

TEST_CASE("program families: derivatives of short ones") {
  for (const ProgramFamily& family : ProgramFamilies()) {
    for (const int statements : {1, 2, 7}) {
      INFO(family.name << ", " << statements);
      const ir::Module ssa = LowerText(family.text(statements), "f");
      CheckDerivatives(ssa, Arguments(ssa));
    }
  }
}

TEST_CASE("program families: long ones optimised and as written") {
  for (const ProgramFamily& family : ProgramFamilies()) {
    INFO(family.name);
    const ir::Module ssa = LowerText(family.text(150), "f");
    const std::vector<Tensor> args = Arguments(ssa);
    const auto transform = pipeline::Transform::kValueAndGrad;
    const auto optimised = RunOk(Derived(ssa, transform), args);
    const auto written = RunOk(Derived(ssa, transform, {}, false), args);
    REQUIRE(optimised.size() == written.size());
    for (size_t r = 0; r < optimised.size(); ++r) {
      const std::vector<double> got = Doubles(optimised[r]), wanted = Doubles(written[r]);
      REQUIRE(got.size() == wanted.size());
      for (size_t k = 0; k < got.size(); ++k) {
        INFO("result " << r << "[" << k << "]");
        CHECK(got[k] == Approx(wanted[k]).epsilon(1e-9).margin(1e-300));
      }
    }
  }
}

}  // namespace
}  // namespace pullback::testing
