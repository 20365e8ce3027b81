// The normal form of tensor statements: tests/filetests/<pass>/*.ir.
#include "core/tensor/normalise.h"

#include <catch2/catch.hpp>

#include "tests/support/pass_files.h"

namespace pullback::tensor {
namespace {

using testing::OverFunctions;
using testing::RunPassFiles;

TEST_CASE("tensor: SimplifyPredicates") {
  RunPassFiles("simplify_predicates", OverFunctions(SimplifyPredicates));
}

TEST_CASE("tensor: SolveExists") { RunPassFiles("solve_exists", OverFunctions(SolveExists)); }

TEST_CASE("tensor: HoistGuards") { RunPassFiles("hoist_guards", OverFunctions(HoistGuards)); }

TEST_CASE("tensor: EliminatePinnedIndices") {
  RunPassFiles("eliminate_pinned_indices", OverFunctions(EliminatePinnedIndices));
}

TEST_CASE("tensor: AccumulateInPlace") {
  RunPassFiles("accumulate_in_place", OverFunctions(AccumulateInPlace));
}

TEST_CASE("tensor: GatherSums") { RunPassFiles("gather_sums", OverFunctions(GatherSums)); }

}  // namespace
}  // namespace pullback::tensor
