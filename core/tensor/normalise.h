// Normal form of tensor statements (Bernstein et al., section 5 and 6): predicates in lowest terms, guards
// become `where`, equalities pin indices, sums that scatter become gathers where an index can be solved for.
#pragma once

#include <functional>
#include <vector>

#include "core/base/status.h"
#include "core/ir/ir.h"

namespace pullback::tensor {

// Every function of the module. Needs no particular input form; gives statements in which
//  - a predicate that guards a whole statement stands in `where` ([p]·Σ e = Σ [p]·e, rule 5.28);
//  - no constraint of `where` follows from the box or from another one, and none is an equality that a unit
//    coefficient solves for an index: the index is gone, its range stays as constraints (elimination of
//    Σ_j [j = a]). An equality of two indices, 2i = 3j, leaves one index that steps along it;
//  - no index is searched for that what is read says, [k[i] == j]: the result is a scatter, or a gather;
//  - exists over indices of a box is solved for them where the algebra can; elsewhere it is a reduction at
//    run time;
//  - a statement whose predicate no point can satisfy is zeros;
//  - a cheap sum into x[a(i)] is a statement of its own that gathers (rule 6.28's reading of the
//    transpose), if every subscript has an index to solve for; other results stay together.
// may_pin: asked before each index that an equality solves for goes (core/opt/rules.h counts them, and has fuel);
// without one all go.
using MayPin = std::function<bool()>;
Status NormaliseTensors(ir::Module& module, const MayPin& may_pin = {});

// --- the passes, each over one function
// True: a comparison with an extremum became a conjunction, which HoistGuards may put in front of its statement.
bool SimplifyPredicates(ir::Function& f);
void SolveExists(ir::Function& f);
void HoistGuards(ir::Function& f);
void EliminatePinnedIndices(ir::Function& f, const MayPin& may_pin = {});
// An index that is asked for as quotient and remainder alone is two. Whether there was one.
bool SplitIndices(ir::Function& f);
// Integers that a guard alone keeps from being read, and equations of them, are there everywhere.
void FreeGuardedReads(ir::Function& f);
// An index that is equal to what the body reads is gone: [k[i] == j].
void LookUpIndices(ir::Function& f);
// Of these statements, which may use what `f` defines.
void LookUpIndicesOf(std::vector<ir::Inst>& insts, ir::Function& f);
void GatherSums(ir::Function& f);
// A sum whose subscripts tell its points apart stores: each element gets one term.
void StoreSingleTerms(ir::Function& f);

// Scans over pairs of which the elements are read that data says are made for these alone (key_scans.cc). Comes where
// nothing is left to derive: what it makes is a loop. True: changed.
bool ScanByKeys(ir::Module& module);

// These come where nothing is left to fuse. True: changed.
// Arrays that hold less than their elements are stored as what they hold (compact.cc).
bool CompactArrays(ir::Function& f);
// Statements of which equations pick the rows that they read of arrays of which turns take rows lose the indices that these give
// (pin_taken.cc). Comes before derivatives, in front of what lets turns make rows. True: changed.
bool PinTakenRows(ir::Function& f, const MayPin& may_pin = {});
// Of these, reductions that are the same along an axis.
bool ReduceOnce(ir::Function& f);
// Arrays of which a diagonal is read, and nothing else, are made there alone.
bool KeepDiagonals(ir::Function& f);
// Arrays of which one row is read for each point of other axes, as data say, are made of these rows alone (keep_rows.cc).
bool KeepRows(ir::Function& f);
// Arrays of which readers take rows at a place that runs with their index are made at these places (rows_as_read.cc). Comes
// before derivatives are taken.
bool MakeRowsAsRead(ir::Function& f);
// Sums over the rows of a ring become those over its inner rows and over its ends (split_rings.cc). Comes before derivatives, in front
// of both others.
bool SplitRings(ir::Function& f);
// Arrays that are read from the end alone are made from the end (read_forwards.cc). True: changed.
bool ReadForwards(ir::Function& f);
// Rows that are held at the ends of an axis, reflected there, others by a condition, or around a ring are those of an array with such
// ends; subscripts that conditions decide are what they are there (split_clamps.cc). Comes in front of:
bool SplitClamps(ir::Function& f);
// Rows that are read at one place by all points are made once more for these (fixed_rows.cc). Comes before derivatives, too.
bool MakeFixedRows(ir::Function& f);
// Elements that statements take of the rows of an array of which turns of loops take rows are made once more for these
// (elements_alone.cc). Comes before derivatives, in front of what lets turns make rows.
bool MakeElementsAlone(ir::Function& f);
// Totals over the rows of large arrays that other blocks make are of what each row gives (split_totals.cc). Comes before derivatives,
// in front of what lets turns make rows.
bool SplitTotals(ir::Function& f);
// Large arrays put behind each other are not put together where what is made of them is made of each (split_concats.cc). Comes
// before derivatives are taken.
bool SplitConcats(ir::Function& f);
// Arrays of which a part of the rows is read, as conditions of their readers say, are made of these (rows_where_read.cc). Comes in front
// of it.
bool MakeRowsWhereRead(ir::Function& f);
// What is made of rows of a large array some rows away is made by the array's own rows, and moved (rows_as_made.cc). Comes behind
// derivatives.
bool MakeRowsAsMade(ir::Function& f);
// Rows that are stored some rows away have a statement of their own, by rows of these (rows_alone.cc). Comes in front of it.
bool MakeRowsAlone(ir::Function& f);
// What reads one row of each set of a large array is made where the set's rows are (rows_in_turn.cc). Comes behind both.
bool MakeRowsInTurn(ir::Function& f);
// What reads a large array of another block, and is smaller, is made there (raise_readers.cc).
bool RaiseReaders(ir::Function& f);
// What is added at places that data say, and then from each place to another, is added there at once (send_sums.cc).
bool SendSums(ir::Function& f);
// What is stored at one place of an axis loses the axis, and what reads it asks for the place (place_values.cc).
bool PlaceValues(ir::Function& f);
// What is read of a large array at a place known outside is computed there once more (recompute_rows.cc).
bool RecomputeRows(ir::Function& f);
// Arrays that are stored at tuples which data say are not made where their readers can run over the tuples.
bool FollowTuples(ir::Function& f);
// Of two matrices of one statement, one of them the other's negative, one is made (share_negatives.cc).
bool ShareNegatives(ir::Function& f);
// Sums over products with a sum of matrices are sums over products with each, where each is a diagonal or what data pin
// to one element a row; `with_others`: or where some are such arrays as FollowTuples knows.
bool SplitSums(ir::Function& f, bool with_others);
// A sum of parts that never meet is one for each, where some lose an axis (split_reductions.cc).
bool SplitReductions(ir::Function& f);
// What a number made of a total multiplies is made without it, where a large array would wait for it (factor_seeds.cc).
// True: changed.
bool FactorSeeds(ir::Function& f);
// Values of functions of the math table that need fewer indices than their statement are statements (lift_dear.cc). True:
// changed.
bool LiftDear(ir::Function& f);
// What is made of the rows of points for each pair of them is made for each point, where these are fewer (rows_at_points.cc).
// True: changed.
bool RowsAtPoints(const ir::Module& m, ir::Function& f);
// A sum of products adds up first what one factor alone has an index of (factor_sums.cc).
bool FactorSums(ir::Function& f);

// Equal reductions and scans of a block are one, unless that costs an update its unique owner (share_statements.cc). True:
// changed.
bool ShareStatements(ir::Function& f);

// Arrays that all their readers run over by a later axis first are made with that axis in front (turn_arrays.cc).
bool TurnArrays(ir::Function& f);

// Statements that make and read arrays larger than the function's own run over one index first (common_rows.cc).
bool CommonRows(ir::Function& f);

// Arrays larger than the function's own that take no more than arithmetic are made again for each loop that reads them
// (repeat_cheap.cc). True: changed; then opt::FuseReads makes them part of their readers.
bool RepeatCheap(ir::Function& f);

// What is only asked whether it is positive is asked of what is stored of it, with 0 for the rest (read_clipped.cc). True:
// changed.
bool ReadClipped(ir::Function& f);

// What is only asked whether it is positive, at the place of an extremum of clipped elements, is asked of that
// (read_extrema.cc). True: changed.
bool ReadExtrema(ir::Function& f);

// What is added up at places that data say, by several statements, and then by their reader, is added up by the function's
// add_arrays (scatter_sums.cc). Comes right in front of:
void AddUpScatters(ir::Function& f);

// A statement whose result is only added to an array adds to it in place (EachResult::into). Comes last: no other
// pass knows `into`.
void AccumulateInPlace(ir::Function& f);

}  // namespace pullback::tensor
