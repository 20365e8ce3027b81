// Programs with relations: compiled code against the interpreter bit for bit.
#include <catch2/catch.hpp>

#include "core/ir/count_insts.h"
#include "tests/jit/programs/compiled.h"
#include "tests/support/derivatives.h"
#include "tests/support/random_relations.h"
#include "tests/support/relations.h"
#include "tests/support/settings.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

// LLVM takes most of a minute for the largest, of which tier 0 alone sees to the bits.
std::span<const int> LevelsOf(const ir::Module& final) {
  constexpr size_t kLarge = 1500, kLargest = 4000;  // instructions
  const size_t size = ir::CountInsts(final);
  const std::span<const int> tiers = kEveryTier;
  if (size > kLargest) return tiers.last(1);
  return size > kLarge ? tiers : std::span<const int>(kEveryLevel);
}

TEST_CASE("relations: compiled values and tangents") {
  for (const RelationProgram& p : RelationPrograms()) {
    SECTION(p.name) {
      const ir::Module ssa = LowerText(p.text, "f");
      std::vector<Tensor> args = WithRelations(p.relations, p.rest);
      const ir::Module value = Derived(ssa, Transform::kValue);
      CheckBitwise(value, args, LevelsOf(value));
      for (const Tensor& t : p.rest) {
        if (t.dtype == DType::kF64) args.push_back(t);
      }
      const ir::Module tangent = Derived(ssa, Transform::kJvp);
      CheckBitwise(tangent, args, LevelsOf(tangent));
    }
  }
}

TEST_CASE("relations: compiled gradients") {
  for (const RelationProgram& p : RelationPrograms()) {
    const ir::Module ssa = LowerText(p.text, "f");
    const std::vector<ir::Type>& results = ssa.Get(ssa.entry).results;
    if (results.size() != 1 || !results[0].IsScalar()) continue;
    SECTION(p.name) {
      CheckBitwise(Derived(ssa, Transform::kValueAndGrad), WithRelations(p.relations, p.rest));
    }
  }
}

// PULLBACK_SEED is the seed, PULLBACK_PROGRAMS how many conditions.
TEST_CASE("relations: compiled random conditions") {
  std::mt19937 random(Setting("PULLBACK_SEED", 5));
  const uint32_t rounds = Setting("PULLBACK_PROGRAMS", 1);
  for (uint32_t round = 0; round < rounds; ++round) {
    for (const auto& programs : {RandomPairPrograms(random), RandomTriplePrograms(random)}) {
      const std::vector<Tensor> args = RandomRelationArguments(random);
      for (const RandomRelationProgram& p : programs) {
        const ir::Module ssa = LowerText(p.statement, "f");
        StatusOr<eval::Result> result = eval::Run(ssa, args);
        REQUIRE(result.ok());
        if (result->trap) continue;
        INFO(p.statement);
        CheckBitwise(Derived(ssa, Transform::kValue), args);
        CheckBitwise(Derived(ssa, Transform::kValueAndGrad), args);
      }
    }
  }
}

}  // namespace
}  // namespace pullback::testing
