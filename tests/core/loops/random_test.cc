// Random programs: loops and reference agree bit for bit.
#include <catch2/catch.hpp>

#include <cstdlib>

#include "core/ir/printer.h"
#include "core/ir/verifier.h"
#include "tests/core/loops/random_blocks.h"
#include "tests/core/loops/random_statement.h"
#include "tests/core/loops/testing.h"
#include "tests/support/settings.h"

namespace pullback::loops {
namespace {

// PULLBACK_FUZZ_PROGRAMS: how many; PULLBACK_FUZZ_FIRST: the first seed.
uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

void CheckValid(const RandomProgram& program) {
  const Status valid = ir::Verify(program.module);
  INFO(valid.ToString() << "\n" << ir::Print(program.module));
  REQUIRE(valid.ok());
}

TEST_CASE("random control flow counts references right") {
  const uint64_t first = FromEnvironment("PULLBACK_FUZZ_FIRST", 1);
  const uint64_t count = FromEnvironment("PULLBACK_FUZZ_PROGRAMS", 1000);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const RandomProgram program = MakeRandomBlocks(seed);
    INFO("seed " << seed);
    CheckValid(program);
    CHECK_FALSE(RunBoth(program.module, program.args).trap.has_value());
  }
}

TEST_CASE("random statements agree with the reference") {
  const uint64_t first = FromEnvironment("PULLBACK_FUZZ_FIRST", 1);
  const uint64_t count = FromEnvironment("PULLBACK_FUZZ_PROGRAMS", testing::RandomCount(3000));
  int trapped = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const RandomProgram program = MakeRandomStatement(seed);
    INFO("seed " << seed);
    CheckValid(program);
    trapped += RunBoth(program.module, program.args, Traps::kAny).trap.has_value() ? 1 : 0;
  }
  CHECK(static_cast<uint64_t>(trapped) < count / 2);
}

}  // namespace
}  // namespace pullback::loops
