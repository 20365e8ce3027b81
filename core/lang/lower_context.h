// What lowering knows while it writes one function of the IR. The files lower_*.cc are free
// functions over it, one idea each:
//   lower.cc                 the module: functions, as they are called
//   lower_stmt.cc            statements; control flow to blocks with arguments
//   lower_expr.cc            scalar expressions
//   lower_calls.cc           calls and built-in functions
//   lower_call_sizes.cc      the sizes of what they give, without them
//   lower_derive.cc          derivative operators and rules; derive_levels.cc: what they lower again
//   lower_place.cc           structs; places in values
//   lower_region.cc          parts of arrays that are assigned
//   lower_list.cc            lists and boxes
//   lower_dynamic.cc         functions as data
//   lower_condition.cc       and/or, if-expressions
//   lower_returns.cc         functions of several returns, in a body
//   lower_chain.cc           products with Iverson brackets
//   lower_array_chain.cc     the same of arrays
//   lower_guard.cc           what a body evaluates only at some points
//   lower_array.cc           arrays that are computed where they are read; products
//   lower_element.cc         their elements, and what tells that a subscript is inside
//   lower_store.cc           what bodies store of them
//   lower_slice.cc           windows of arrays; elements of arrays of structs
//   lower_literal.cc         array literals
//   lower_elementwise.cc     elementwise trees and broadcasting
//   lower_comprehension.cc   gen/sum/prod/max/min as tensor statements
//   lower_binders.cc         their binders: ranges and indices
//   lower_structs.cc         the same of tuples and structs
//   lower_relation.cc        brackets with relations and equations: which indices they tell
//   lower_tuples.cc          statements over the tuples of relations
//   lower_keys.cc            arguments of relations that are data
//   lower_key_forms.cc       which expressions those may be
//   lower_key_chain.cc       and the code that makes them
//   lower_joins.cc           what a bound index is read by, and its values as an array
//   lower_member.cc          whether a tuple is related; joins
//   lower_source.cc          what expressions say, without values
//   lower_tellers.cc         which reductions other than sums go by neighbours
//   lower_spell.cc           names of matrices in them, spelled out
//   lower_named_matrix.cc    which those are
//   lower_unrelated.cc       what their bodies are elsewhere
//   lower_neighbours.cc      and the neighbours
//   lower_points.cc          sets of points
//   lower_gather.cc          of an index that is read from data
//   lower_either.cc          sums over what one of several relations relates
//   lower_filter.cc          or at which one of several conditions holds
//   lower_gen.cc             gen inside a body; sizes of what a body gives
//   lower_arg.cc             argmax/argmin: indices from an offset
//   lower_scan.cc            scans
//   lower_invariants.cc      what a body evaluates alike at every point
//   lower_ahead.cc           and in front of the loop
//   lower_frame.cc           nested statements are lifted out of the body they stand in
//   lower_emit.*             statements that need no other are appended
//   lower_outline.cc         a body with control flow becomes a function
//   lower_sequential.cc      or a loop nest
//   lower_sizes.cc           sizes as affine forms; checks of those not known to be equal
//   lower_trial.cc           what is written for sizes alone
//   lower_tidy.cc            what was written and not needed goes away
//
// Two modes. In block mode expressions append to the current block and always succeed. In body mode
// (inside a tensor statement: `frames` is not empty) only straight-line scalar code can be written;
// what cannot be said there gives nullopt ("bails"), the attempt is rolled back, and the
// comprehension takes a slower form.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/ir/builder.h"
#include "core/lang/derive_levels.h"
#include "core/lang/lang.h"

namespace pullback::lang {

using ir::Affine;
using ir::Constraint;
using ir::Op;
using ir::Value;
using MaybeValue = std::optional<Value>;
using Subs = std::vector<Affine>;

// `auto lhs = *expr`, or bail out of the calling function.
#define PB_TRY(lhs, expr) PB_TRY_IMPL(PB_CONCAT(pb_try_, __LINE__), lhs, expr)
#define PB_TRY_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                \
  if (!tmp) return std::nullopt;    \
  lhs = *std::move(tmp)

struct Array;
using ArrayRef = std::shared_ptr<const Array>;

// A leaf of a value (tuples and structs are flattened): a scalar or an array in memory, or an array that is
// computed where it is read (only inside expressions and bodies).
struct Leaf {
  Value value;
  ArrayRef array;
};
using Leaves = std::vector<Leaf>;

// The module that is being made.
struct ModuleContext {
  ModuleContext(const Program& p, const Limits& l, uint32_t entry)
      : program(p), limits(l), bases(CanonicalBases(p, entry)), levels(p, entry) {}

  const Program& program;
  const Limits& limits;
  std::vector<uint32_t> bases;  // canonical ordinal of every function's first node
  ir::Module module;
  DeriveLevels levels;
  size_t level = 0;                                        // of the function that is being lowered
  std::map<std::pair<size_t, uint32_t>, uint32_t> ir_ids;  // by level and source function
  struct Declared {
    size_t level;
    uint32_t function;
  };
  std::vector<Declared> queue;  // in order; lowered one after the other
  size_t spent = 0;             // instructions copied so far, beyond those that stand
  int outlined = 0;             // bodies that became functions
  size_t wasted = 0;            // work of attempts that were rolled back
  std::unordered_map<uint32_t, uint32_t> sources;  // the source functions, by the IR's
  std::unordered_map<uint32_t, bool> returns;  // by source function: SurelyReturns of lower_keys.h
  std::unordered_map<uint32_t, bool> dear;     // the same: IsDear of lower_invariants.cc
  size_t looked = 0;                           // there: at so many expressions
  std::unordered_map<const Function*, std::vector<bool>> read_whole;  // ReadWhole of lower_store.cc
  uint32_t join = UINT32_MAX;       // the function that joins relations
  uint32_t open_join = UINT32_MAX;  // and the one for keys that may be open
  std::map<std::vector<size_t>, uint32_t>
      neighbours;                              // those of lower_neighbours.cc, lower_gather.cc
  std::vector<ExprPtr> made;                   // by lower_either.cc, lower_terms.cc
  std::unordered_set<const Block*> no_bodies;  // blocks that could not be said in a body before
  std::unordered_set<const Expr*> no_terms;    // bodies that are not lowered term by term
  std::unordered_set<const Block*> lets_stay;  // whose names stay in front of the result's brackets
  std::vector<std::pair<Type, uint32_t>> records;           // by element type
  std::vector<std::pair<Type, uint32_t>> function_records;  // by dynamic type
  // Of a dynamic function's record: the fields that every variant's captures stand in.
  std::unordered_map<uint32_t, std::vector<std::vector<size_t>>> variant_fields;

  // The IR function of a source function; declares it on first use.
  uint32_t Declare(uint32_t function) { return Declare(function, level); }
  uint32_t Declare(uint32_t function, size_t at_level);
  // The same of what a kDerive derives.
  uint32_t DeclareCallee(const Expr& derive) {
    return Declare(derive.callee, levels.Below(level, derive));
  }
  // The types of a value's leaves.
  std::vector<ir::Type> Flatten(const Type& t);
  // The record of what an element of a list or the inside of a box is; the one that a function whose
  // code is known at run time is a list of.
  uint32_t RecordOf(const Type& element);
  uint32_t RecordOfFunction(const Type& dynamic);
  // Counts work that is not bounded by the size of the program. False: too much, give up.
  bool Charge(size_t insts);
  bool IsTooLarge() const { return spent > limits.max_ir_insts; }
};

// A matrix that a name stands for, of which most is 0 (lower_spell.h).
struct NamedMatrix {
  const Expr* gen;
  const Expr* element;  // a product with brackets, by the gen's binders
};

// A run of a source function's text: the function being lowered, or one inlined into a body.
struct Activation {
  const Function* function = nullptr;
  uint32_t base = 0;  // canonical ordinal of its first node
  std::vector<Leaves> locals;
  // Expressions of its text that have their values from in front of a loop (lower_ahead.h).
  std::unordered_map<const Expr*, Leaves> ahead;
  // What lets of bodies say that their names are.
  std::unordered_map<uint32_t, const Expr*> texts;
  std::unordered_map<uint32_t, NamedMatrix> matrices;
};

// A tensor statement under construction.
struct Frame {
  uint32_t id = 0;  // owner of the values defined here
  std::vector<ir::IndexVar> indices;
  std::vector<Constraint> where;
  std::vector<ir::Inst> body;
  // Indices that take their values from a relation or another array (lower_relation.cc): the reads,
  // which stand in front of `body`; what each of these is below; and those that stand here for an
  // index of a frame around. `told`: what its guard says of these, which else a range or `where` does.
  std::vector<ir::Inst> reads;
  std::vector<ir::IndexVar> bound;
  std::vector<std::pair<Value, Value>> adopted;
  std::vector<Constraint> told;
  std::unordered_set<uint32_t>
      keys;  // those of `bound` that are keys, beside which it runs over what it did
  std::vector<std::vector<ir::Inst>> undo;  // `body` before instructions in it were replaced
};

// Where the code being written is evaluated at all (body mode). `constraints` says the same as
// `value` when `affine`, elsewhere less; `value` is made when first needed.
struct Guard {
  bool any = false;
  bool affine = false;
  std::vector<Constraint> constraints;
  Value value;
};

// The instructions of a frame from `begin` on are evaluated only where `guard` is true. They get
// the guard when the region ends, or earlier, when they are copied.
struct Region {
  size_t frame;
  size_t begin;
  Value guard;
};

// r(i, k[j]), or another call with a key of a binder j: which points j are related to an i takes the inverse of the
// keys. It is made in front of the loops over i (lower_gather.cc).
struct Gathered {
  std::optional<size_t>
      fixed;     // the axis of r that the places are ordered by; none: r has one axis
  Value starts;  // where the places with an index of that axis begin
  Value tuples,
      points;  // by place: which tuple of r, and which point; of equal tuples points ascend
  // The points at which the key would trap, as of lower_points.cc, which go with every i; empty: there are none. Of a
  // condition on j alone these are all there is: the points at which it holds or would trap.
  std::vector<Value> open;
};

// Edges that leave a construct: the block they come from and the variables' values there.
struct Exit {
  uint32_t block;
  std::vector<Leaves> values;
};

// Variables (of the current activation) that a construct assigns.
using Variables = std::vector<uint32_t>;

struct Loop {
  const Variables& variables;
  std::vector<Exit> breaks;
  std::vector<Exit> continues;
};

struct Context {
  Context(ModuleContext& m, uint32_t ir_function)
      : module(m), function(m.module.Get(ir_function)), b(m.module, function) {}

  ModuleContext& module;
  ir::Function& function;
  ir::Builder b;
  Activation* at = nullptr;
  std::vector<Loop*> loops;
  std::vector<std::unique_ptr<Frame>> frames;
  Guard guard;
  std::vector<Region> regions;  // open ones, outermost first
  // Body mode: only the sizes of arrays matter, no code is kept; there are no checks, and calls
  // that cannot be inlined give unknown elements.
  bool dims_only = false;
  // The attempt at a statement that is under way: what is computed where it is read may grow
  // without bound, so that it is given up when it takes too much.
  bool attempting = false;
  size_t work = 0;
  int inlined = 0;                                               // depth of inlined calls
  std::vector<std::unique_ptr<Activation>> inlined_activations;  // kept for arrays made in them
  // Element reads that stand outside an outlined body and come in as parameters.
  std::unordered_map<const Expr*, Value> replaced;
  std::unordered_map<const Expr*, Gathered> gathered;  // by call, or condition
  // Of an `or` of which one case is being lowered: what holds there (lower_either.cc).
  std::unordered_map<const Expr*, std::vector<const Expr*>> chosen;
  // Of a body that is lowered term by term, the one that it stands for (lower_terms.cc), and how many there are.
  struct Term {
    const Expr* e = nullptr;
    bool negative = false;
    size_t of = 1;
  };
  std::unordered_map<const Expr*, Term> terms;

  // --- side tables, by value
  std::unordered_map<uint32_t, Affine> affine;             // i64 values: what they are made of
  std::unordered_map<uint32_t, std::vector<Affine>> dims;  // arrays: extents
  std::unordered_map<uint32_t, uint32_t> made_at;          // arrays: where a negative extent traps
  std::unordered_set<uint32_t> given;                      // arrays that are the entry's arguments
  std::unordered_map<uint32_t, std::pair<Affine, Affine>> counters;  // of loops: first, last
  std::unordered_set<uint32_t> small;                                // i64 values far from overflow
  std::unordered_set<uint32_t> sizes;  // i64 values that are never negative
  std::unordered_set<uint32_t>
      in_range;                          // i64 values that stand for an index, and are in its range
  std::unordered_set<uint32_t> clamped;  // those that are max(…, 0) (NotNegative)
  // The first value made in the outermost comprehension that is lowered as a loop nest, while in it.
  std::optional<uint32_t> nest;
  bool beforehand = false;  // the sizes are those of a bracket's product that may not be evaluated
  bool telling =
      false;  // body mode: within an element that a read of its own tells to be inside (lower_element.cc)
  bool bracketed = false;  // block mode: within a product whose brackets hold

  bool InBody() const { return !frames.empty(); }
  // What stands for the expression wherever it is lowered now; nullopt: nothing does.
  std::optional<Leaves> Given(const Expr& e) const;
  bool IsGiven(const Expr& e) const;
  bool Work(size_t amount);  // false: give the attempt up
  // Attempts that gave nothing have taken so much that others are to take little.
  bool HasWastedMuch() const { return module.wasted > 1000000; }
  void SetLoc(uint32_t ordinal) { b.SetLoc(at->base + ordinal - at->function->first_ordinal); }

  // --- i64 values and affine forms
  Value I64(int64_t v);
  Affine AffineFor(Value v) const;  // over values that have no entry in `affine`
  Value ToValue(const Affine& a);
  // An i64 scalar op; remembers its affine form.
  Value Integer(Op op, Value a, Value b);

  // --- arrays
  const std::vector<Affine>& DimsOf(Value array) const;
  void SetDims(Value array, std::vector<Affine> extents) { dims[array.id] = std::move(extents); }
  // Of an array that is made at `loc`; what checks its extents instead, names that place.
  void SetMade(Value array, std::vector<Affine> extents, uint32_t loc) {
    SetDims(array, std::move(extents));
    made_at[array.id] = loc;
  }
  uint32_t PlaceOf(Value array) const {
    auto it = made_at.find(array.id);
    return it == made_at.end() ? b.loc() : it->second;
  }
  // Reads the dims of an array of which nothing is known.
  void ReadDims(Value array);

  // --- body mode
  void OpenFrame();
  void CloseFrame();
  Frame& frame() { return *frames.back(); }
  // The id of the frame that defines v; 0: a block does.
  uint32_t OwnerOf(Value v);
  bool IsOuter(const Affine& a);  // made of values that blocks define
  // Whether a range that ends before it begins has no elements: under a bracket, or where its size is made of
  // values made within `nest`. Elsewhere it traps.
  bool MayBeNegative(const Affine& size) const;
  bool IsIndex(Value v) const;                   // an index variable of an open frame
  std::optional<size_t> CountIndices() const;    // of all open frames; nullopt: there is none
  const ir::IndexVar* FindBound(Value v) const;  // one that is read instead

  // Names what an expression has made, where it has no name yet.
  void Name(const Leaves& leaves, const std::string& name, uint32_t first_new);
  uint32_t ValueCount() const { return static_cast<uint32_t>(function.values.size()); }

 private:
  friend class AtBlock;
  void Attribute();  // the values made since the last call belong to the current target
  std::vector<uint32_t> owner_;
  uint32_t next_frame_ = 1;
};

// While it lives, code goes to the current block, from within a body.
class AtBlock {
 public:
  explicit AtBlock(Context& c);
  ~AtBlock();
  AtBlock(const AtBlock&) = delete;
  AtBlock& operator=(const AtBlock&) = delete;

 private:
  Context& c_;
  std::vector<std::unique_ptr<Frame>> frames_;
  Guard guard_;
};

// A point to which an attempt can be taken back. Nothing that blocks held may have been changed but
// by appending to the current block; new ones go.
class Mark {
 public:
  explicit Mark(Context& c);
  void Rollback();

 private:
  struct FrameMark {
    std::vector<ir::IndexVar> indices;
    std::vector<Constraint> where;
    size_t body;
    size_t undo;
    size_t reads;
    size_t bound;
    size_t adopted;
    size_t told;
  };
  void LeaveBlocks();

  Context& c_;
  uint32_t block_;
  size_t blocks_;
  size_t insts_;
  std::vector<FrameMark> frames_;
  Guard guard_;
  std::vector<Region> regions_;
  Activation* at_;
  int inlined_;
  size_t work_;
};

// --- types
size_t FlatCount(const Type& t);  // how many leaves
void Flatten(const TypeExpr& t, std::vector<const TypeExpr*>& out);

}  // namespace pullback::lang
