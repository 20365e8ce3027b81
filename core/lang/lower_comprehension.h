// gen, sum, prod, max, min, argmax, argmin, and, or, exists; scans.
#pragma once

#include "core/lang/lower_array.h"
#include "core/lang/lower_context.h"
#include "core/lang/lower_trial.h"

namespace pullback::lang {

// A comprehension of scalar type, or a tuple of indices.
std::optional<Leaves> LowerReduction(Context& c, const Expr& e);
// A comprehension whose body gives a tuple or struct: arrays of its parts, or the parts reduced, each for
// itself.
std::optional<Leaves> LowerStructs(Context& c, const Expr& e);
// A comprehension of array type.
std::optional<ArrayRef> LowerArrayComprehension(Context& c, const Expr& e);

// A tensor statement that is being written into the innermost frame.
struct Statement {
  std::vector<Value> out;            // index variables of the result, the first of the frame
  std::optional<ir::Monoid> reduce;  // over the other indices
  Value guard;                       // of the result
  Value second;                      // of a scan (EachResult::second)
  size_t outer = 0;                  // of a scan: the first so many of `out` are not scanned
  bool logical = false;              // max or min of conditions, which are 0 and 1
  uint32_t loc = 0;
  const Block* body = nullptr;  // the innermost that is part of it
};

// A new frame. Inside a guard, the nested statement runs only where the guard holds: by its `where`
// when the guard is affine.
class NestedFrame {
 public:
  explicit NestedFrame(Context& c);
  ~NestedFrame();
  NestedFrame(const NestedFrame&) = delete;
  NestedFrame& operator=(const NestedFrame&) = delete;

 private:
  Context& c_;
  Guard guard_;
};

// Adds an index variable 0 <= i < extent (a form over values of blocks).
Value AddIndex(Context& c, Statement& s, const Affine& extent, bool out, const std::string& name);
// The sum of a term over 0 <= k < extent; in a body it is lifted out and read back.
MaybeValue LowerSum(Context& c, const Affine& extent,
                    const std::function<MaybeValue(const Affine& k)>& term);
// Block mode: an array as one statement (the builder's loc names the place).
Value StoreArray(Context& c, const Array& a);

// The ranges of the binders as forms over values of blocks, evaluated once (block mode); nullopt
// for those that depend on the binders before them.
//
// `among`: the points of the range at which the body has to be evaluated (lower_neighbours.h).
struct Neighbours {
  Value points;  // an array, ascending, counted from the range's low end; has an element too many
  Value count;
  Value other;                       // the place of the one that is not related; -1: all are
  std::vector<const Expr*> related;  // calls r(…) that hold at every place but `other`
};
struct Range {
  Affine lo;
  Affine hi;
  std::optional<Neighbours> among = std::nullopt;
};
using Ranges = std::vector<std::optional<Range>>;

// --- lower_binders.cc
// max(extent, 0), made in the block: of a statement that is lifted out of one that may never run.
Affine NotNegative(Context& c, const Affine& extent);
// Block mode: the extent of a gen; one that is negative and may be (MayBeNegative) is none.
Affine StoredExtent(Context& c, const Affine& extent);
// Block mode. An operand (`sum(x)`) comes before the ranges; every element of it is read once.
Ranges LowerRanges(Context& c, const Expr& e);
// A range inside a body: forms over index variables and values of blocks.
std::optional<Range> RangeInBody(Context& c, const Binder& b);
// An index of the statement for each binder. False: a range that a body cannot have.
bool AddBinders(Context& c, Statement& s, const Expr& e, const Ranges& ranges);
// An index over a range that depends on indices: over the largest such range, restricted.
MaybeValue AddDependentIndex(Context& c, Statement& s, const Affine& extent,
                             const std::string& name);
// --- lower_body.cc
// The comprehension as part of the innermost frame's statement: its value there.
MaybeValue ComprehensionInto(Context& c, Statement& s, const Expr& e, const Ranges& ranges);
// --- lower_comprehension.cc
ir::Monoid MonoidOf(const Expr& e);

// --- lower_structs.cc
// A comprehension of tuples or structs as statements; `ranges` as far as they are known.
std::optional<Leaves> AsStatements(Context& c, const Expr& e, const Ranges& ranges);

// --- lower_arg.cc
// Whether e speaks of the first so many binders.
bool MentionsBinders(const ExprPtr& e, const std::vector<Binder>& binders, size_t count);
// argmax, argmin: an index may start at a value that depends on those before it; then an offset does not
// tell where.
bool HasKnownLows(const Expr& e);
// The indices at a row-major offset in the box of the statement's indices; all -1 where the offset is.
std::optional<Leaves> IndicesAt(Context& c, const Expr& e, Value offset,
                                const std::vector<ir::IndexVar>& box, const Ranges& ranges);

// --- lower_scan.cc
std::optional<ArrayRef> LowerScan(Context& c, const Expr& e);
std::optional<ArrayRef> LowerScanLinear(Context& c, const Expr& e);

// --- lower_gen.cc
// A gen in a body.
std::optional<ArrayRef> GenInBody(Context& c, const Expr& e);
// The same of tuples and structs.
std::optional<Leaves> GenStructsInBody(Context& c, const Expr& e);
// The extents of the array that the body gives for every element, when they do not depend on which
// (none: it is a scalar) and are known without running it.
std::optional<std::vector<Affine>> BodyDims(Context& c, const Expr& e, ir::AffineSpan lows);
// The same for every leaf of the body's value.
std::optional<LeafDims> BodyLeafDims(Context& c, const Expr& e, ir::AffineSpan lows);
// Under `dims_only`: an array of a sum of arrays; a value of which nothing is known.
std::optional<ArrayRef> SumDims(Context& c, const Expr& e);
Leaf Unknown(Context& c, const ir::Type& type);
// What stands in a body for a value that only blocks make: of a bracket's product whose sizes are looked for, values
// of which nothing is known; else nothing.
std::optional<Leaves> UnknownBeforehand(Context& c, const Type& type);

// --- lower_frame.cc
// Ends the innermost frame and appends its statement to the current block. Inside other frames what
// it needs of them is copied into it, the results have their indices in front, and what is returned
// are the elements read back; outside it is the results.
std::vector<Value> FinishStatement(Context& c, const Statement& s,
                                   const std::vector<Value>& values);
// The same without the reading back: what stands in memory, and the indices of the frames around it that
// are its first subscripts.
struct Lifted {
  std::vector<Value> results;
  Subs outer;
};
Lifted LiftStatement(Context& c, const Statement& s, const std::vector<Value>& values);
// The first result, as it is for the frames around.
ArrayRef ArrayInMemory(Context& c, const Lifted& lifted);
// Before the innermost frame gets a further index: its expensive values are stored, so that they
// are not computed again for each.
void SpillCostly(Context& c);
bool CannotTrap(const Context& c, const ir::Inst& inst);
// Whether an instruction of a body may: a subscript may be out of range, as far as is known there.
bool MayTrapHere(Context& c, const ir::Inst& inst);
// A form over values of bodies as one over values of blocks (and index variables), when that cannot
// trap.
std::optional<Affine> Hoist(Context& c, const Affine& a);
// Such forms of which `a` is the greatest (Max) or least (Min); itself alone where it is one; none: it is no such extremum.
std::vector<Affine> HoistExtremum(Context& c, const Affine& a, Op extremum);

// --- lower_sequential.cc
// Block mode: for (i = lo; i < hi; ++i), carrying values through it.
void CountedLoop(Context& c, const Range& range, const std::string& name,
                 std::vector<Value>& carried, const std::function<void(Value i)>& body);
// Block mode: a loop nest with a running result.
Leaves LowerSequential(Context& c, const Expr& e, const Ranges& ranges);

// --- lower_outline.cc
// Body mode: the block as a function of scalars that the body calls.
MaybeValue LowerOutlined(Context& c, const Block& block);

}  // namespace pullback::lang
