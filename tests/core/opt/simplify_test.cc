// The clean-up passes: tests/filetests/<pass>/*.ir.
#include "core/opt/simplify.h"

#include <catch2/catch.hpp>

#include "tests/support/pass_files.h"

namespace pullback::opt {
namespace {

using testing::OverFunctions;
using testing::RunPassFiles;

TEST_CASE("opt: FoldConstants") {
  RunPassFiles("fold_constants", OverFunctions([](ir::Function& f) { FoldConstants(f); }));
}

TEST_CASE("opt: EliminateDeadCode") {
  RunPassFiles("eliminate_dead_code", OverFunctions(EliminateDeadCode));
}

TEST_CASE("opt: EliminateCommonSubexpressions") {
  RunPassFiles("eliminate_common_subexpressions", OverFunctions(EliminateCommonSubexpressions));
}

TEST_CASE("opt: SimplifyControlFlow") {
  RunPassFiles("simplify_control_flow", OverFunctions(SimplifyControlFlow));
}

TEST_CASE("opt: PropagateConditions") {
  RunPassFiles("propagate_conditions",
               OverFunctions([](ir::Function& f) { PropagateConditions(f); }));
}

TEST_CASE("opt: NormaliseLoops") {
  RunPassFiles("normalise_loops", [](ir::Module& m) {
    PB_RETURN_IF_ERROR(Simplify(m));
    for (auto& f : m.functions) NormaliseLoops(*f, true);
    return Simplify(m);
  });
}

TEST_CASE("opt: FloatInvariants") {
  RunPassFiles("float_invariants", OverFunctions([](ir::Function& f) { FloatInvariants(f); }));
}

TEST_CASE("opt: FuseReads") {
  RunPassFiles("fuse_reads", OverFunctions([](ir::Function& f) { FuseReads(f, false); }));
}

TEST_CASE("opt: MergeReaders") {
  RunPassFiles("merge_readers", OverFunctions([](ir::Function& f) { MergeReaders(f); }));
}

TEST_CASE("opt: MergeIntoProducers") {
  RunPassFiles("merge_into_producers",
               OverFunctions([](ir::Function& f) { MergeIntoProducers(f); }));
}

TEST_CASE("opt: InlineBodies") {
  RunPassFiles("inline_bodies", [](ir::Module& m) {
    InlineBodies(m);
    return Simplify(m);
  });
}

TEST_CASE("opt: InlineCalls") {
  RunPassFiles("inline_calls", [](ir::Module& m) { return InlineCalls(m); });
}

TEST_CASE("opt: LowerStrongMultiplies") {
  RunPassFiles("lower_strong_multiplies", LowerStrongMultiplies);
}

TEST_CASE("opt: MoveElements") {
  RunPassFiles("move_elements", OverFunctions([](ir::Function& f) { MoveElements(f); }));
}

TEST_CASE("opt: ThreadBoxes") { RunPassFiles("thread_boxes", ThreadBoxes); }

}  // namespace
}  // namespace pullback::opt
