// The clean-up passes. None makes a program slower or changes a value, except that a zero may lose its
// sign in `smul`; a trap of a value nobody needs may vanish. Those that take RewriteOptions apply rules of the table
// (core/opt/rules.h), and leave a program as it is where they get no fuel for it.
#pragma once

#include <optional>

#include "core/base/status.h"
#include "core/ir/ir.h"
#include "core/opt/rules.h"

namespace pullback::opt {

// Folds constants, applies the rewrite rules that have patterns (core/opt/rules.h); affine subscripts absorb
// sums and constants. True: changed.
bool FoldConstants(ir::Function& f, const RewriteOptions& options = {});

// Removes what no result, check or branch needs: instructions, body instructions, results of tensor
// statements, block parameters. True: changed.
bool EliminateDeadCode(ir::Function& f, const RewriteOptions& options = {});

// One instruction for equal pure ones where the first dominates the second; in bodies likewise.
bool EliminateCommonSubexpressions(ir::Function& f, const RewriteOptions& options = {});

// Unreachable blocks, branches on constants or to one target, straight-line pairs of blocks, block
// parameters that always get one value, also where loops pass it on and on.
bool SimplifyControlFlow(ir::Function& f, const RewriteOptions& options = {});

// What a branch or a check has decided is known in everything it dominates: the condition is a constant,
// integers found equal are one value. True: changed.
bool PropagateConditions(ir::Function& f, const RewriteOptions& options = {});

// What is computed over max(m, 0) for a statement over m comes behind a check that m is not negative. True: changed.
bool CheckSizesEarly(ir::Function& f, const RewriteOptions& options = {});

// Loops of blocks (Figure 8e of dF~): those that are never entered or leave nothing behind go, those that do
// something in one turn only become that turn. Those of few turns become straight-line code as well: that carry matrices, whose
// rows can be made through all turns then; peel: any (after differentiation: what is added to a cotangent in which order is the
// loop's until then). True: changed.
bool NormaliseLoops(ir::Function& f, bool peel, const RewriteOptions& options = {});

// Tensor statements that compute the same in every turn of a loop of blocks are run once in front of it, if it is
// entered at all. Comes after differentiation, likewise. True: changed.
bool FloatInvariants(ir::Function& f, const RewriteOptions& options = {});

// Statements whose values only a later block needs are evaluated there, behind the control flow in between (sink.cc).
// Comes before differentiation. True: changed.
bool SinkStatements(ir::Function& f);
// What one path to a block adds to a value that a statement gives is added in the block (split_joins.cc). True: changed.
bool SplitJoins(ir::Function& f);
// Loops that fill arrays, each turn another part, become statements (raise_loops.cc). Comes before differentiation. True: changed.
bool RaiseLoops(ir::Module& m, ir::Function& f);
// A loop that takes rows which a loop in front of it makes becomes one with that (join_loops.cc). Comes before differentiation. True:
// changed.
bool JoinMakers(const ir::Module& m, ir::Function& f);
// Arrays that a loop's turns fill, a row each, are read row by row by the turns (stream_rows.cc). Comes before differentiation. True:
// changed.
bool StreamRows(ir::Module& m, ir::Function& f);
// Loops over the same turns that take rows of one array become one (join_loops.cc). Comes before differentiation. True: changed.
bool JoinLoops(const ir::Module& m, ir::Function& f);
// Rows that a loop's turns read and hand on to the next one are read by that (carried_rows.cc). Comes before differentiation. True:
// changed.
bool ReadCarriedRows(ir::Function& f);
// Loops that count down to where they take rows of arrays count up (rows_from_end.cc). Comes before differentiation. True: changed.
bool CountUp(ir::Module& m, ir::Function& f);
// Arrays of which a loop's turns take rows next to each other from the end are made from the end (rows_from_end.cc). Comes before
// differentiation. True: changed.
bool ReadRowsForwards(ir::Module& m, ir::Function& f);
// Arrays of which each turn of a loop reads its row alone, a matrix, are made in the turns (rows_in_turns.cc). Comes before
// differentiation. True: changed.
bool MakeRowsInTurns(ir::Module& m, ir::Function& f);
// What is read behind loops that turns may leave, of what these carry, is handed on where they are left (close_loops.cc). `before`
// becomes what the function was if it may have changed.
void CloseLoops(ir::Function& f, std::optional<ir::Function>& before);
// Arrays of which each turn of a loop reads its row alone are made a block of rows at a time (turn_blocks.cc). Comes before
// differentiation. True: changed.
bool BlockTurns(ir::Module& m, ir::Function& f);

// Parts of statements' bodies that are dear and the same in every turn of a loop become statements of their own, which
// FloatInvariants moves. How many.
size_t SplitInvariants(ir::Function& f, const RewriteOptions& options = {});

// Reads of an array that a `gen` in the same block makes become that gen's body, where the subscripts
// are proven in range. Never more operations: the body has none, or the array has no other reader and
// the reader visits every element at most once. only_free: just the first kind (before
// differentiation, so that what the reverse needs is kept rather than computed again).
bool FuseReads(ir::Function& f, bool only_free, const RewriteOptions& options = {});
Status FuseStatements(ir::Module& module, bool only_free,
                      const RewriteOptions& options = {});  // every function, then Simplify

// Reads of sums of arrays become sums of reads (read_terms.cc). True: changed.
bool ReadTermsOfSums(ir::Function& f);

// Two statements over one space that are the only readers of an array which a gen in the same block makes become one
// statement, so that FuseReads can do without the array. True: changed.
bool MergeReaders(ir::Function& f, const RewriteOptions& options = {});

// Sums over a few points, of small constant extents, become straight-line code (unroll.cc), then Simplify.
Status UnrollStatements(ir::Module& module, const RewriteOptions& options = {});

// Statements over one space of which the later only reads, at its own point, what the earlier stores become one
// where the earlier calls a function (the partials that mixed mode caches, and their use): what is read is the value
// itself. True: changed.
bool MergeIntoProducers(ir::Function& f, const RewriteOptions& options = {});

// All of the above but fusion until nothing changes (bounded), over every function; then functions that the
// entry does not reach are dropped.
Status Simplify(ir::Module& module, const RewriteOptions& options = {});

// Calls (outside bodies) of functions that do not reach themselves are replaced by their text: always where
// that is small or has no other call, else as long as its copies are few and small (inline.cc has the bounds), and
// the function they are in stays under `max_insts`.
inline constexpr size_t kMostInsts = 20000;
Status InlineCalls(ir::Module& module, size_t max_insts = kMostInsts,
                   const RewriteOptions& options = {});

// Calls in bodies of functions that branch but do not loop are replaced by their text, guarded. Comes after the
// last differentiation, which sees calls (mixed mode). True: changed.
bool InlineBodies(ir::Module& module, const RewriteOptions& options = {});

// smul(w, p) -> select(w == 0, 0, w * p); a plain w * p in contractions (sums of products of reads, as
// BLAS computes them: there 0 * inf is NaN). Comes after the last differentiation.
Status LowerStrongMultiplies(ir::Module& module);

// Checkpointed calls of a function by itself with which it ends become jumps to its start: a schedule with one
// snapshot goes back as many times as its loop is long. Comes after the last differentiation, before RemoveMarkers.
Status LoopTailCalls(ir::Module& module);

// Removes stop_gradient, the flag of checkpointed calls, how many states of loops are kept and the derivative
// rules of functions. Comes after the last differentiation.
Status RemoveMarkers(ir::Module& module);

// Whether a call is kept from inlining by a marker: checkpointed, or of a function with derivative rules.
bool HasBarriers(const ir::Module& module);

// An element of a list that is read and later replaced in the same block is moved out of the list in between,
// so that what it holds is changed in place. True: changed.
bool MoveElements(ir::Function& f);

// Boxes become indices into lists that are threaded through the code (boxes.cc). Comes first: no other
// pass knows boxes. UNIMPLEMENTED where a box is an argument or result of the entry, is differentiated by, or
// meets a derivative rule.
Status ThreadBoxes(ir::Module& module);

// Keeps the functions that the entry reaches, in order of first call.
void DropUnreachedFunctions(ir::Module& module);

}  // namespace pullback::opt
