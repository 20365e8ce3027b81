// Mixed mode compiled: every tier gives the interpreter's bits, in both modes. PULLBACK_PROGRAMS sets how many
// random programs are tried.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/jit/programs/compiled.h"
#include "tests/support/derivatives.h"
#include "tests/support/mixed_programs.h"
#include "tests/support/values.h"

namespace pullback::testing {
namespace {

using ad::Mixed;
using pipeline::Transform;

uint32_t Count(uint32_t otherwise) {
  const char* text = std::getenv("PULLBACK_PROGRAMS");
  return text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : otherwise;
}

ir::Module Vjp(const ir::Module& ssa, Mixed mixed) {
  pipeline::Options options;
  options.mixed = mixed;
  const std::vector<bool> wrt(ssa.Get(ssa.entry).params().size(), true);
  auto staged = pipeline::Derive(ssa, Transform::kVjp, wrt, options);
  REQUIRE(staged.ok());
  return std::move(staged->final);
}

void CheckTiers(const MixedProgram& p) {
  INFO(p.name << "\n" << p.text);
  const ir::Module ssa = LowerText(p.text, "f");
  CheckBitwise(Derived(ssa, Transform::kValue), p.args);
  std::mt19937 rng(5);
  std::vector<Tensor> args = p.args;
  args.push_back(RandomLike(RunOk(ssa, args)[0], rng));
  for (Mixed mixed : {Mixed::kCached, Mixed::kRecomputed}) CheckBitwise(Vjp(ssa, mixed), args);
}

TEST_CASE("mixed mode: every tier gives the same bits") {
  for (const MixedProgram& p : MixedPrograms()) CheckTiers(p);
}

TEST_CASE("mixed mode: every tier, random functions of up to ten arguments") {
  for (uint32_t seed = 0; seed < Count(12); ++seed) CheckTiers(RandomMixedProgram(seed + 1000, 10));
}

}  // namespace
}  // namespace pullback::testing
