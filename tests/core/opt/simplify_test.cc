// The clean-up passes: tests/filetests/<pass>/*.ir.
#include "core/opt/simplify.h"

#include <catch2/catch.hpp>

#include "core/eval/interpreter.h"
#include "core/ir/fingerprint.h"
#include "tests/support/derivatives.h"
#include "tests/support/pass_files.h"

namespace pullback::opt {
namespace {

using testing::OverFunctions;
using testing::RunPassFiles;

TEST_CASE("opt: FoldConstants") {
  RunPassFiles("fold_constants", OverFunctions([](ir::Function& f) { FoldConstants(f); }));
}

TEST_CASE("opt: EliminateDeadCode") {
  RunPassFiles("eliminate_dead_code", OverFunctions([](ir::Function& f) { EliminateDeadCode(f); }));
}

// A pass that says it changed something, again and again, costs every program further rounds.
TEST_CASE("opt: nothing is left for any pass in what is simplified, nor do values pile up") {
  ir::Module m = testing::ParseIr(R"(entry @f
fn @f(%x: [*]f64, %y: [*]f64, %c: bool) -> f64 {
b0:
  %n = dim %x, 0
  %m = dim %y, 0
  %same = eq %n, %m
  check %same, size_mismatch, %n, %m
  br %c, b1, b2
b1:
  %v = index %x[%n - 1]
  %u = select %c, %v, 0.0
  check %same, index, %n, %m
  ret add(%u, 3.0)
b2:
  ret 2.0
})");
  REQUIRE(Simplify(m).ok());
  ir::Function& f = m.Get(m.entry);
  const size_t values = f.values.size();
  CHECK_FALSE(SimplifyControlFlow(f));
  CHECK_FALSE(PropagateConditions(f));
  CHECK_FALSE(FoldConstants(f));
  CHECK_FALSE(EliminateCommonSubexpressions(f));
  CHECK_FALSE(EliminateDeadCode(f));
  CHECK(f.values.size() == values);
}

TEST_CASE("opt: Simplify remembers what it has nothing to do in, and leaves that alone") {
  const std::string text = R"(entry @f
fn @f(%x: f64) -> f64 {
b0:
  %unused = sin %x
  ret %x
})";
  SettledFunctions settled;
  RewriteOptions options;
  options.settled = &settled;
  ir::Module m = testing::ParseIr(text);
  REQUIRE(Simplify(m, options).ok());
  CHECK(m.Get(m.entry).blocks[0].insts.empty());
  CHECK(settled.size() == 1);
  CHECK(settled.contains(ir::Fingerprint(m.Get(m.entry))));

  ir::Module same = testing::ParseIr(text);
  settled = {ir::Fingerprint(same.Get(same.entry))};
  REQUIRE(Simplify(same, options).ok());
  CHECK(same.Get(same.entry).blocks[0].insts.size() == 1);
}

TEST_CASE("opt: EliminateCommonSubexpressions") {
  RunPassFiles("eliminate_common_subexpressions",
               OverFunctions([](ir::Function& f) { EliminateCommonSubexpressions(f); }));
}

TEST_CASE("opt: SimplifyControlFlow") {
  RunPassFiles("simplify_control_flow",
               OverFunctions([](ir::Function& f) { SimplifyControlFlow(f); }));
}

TEST_CASE("opt: PropagateConditions") {
  RunPassFiles("propagate_conditions",
               OverFunctions([](ir::Function& f) { PropagateConditions(f); }));
}

TEST_CASE("opt: CheckSizesEarly") {
  RunPassFiles("check_sizes_early", OverFunctions([](ir::Function& f) { CheckSizesEarly(f); }));
}

TEST_CASE("opt: a size that is checked early is that of the statement over it") {
  const std::string text = R"(entry @f
fn @f(%m: i64) -> f64 {
b0:
  %c = max %m, 0
  %a = each(j < %c) { %u = cast %j : f64 } sum []: %u !4
  %s = each(i < %m) { } sum []: %a !5
  ret %s
})";
  ir::Module m = testing::ParseIr(text);
  REQUIRE(Simplify(m).ok());
  for (const ir::Inst& inst : m.Get(m.entry).blocks[0].insts) {
    if (inst.each) CHECK(inst.each->indices[0].extent == m.Get(m.entry).params()[0]);
  }
  ir::Module as_written = testing::ParseIr(text);
  for (ir::Module* either : {&as_written, &m}) {
    const auto run = eval::Run(*either, {Tensor::I64(-3)});
    REQUIRE(run.ok());
    REQUIRE(run->trap);
    CHECK(run->trap->kind == ir::TrapKind::kNegativeSize);
    CHECK(run->trap->loc == 5);
    CHECK(run->trap->a == -3);
  }
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

TEST_CASE("opt: SinkStatements") {
  RunPassFiles("sink_statements", OverFunctions([](ir::Function& f) { SinkStatements(f); }));
}

TEST_CASE("opt: SplitJoins") {
  RunPassFiles("split_joins", OverFunctions([](ir::Function& f) { SplitJoins(f); }));
}

TEST_CASE("opt: JoinLoops") {
  RunPassFiles("join_loops", [](ir::Module& m) {
    for (auto& f : m.functions) JoinLoops(m, *f);
    return Status();
  });
}

TEST_CASE("opt: RaiseLoops") {
  RunPassFiles("raise_loops", [](ir::Module& m) {
    for (auto& f : m.functions) RaiseLoops(m, *f);
    return Simplify(m);
  });
}

TEST_CASE("opt: StreamRows") {
  RunPassFiles("stream_rows", [](ir::Module& m) {
    for (auto& f : m.functions) StreamRows(m, *f);
    return Simplify(m);
  });
}

TEST_CASE("opt: JoinMakers") {
  RunPassFiles("join_makers", [](ir::Module& m) {
    for (auto& f : m.functions) JoinMakers(m, *f);
    return Simplify(m);
  });
}

TEST_CASE("opt: ReadCarriedRows") {
  RunPassFiles("carried_rows", [](ir::Module& m) {
    for (auto& f : m.functions) ReadCarriedRows(*f);
    return Simplify(m);
  });
}

TEST_CASE("opt: CountUp, ReadRowsForwards") {
  RunPassFiles("rows_from_end", [](ir::Module& m) {
    for (auto& f : m.functions) {
      CountUp(m, *f);
      ReadRowsForwards(m, *f);
    }
    return Simplify(m);
  });
}

TEST_CASE("opt: MakeRowsInTurns") {
  RunPassFiles("rows_in_turns", [](ir::Module& m) {
    for (auto& f : m.functions) MakeRowsInTurns(m, *f);
    return Simplify(m);
  });
}

TEST_CASE("opt: CloseLoops") {
  RunPassFiles("close_loops", OverFunctions([](ir::Function& f) {
                 std::optional<ir::Function> before;
                 CloseLoops(f, before);
               }));
}

TEST_CASE("opt: BlockTurns") {
  RunPassFiles("block_turns", [](ir::Module& m) {
    for (auto& f : m.functions) BlockTurns(m, *f);
    return Simplify(m);
  });
}

TEST_CASE("opt: FuseReads") {
  RunPassFiles("fuse_reads", OverFunctions([](ir::Function& f) { FuseReads(f, false); }));
}

TEST_CASE("opt: ReadTermsOfSums") { RunPassFiles("read_terms", OverFunctions(ReadTermsOfSums)); }

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
