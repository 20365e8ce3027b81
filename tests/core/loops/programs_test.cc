// Whole programs through every pass: loops of their values and gradients agree with the reference on
// the final IR bit for bit.
#include <catch2/catch.hpp>

#include "tests/core/loops/testing.h"
#include "tests/support/derivatives.h"
#include "tests/support/generator.h"
#include "tests/support/programs.h"
#include "tests/support/settings.h"

namespace pullback::loops {
namespace {

using pipeline::Transform;

void CheckLoops(const std::string& text, const std::string& entry, const std::vector<Tensor>& args,
                bool has_gradient) {
  INFO(text);
  const ir::Module ssa = testing::LowerText(text, entry);
  for (bool optimise : {false, true}) {
    RunBoth(testing::Derived(ssa, Transform::kValue, {}, optimise), args);
    if (!has_gradient) continue;
    RunBoth(testing::Derived(ssa, Transform::kValueAndGrad, {}, optimise), args);
  }
}

TEST_CASE("loops of small programs and their gradients") {
  for (const testing::ProgramCase& program : testing::FirstPrograms()) {
    INFO(program.name);
    CheckLoops(program.text, program.entry, program.args, !program.gradients.empty());
  }
}

TEST_CASE("loops of programs with data and their gradients") {
  for (const testing::ProgramCase& program : testing::DataPrograms()) {
    INFO(program.name);
    CheckLoops(program.text, program.entry, program.args, true);
  }
}

TEST_CASE("loops of random programs and their gradients") {
  using testing::Kind;
  for (Kind kind : {Kind::kControlFlow, Kind::kCorners, Kind::kTensor}) {
    testing::Coverage coverage;
    for (uint32_t seed = 1; seed <= testing::RandomCount(60); ++seed) {
      INFO("kind " << static_cast<int>(kind) << ", seed " << seed);
      const testing::GeneratedProgram program = testing::GenerateProgram(kind, seed, &coverage);
      CheckLoops(program.text, program.entry, program.args, true);
    }
  }
}

}  // namespace
}  // namespace pullback::loops
