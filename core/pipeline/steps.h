// What several stages of the pipeline are made of.
#pragma once

#include <vector>

#include "core/base/status.h"
#include "core/ir/ir.h"
#include "core/pipeline/pass.h"

namespace pullback::pipeline {

Status InlineAndSimplify(PassRunner& passes, ir::Module& m);

// Until no derivative operator is left.
Status DeriveOperators(PassRunner& passes, ir::Module& m, bool optimise);

// Loops of blocks: what can go or become one turn goes. derived: statements move out of them, and short ones
// become straight-line code; before, the order in which cotangents are summed is that of the loop's turns.
Status ImproveLoops(PassRunner& passes, ir::Module& m, bool derived);
// Statements that are the same in every turn of a loop move in front of it.
Status MoveInvariants(PassRunner& passes, ir::Module& m);
// What is done before derivatives are taken.
Status PrepareLoops(PassRunner& passes, ir::Module& m);

// Comes first of what makes less: once fused, readers of both parts are readers of each.
Status SplitConcats(PassRunner& passes, ir::Module& m);
// Before derivatives are taken, so that they cost what is left of the program: arrays of which only the diagonal is
// read are made there alone, and such as are stored at tuples are not made where their readers can go by these.
Status MakeLess(PassRunner& passes, ir::Module& m);

// What is made of the rows of points for each pair of them is made for each point (core/tensor/rows_at_points.cc): before
// derivatives are taken, so that their cotangents are of points, too.
Status RowsAtPoints(PassRunner& passes, ir::Module& m);

// Arrays that are read by columns are made by columns (core/tensor/turn_arrays.cc): before derivatives are taken, so that
// these are by columns, too, and where nothing is left to fuse.
Status TurnArrays(PassRunner& passes, ir::Module& m);

// Equal reductions and scans of a block are one (core/tensor/share_statements.cc).
Status ShareStatements(PassRunner& passes, ir::Module& m);

// Statements go to the blocks that need them (core/opt/sink.cc), once those that share what they are made of are one.
Status SinkStatements(PassRunner& passes, ir::Module& m);

// What is made of rows some rows away (core/tensor/rows_as_made.cc).
Status RowsAsMade(PassRunner& passes, ir::Module& m);

// What reads a large array that another block makes is made there, where it is smaller (core/tensor/raise_readers.cc).
Status RaiseReaders(PassRunner& passes, ir::Module& m);

// Arrays that loops read by rows are made a few rows at a time (core/opt/turn_blocks.cc), in nests of loops, too.
Status BlockTurns(PassRunner& passes, ir::Module& m);

// Numbers made of totals multiply what they multiply at the end (core/tensor/factor_seeds.cc), then all is fused once more.
Status FactorSeeds(PassRunner& passes, ir::Module& m);

// Statements that make and read arrays larger than the function's own run over one index first
// (core/tensor/common_rows.cc): where nothing is left to derive or fuse.
Status CommonRows(PassRunner& passes, ir::Module& m);

// What is stored in another way, or is cheap to compute again, is not kept (core/tensor/read_clipped.cc, repeat_cheap.cc):
// where bodies hold no calls any more.
Status KeepFewer(PassRunner& passes, ir::Module& m);

// Normalising and fusing; each of the `rounds` eliminates what the one before has uncovered.
Status NormaliseAndFuse(PassRunner& passes, ir::Module& m, int rounds);

inline constexpr int kSeededRounds = 4;  // of Jacobians with all seeds at once

// Whether none of these arrays, which have an axis of seeds, is left in the entry: each block is one statement.
bool IsCompact(const ir::Module& m, const std::vector<ir::Value>& seeded);

}  // namespace pullback::pipeline
