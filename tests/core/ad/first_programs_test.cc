// The first programs by the interpreter: expected gradients, forward against reverse, differences.
#include <catch2/catch.hpp>

#include "tests/support/derivatives.h"
#include "tests/support/programs.h"

namespace pullback::testing {
namespace {

std::vector<ProgramCase> Programs() {
  std::vector<ProgramCase> all = FirstPrograms();
  all.insert(all.end(), DataPrograms().begin(), DataPrograms().end());
  return all;
}

TEST_CASE("first programs: gradients are as expected") {
  for (const ProgramCase& c : Programs()) {
    SECTION(c.name) {
      const ir::Module m = LowerText(c.text, c.entry);
      const std::vector<Tensor> gradients = Gradients(m, c.args);
      for (size_t k = 0; k < c.gradients.size(); ++k) {
        const std::vector<double> got = Doubles(gradients[k]);
        REQUIRE(got.size() == c.gradients[k].size());
        for (size_t i = 0; i < got.size(); ++i)
          CHECK(got[i] == Approx(c.gradients[k][i]).epsilon(1e-12).margin(1e-300));
      }
    }
  }
}

TEST_CASE("first programs: modes agree with each other and with differences") {
  for (const ProgramCase& c : Programs()) {
    if (c.corner) continue;
    SECTION(c.name) { CheckDerivatives(LowerText(c.text, c.entry), c.args); }
  }
}

}  // namespace
}  // namespace pullback::testing
