// Derivatives of programs with lists in native code: the bits of the reference.
#include <catch2/catch.hpp>

#include "tests/jit/programs/compiled.h"
#include "tests/support/derivatives.h"
#include "tests/support/list_programs.h"
#include "tests/support/random_list_program.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

void CheckCompiled(const std::vector<ListProgram>& programs) {
  for (const ListProgram& p : programs) {
    INFO(p.name);
    const ir::Module m = ParseIr(p.text);
    std::vector<Tensor> forward = p.args, reverse = p.args;
    for (const Tensor& x : p.args) {
      if (x.dtype == DType::kF64) forward.push_back(x);
    }
    for (const Tensor& y : RunOk(m, p.args)) reverse.push_back(y);
    for (bool optimise : {true, false}) {
      CheckBitwise(Derived(m, Transform::kJvp, {}, optimise), forward);
      CheckBitwise(Derived(m, Transform::kVjp, {}, optimise), reverse);
    }
  }
}

TEST_CASE("compiled lists: both modes give the interpreter's bits") {
  CheckCompiled(ListPrograms());
}

TEST_CASE("compiled boxes: both modes give the interpreter's bits") {
  CheckCompiled(BoxPrograms());
}

TEST_CASE("compiled lists: random programs") {
  std::vector<ListProgram> programs;
  for (uint32_t seed = 0; seed < 6; ++seed)
    programs.push_back({"random", RandomListProgram(seed), {Tensor::F64(0.4), Vec({0.3, -0.6})}});
  CheckCompiled(programs);
}

}  // namespace
}  // namespace pullback::testing
