// The first programs in every transform, compiled, against the interpreter on the final IR: the same
// bits, optimised and not.
#include <catch2/catch.hpp>

#include "tests/jit/programs/compiled.h"
#include "tests/support/derivatives.h"
#include "tests/support/programs.h"

namespace pullback::testing {
namespace {

std::vector<ProgramCase> Programs() {
  std::vector<ProgramCase> all = FirstPrograms();
  all.insert(all.end(), DataPrograms().begin(), DataPrograms().end());
  return all;
}

using pipeline::Transform;

bool IsFloat(const Tensor& t) { return t.dtype == DType::kF64 || t.dtype == DType::kF32; }

// Something to push forward or pull back: every element 1, 1/2, 1/3, …
Tensor SomeSeed(const Tensor& like) {
  std::vector<double> v;
  for (int64_t i = 0; i < like.ElementCount(); ++i) v.push_back(1.0 / static_cast<double>(i + 1));
  return Tensor::Of<double>(DType::kF64, like.shape, v);
}

void CheckAllTransforms(const ProgramCase& c, bool optimise) {
  const ir::Module ssa = LowerText(c.text, c.entry);
  CheckBitwise(Derived(ssa, Transform::kValue, {}, optimise), c.args);
  CheckBitwise(Derived(ssa, Transform::kValueAndGrad, {}, optimise), c.args);
  std::vector<Tensor> with_seeds = c.args;
  for (const Tensor& t : RunOk(Derived(ssa, Transform::kValue), c.args)) {
    if (IsFloat(t)) with_seeds.push_back(SomeSeed(t));
  }
  CheckBitwise(Derived(ssa, Transform::kVjp, {}, optimise), with_seeds);
  with_seeds = c.args;
  for (const Tensor& t : c.args) {
    if (IsFloat(t)) with_seeds.push_back(SomeSeed(t));
  }
  CheckBitwise(Derived(ssa, Transform::kJvp, {}, optimise), with_seeds);
}

TEST_CASE("first programs: compiled code gives the interpreter's bits") {
  for (const ProgramCase& c : Programs()) {
    SECTION(c.name) {
      CheckAllTransforms(c, true);
      CheckAllTransforms(c, false);
    }
  }
}

}  // namespace
}  // namespace pullback::testing
