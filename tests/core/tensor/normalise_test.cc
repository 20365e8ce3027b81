// The normal form of tensor statements: tests/filetests/<pass>/*.ir.
#include "core/tensor/normalise.h"

#include <catch2/catch.hpp>

#include "tests/support/derivatives.h"
#include "tests/support/pass_files.h"

namespace pullback::tensor {
namespace {

using testing::OverFunctions;
using testing::RunPassFiles;

TEST_CASE("tensor: SimplifyPredicates") {
  RunPassFiles("simplify_predicates", OverFunctions(SimplifyPredicates));
}

TEST_CASE("tensor: SolveExists") { RunPassFiles("solve_exists", OverFunctions(SolveExists)); }

TEST_CASE("tensor: a quantifier that is solved keeps the traps of its sizes") {
  ir::Module module = testing::ParseIr(R"(
fn @f(%n: i64, %m: i64, %h: i64) -> ([*]i64, i64) {
b0:
  %y = each(i < %n, k < %m) {
    %p = holds (%k == %h)
    %c = cast %p : i64
  } max [%i] of (%n): %c !5
  %s = each(k < %m) {
    %p = holds (%k == %h)
    %q = not %p
    %c = cast %q : i64
  } min []: %c !6
  ret %y, %s
}
)");
  const auto run = [&](int64_t n, int64_t m) {
    const auto result = eval::Run(module, {Tensor::I64(n), Tensor::I64(m), Tensor::I64(1)});
    REQUIRE(result.ok());
    return *result;
  };
  const int64_t sizes[][2] = {{2, -3}, {-2, 3}, {-2, -3}, {2, 3}, {2, 1}, {2, 0}, {0, -1}};
  std::vector<eval::Result> before;
  for (const auto& [n, m] : sizes) before.push_back(run(n, m));
  SolveExists(module.Get(module.entry));
  for (const ir::Inst& inst : module.Get(module.entry).blocks[0].insts) {
    CHECK((!inst.each || inst.each->indices.size() == 1));
  }
  for (size_t k = 0; k < before.size(); ++k) {
    const eval::Result after = run(sizes[k][0], sizes[k][1]);
    REQUIRE(after.trap.has_value() == before[k].trap.has_value());
    if (after.trap) {
      CHECK(after.trap->kind == before[k].trap->kind);
      CHECK(after.trap->loc == before[k].trap->loc);
      // Of two negative sizes either may be named.
      CHECK((after.trap->a == sizes[k][0] || after.trap->a == sizes[k][1]));
      if (sizes[k][0] >= 0 || sizes[k][1] >= 0) CHECK(after.trap->a == before[k].trap->a);
    } else {
      for (size_t r = 0; r < 2; ++r) CHECK(after.values[r].data == before[k].values[r].data);
    }
  }
}

TEST_CASE("tensor: ReadForwards") {
  RunPassFiles("read_forwards", OverFunctions([](ir::Function& f) { ReadForwards(f); }));
}
TEST_CASE("tensor: HoistGuards") { RunPassFiles("hoist_guards", OverFunctions(HoistGuards)); }

TEST_CASE("tensor: EliminatePinnedIndices") {
  RunPassFiles("eliminate_pinned_indices",
               OverFunctions([](ir::Function& f) { EliminatePinnedIndices(f); }));
}

TEST_CASE("tensor: LookUpIndices") {
  RunPassFiles("look_up_indices", OverFunctions(LookUpIndices));
}

TEST_CASE("tensor: TurnArrays") {
  RunPassFiles("turn_arrays", OverFunctions([](ir::Function& f) { TurnArrays(f); }));
}

TEST_CASE("tensor: CommonRows") {
  RunPassFiles("common_rows", OverFunctions([](ir::Function& f) { CommonRows(f); }));
}

TEST_CASE("tensor: RepeatCheap") {
  RunPassFiles("repeat_cheap", OverFunctions([](ir::Function& f) { RepeatCheap(f); }));
}

TEST_CASE("tensor: ReadClipped") {
  RunPassFiles("read_clipped", OverFunctions([](ir::Function& f) { ReadClipped(f); }));
}

TEST_CASE("tensor: ScanByKeys") {
  RunPassFiles("scan_by_keys", [](ir::Module& m) {
    ScanByKeys(m);
    return Status();
  });
}

// What is read is read only where there was a point; the size that nothing has any more still traps.
TEST_CASE("tensor: an index that is looked up keeps the traps") {
  const ir::Module before = testing::ParseIr(R"(
fn @f(%n: i64, %m: i64, %k: [*]i64) -> f64 {
b0:
  %s = each(j < %m, i < %n) {
    %a = index %k[%i] !3
    %c = eq %a, %j
    %v = cast %i : f64 if %c
  } sum []: %v if %c !5
  ret %s
}
)");
  ir::Module after = before.Clone();
  LookUpIndices(after.Get(after.entry));
  const auto keys = Tensor::Of<int64_t>(DType::kI64, {2}, {1, 0});
  for (const int64_t n : {0, 2, 3}) {
    for (const int64_t m : {-1, 0, 1, 2}) {
      const std::vector<Tensor> args = {Tensor::I64(n), Tensor::I64(m), keys};
      const auto was = eval::Run(before, args), is = eval::Run(after, args);
      REQUIRE((was.ok() && is.ok()));
      CAPTURE(n, m);
      REQUIRE(is->trap.has_value() == was->trap.has_value());
      CHECK(is->trap.has_value() == (m < 0 || (n == 3 && m > 0)));
      if (is->trap) {
        CHECK(is->trap->kind == was->trap->kind);
        CHECK(is->trap->loc == was->trap->loc);
        CHECK(is->trap->a == was->trap->a);
      } else {
        CHECK(is->values[0].data == was->values[0].data);
      }
    }
  }
}

TEST_CASE("tensor: ReadExtrema") {
  RunPassFiles("read_extrema", OverFunctions([](ir::Function& f) { ReadExtrema(f); }));
}

TEST_CASE("tensor: AddUpScatters") {
  RunPassFiles("add_up_scatters", OverFunctions(AddUpScatters));
}

TEST_CASE("tensor: AccumulateInPlace") {
  RunPassFiles("accumulate_in_place", OverFunctions(AccumulateInPlace));
}

TEST_CASE("tensor: CompactArrays") { RunPassFiles("compact_arrays", OverFunctions(CompactArrays)); }

TEST_CASE("tensor: SplitSums") {
  RunPassFiles("split_sums", OverFunctions([](ir::Function& f) { SplitSums(f, true); }));
}

TEST_CASE("tensor: FreeGuardedReads") {
  RunPassFiles("free_guarded_reads", OverFunctions(FreeGuardedReads));
}

TEST_CASE("tensor: SplitIndices") { RunPassFiles("split_indices", OverFunctions(SplitIndices)); }

TEST_CASE("tensor: FactorSums") { RunPassFiles("factor_sums", OverFunctions(FactorSums)); }

TEST_CASE("tensor: SplitReductions") {
  RunPassFiles("split_reductions", OverFunctions([](ir::Function& f) {
                 if (SplitReductions(f)) ReduceOnce(f);
               }));
}

TEST_CASE("tensor: FollowTuples") { RunPassFiles("follow_tuples", OverFunctions(FollowTuples)); }

TEST_CASE("tensor: KeepDiagonals") { RunPassFiles("keep_diagonals", OverFunctions(KeepDiagonals)); }

TEST_CASE("tensor: PinTakenRows") {
  RunPassFiles("pin_taken", OverFunctions([](ir::Function& f) { PinTakenRows(f); }));
}

TEST_CASE("tensor: KeepRows") { RunPassFiles("keep_rows", OverFunctions(KeepRows)); }

TEST_CASE("tensor: PlaceValues") { RunPassFiles("place_values", OverFunctions(PlaceValues)); }
TEST_CASE("tensor: SplitConcats") { RunPassFiles("split_concats", OverFunctions(SplitConcats)); }
TEST_CASE("tensor: MakeRowsAsMade") { RunPassFiles("rows_as_made", OverFunctions(MakeRowsAsMade)); }
TEST_CASE("tensor: SplitClamps") { RunPassFiles("split_clamps", OverFunctions(SplitClamps)); }
TEST_CASE("tensor: MakeRowsAlone") { RunPassFiles("rows_alone", OverFunctions(MakeRowsAlone)); }
TEST_CASE("tensor: MakeRowsInTurn") { RunPassFiles("rows_in_turn", OverFunctions(MakeRowsInTurn)); }
TEST_CASE("tensor: MakeRowsAsRead") { RunPassFiles("rows_as_read", OverFunctions(MakeRowsAsRead)); }
TEST_CASE("tensor: MakeElementsAlone") {
  RunPassFiles("elements_alone", OverFunctions(MakeElementsAlone));
}
TEST_CASE("tensor: SplitTotals") { RunPassFiles("split_totals", OverFunctions(SplitTotals)); }
TEST_CASE("tensor: MakeFixedRows") { RunPassFiles("fixed_rows", OverFunctions(MakeFixedRows)); }
TEST_CASE("tensor: MakeRowsWhereRead") {
  RunPassFiles("rows_where_read", OverFunctions(MakeRowsWhereRead));
}
TEST_CASE("tensor: SplitRings") { RunPassFiles("split_rings", OverFunctions(SplitRings)); }
TEST_CASE("tensor: RaiseReaders") { RunPassFiles("raise_readers", OverFunctions(RaiseReaders)); }
TEST_CASE("tensor: SendSums") { RunPassFiles("send_sums", OverFunctions(SendSums)); }

TEST_CASE("tensor: RecomputeRows") { RunPassFiles("recompute_rows", OverFunctions(RecomputeRows)); }

TEST_CASE("tensor: ShareStatements") {
  RunPassFiles("share_statements", OverFunctions(ShareStatements));
}

TEST_CASE("tensor: ShareNegatives") {
  RunPassFiles("share_negatives", OverFunctions(ShareNegatives));
}

TEST_CASE("tensor: RowsAtPoints") {
  RunPassFiles("rows_at_points", [](ir::Module& m) {
    for (auto& f : m.functions) RowsAtPoints(m, *f);
    return Status();
  });
}
TEST_CASE("tensor: LiftDear") { RunPassFiles("lift_dear", OverFunctions(LiftDear)); }

TEST_CASE("tensor: FactorSeeds") { RunPassFiles("factor_seeds", OverFunctions(FactorSeeds)); }

TEST_CASE("tensor: GatherSums") { RunPassFiles("gather_sums", OverFunctions(GatherSums)); }

}  // namespace
}  // namespace pullback::tensor
