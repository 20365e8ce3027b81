// Random conditions with relations: statements over tuples give what loops over all points give, and trap only where
// those do.
#include <catch2/catch.hpp>

#include "tests/core/lang/lower_support.h"
#include "tests/support/random_relations.h"
#include "tests/support/settings.h"

namespace pullback::lang {
namespace {

std::string Outcome(const ir::Module& module, const std::vector<Tensor>& args) {
  StatusOr<eval::Result> r = eval::Run(module, args);
  REQUIRE(r.ok());
  return r->trap ? "trap" : std::to_string(Doubles(r->values[0])[0]);
}

void CheckPrograms(const std::vector<testing::RandomRelationProgram>& programs,
                   std::mt19937& random) {
  std::vector<std::vector<Tensor>> runs;
  for (int run = 0; run < 6; ++run) runs.push_back(testing::RandomRelationArguments(random));
  for (const testing::RandomRelationProgram& p : programs) {
    INFO(p.statement);
    const ir::Module statement = LowerText(p.statement), loop = LowerText(p.loop);
    for (const std::vector<Tensor>& args : runs) {
      const std::string got = Outcome(statement, args), want = Outcome(loop, args);
      CHECK((got == want || want == "trap"));
    }
  }
}

}  // namespace

TEST_CASE("relations: random conditions give what loops give", "[long]") {
  std::mt19937 random(testing::Setting("PULLBACK_SEED", 7));
  const uint32_t rounds = testing::Setting("PULLBACK_PROGRAMS", 200);
  for (uint32_t round = 0; round < rounds; ++round) {
    CheckPrograms(testing::RandomPairPrograms(random), random);
  }
}

TEST_CASE("relations: random conditions on three indices give what loops give", "[long]") {
  std::mt19937 random(testing::Setting("PULLBACK_SEED", 3));
  const uint32_t rounds = testing::Setting("PULLBACK_PROGRAMS", 120);
  for (uint32_t round = 0; round < rounds; ++round) {
    CheckPrograms(testing::RandomTriplePrograms(random), random);
  }
}

}  // namespace pullback::lang
