// The IR: SSA over blocks with arguments.
//
// Semantics that hold for every reader of this header:
// - Values are indices into Function::values. A value is defined once: by a block parameter, an
//   instruction, or (inside a tensor statement) an index variable or a body instruction.
// - Integers are 64-bit and wrap. Floats are IEEE, evaluated in the written order, never contracted.
//   Any NaN is as good as any other until it is returned (outputs are canonicalised).
// - Arrays are dense, row-major values; `update` and `add_at` yield a new value (in place where the
//   argument is the last owner). A scalar is not an array of rank 0.
// - Lists are sequences of records with value semantics, exactly as arrays. `list_take` and `list_pop`
//   move an element out; take leaves zeros (0, arrays with all extents 0, empty lists) in its place.
// - Boxes are shared mutable cells: all who hold a box see what `box_set` put there last. ThreadBoxes
//   (core/opt) replaces them by indices into lists before any other pass.
// - Block arguments are parallel copies.
// - A trap ends the run with (kind, Inst::loc, two i64 details). A trap whose value nobody needs may
//   vanish; none is ever introduced.
//
// - `jvp` and `vjp` run a function and its derivative; DeriveOperators (core/ad) replaces them by calls
//   of derived functions before anything runs the module.
//
// Tensor statements (`each`, after ATL's Tensor SSA 5.25-5.34 with n-ary bodies): for every point of
// the box of `indices` (each 0 <= var < extent, row-major order) where all constraints of `where`
// hold, the body is evaluated and every result takes its value at out[] of that point.
// - A body instruction with a guard is evaluated only where its guard is true and is 0 elsewhere.
// - Entries of a result that no point reaches are 0 (gen, sum, scans), 1 (prod), -inf / INT64_MIN
//   (max), +inf / INT64_MAX (min), -1 (argmax, argmin).
// - A result with a guard takes part only in the points where the guard is true.
// - `gen` stores; its out[] is injective over the points that hold.
// - Order of a reduction: where out[] is exactly the first r index variables in order, the rest are
//   reduced in lanes: with o the row-major offset in the box of the remaining indices, the term
//   joins lane o mod 8 as `lane op term` (absent terms are not added; lanes start at the monoid's
//   identity), and the result is ((l0+l4)+(l2+l6))+((l1+l5)+(l3+l7)). Otherwise terms are combined
//   into the element in row-major order of the points, as `element op term` from the identity.
// - argmax and argmin give the row-major offset, in the box of the remaining indices, of the first
//   point whose value is the greatest (least); the first NaN, where there is one.
// - Scans run over all indices but the first `outer`, in row-major order, anew for each point of those.
//   A point stores the state into out[] (injective, as of gen), then the state becomes `state op value`
//   (scan_sum from 0, scan_prod from 1, scan_max, scan_min from their identity); of scan_linear, from
//   0, `smul(state, value) + second`. Absent points store nothing and leave the state.
// - A gen or a sum with `into` starts from that array, of its shape, rather than from 0, and is added to it:
//   a term that gen would store, a sum of lanes unless it is 0, the terms of other sums one by one.
//   Elements that no point reaches stay as they are. The body does not read that array.
// - An out[] or a subscript out of range traps; a negative extent or shape traps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "core/base/tensor.h"
#include "core/base/thin_vector.h"

namespace pullback::ir {

enum class Op : uint8_t {
#define OP(name, mnemonic, arity, rule, flags) name,
#include "core/ir/ops.def"
#undef OP
};
inline constexpr int kOpCount = 0
#define OP(name, mnemonic, arity, rule, flags) +1
#include "core/ir/ops.def"
#undef OP
    ;

enum class TypeRule : uint8_t { Float, Num, Int, Bool, Cmp, ToBoolF, Cast, Select, Own };
enum OpFlags : uint8_t { kPure = 1, kTraps = 2, kEffect = 4, kCommutes = 8, kLibm = 16 };
struct OpInfo {
  const char* mnemonic;
  int arity;
  TypeRule rule;
  uint8_t flags;
};
const OpInfo& Info(Op op);
std::optional<Op> FindOp(std::string_view mnemonic);

// A scalar, an array of rank >= 1 of scalars, a tape, or a list or box of a record.
struct Type {
  enum class Kind : uint8_t { kNone, kScalar, kArray, kTape, kList, kBox };
  Kind kind = Kind::kNone;
  DType elem = DType::kF64;
  uint8_t rank = 0;
  uint32_t record = 0;  // of a list or box: index into Module::records

  static Type Scalar(DType t) { return {Kind::kScalar, t, 0}; }
  static Type Array(DType t, int rank) { return {Kind::kArray, t, static_cast<uint8_t>(rank)}; }
  static Type Tape() { return {Kind::kTape, DType::kF64, 0}; }
  static Type List(uint32_t record) { return {Kind::kList, DType::kF64, 0, record}; }
  static Type Box(uint32_t record) { return {Kind::kBox, DType::kF64, 0, record}; }
  static Type F64() { return Scalar(DType::kF64); }
  static Type I64() { return Scalar(DType::kI64); }
  static Type Bool() { return Scalar(DType::kBool); }
  bool IsScalar() const { return kind == Kind::kScalar; }
  bool IsArray() const { return kind == Kind::kArray; }
  bool IsTape() const { return kind == Kind::kTape; }
  bool IsList() const { return kind == Kind::kList; }
  bool IsBox() const { return kind == Kind::kBox; }
  bool HasRecord() const { return IsList() || IsBox(); }
  bool IsFloat() const {  // a scalar or array of floats; CarriesTangent speaks of all types
    return (IsScalar() || IsArray()) && (elem == DType::kF64 || elem == DType::kF32);
  }
  Type Element() const { return Scalar(elem); }
  bool operator==(const Type&) const = default;
};
std::string ToString(Type t);  // "f64", "[*,*]f64", "tape", "list<2>" (the record's index)

struct Value {
  uint32_t id = UINT32_MAX;
  bool valid() const { return id != UINT32_MAX; }
  bool operator==(const Value&) const = default;
  auto operator<=>(const Value&) const = default;
};
inline constexpr Value kNoValue{};
// The operands or results of one instruction, the parameters of a block, the arguments of an edge: rarely more than
// four, which take no allocation and no more room than a vector's header.
class Values : public absl::InlinedVector<Value, 4> {
 public:
  using InlinedVector::InlinedVector;
  Values(const std::vector<Value>& values) : InlinedVector(values.begin(), values.end()) {}
};
using ValueSpan = absl::Span<const Value>;
template <typename T>
std::vector<T> ToVector(absl::Span<const T> values) {
  return {values.begin(), values.end()};
}
inline std::vector<Value> ToVector(const Values& values) { return {values.begin(), values.end()}; }

// constant + sum of coeff * value over i64 values; terms sorted by value, no zero coefficients.
// Arithmetic wraps.
struct Affine {
  struct Term {
    Value value;
    int64_t coeff;
    bool operator==(const Term&) const = default;
  };
  int64_t constant = 0;
  using Terms = absl::InlinedVector<Term, 1>;
  Terms terms;

  static Affine Const(int64_t c) { return {c, {}}; }
  static Affine Of(Value v) { return {0, {{v, 1}}}; }
  // The single value when this is exactly `1*v + 0`, else kNoValue.
  Value AsValue() const;
  bool IsConst() const { return terms.empty(); }
  int64_t Coeff(Value v) const;
  Affine operator+(const Affine& o) const;
  Affine operator-(const Affine& o) const;
  Affine operator*(int64_t k) const;
  // this with v replaced by e.
  Affine Substitute(Value v, const Affine& e) const;
  bool operator==(const Affine&) const = default;
};

using AffineSpan = absl::Span<const Affine>;

// e == 0 (equality) or e >= 0.
struct Constraint {
  Affine e;
  bool equality = false;
  bool operator==(const Constraint&) const = default;
};
using ConstraintSpan = absl::Span<const Constraint>;

enum class Monoid : uint8_t {
  kGen,
  kSum,
  kProd,
  kMax,
  kMin,
  kArgMax,
  kArgMin,
  kScanSum,
  kScanProd,
  kScanMax,
  kScanMin,
  kScanLinear
};
inline constexpr int kMonoidCount = 12;
const char* MonoidName(Monoid m);  // "gen", "sum", ...
std::optional<Monoid> FindMonoid(std::string_view name);
inline bool IsScan(Monoid m) { return m >= Monoid::kScanSum; }
inline bool IsArg(Monoid m) { return m == Monoid::kArgMax || m == Monoid::kArgMin; }

// Kinds of traps; the number is what `check` carries in bits.
enum class TrapKind : uint8_t {
  kIndex = 1,  // details: index, extent
  kDivideByZero = 2,
  kNegativeSize = 3,  // details: the size
  kSizeMismatch = 4,  // details: the two sizes
  kDepth = 5,         // recursion deeper than the limit
  kMemory = 6,        // details: bytes asked for, budget
  kStopped = 7,       // deadline or cancellation
};
const char* TrapKindName(TrapKind k);  // "index", "divide_by_zero", ...
std::optional<TrapKind> FindTrapKind(std::string_view name);

struct Each;

// Members that most instructions leave empty take a pointer each: passes walk over millions of these.
struct Inst {
  Op op = Op::Const;
  bool checkpoint = false;  // Call: reverse mode keeps the arguments only and runs the callee again
  uint32_t callee = 0;      // Call, Jvp, Vjp: index into Module::functions
  Values args;
  Values results;
  uint64_t bits = 0;  // Const: the value's bits (f32 in the low half); Dim: axis; Check: TrapKind
  ThinVector<bool> wrt;     // Jvp, Vjp: by parameter of the callee; only those that carry tangents
  ThinVector<Affine> subs;  // Index, Update, AddAt: subscripts; AffineOf: [0]
  ThinVector<Constraint> constraints;  // Holds
  std::unique_ptr<Each> each;          // Each
  Value guard;                         // in bodies only
  uint32_t loc = 0;                    // ordinal of the source place that a trap names; 0: none

  Inst() = default;
  Inst(const Inst& o);
  Inst& operator=(const Inst& o);
  Inst(Inst&&) = default;
  Inst& operator=(Inst&&) noexcept = default;
};

struct IndexVar {
  Value var;     // i64, defined by the statement
  Value extent;  // i64, defined outside it
};

// The subscripts of a result.
class Affines : public absl::InlinedVector<Affine, 2> {
 public:
  using InlinedVector::InlinedVector;
  Affines(const std::vector<Affine>& affines) : InlinedVector(affines.begin(), affines.end()) {}
};

struct EachResult {
  Monoid monoid = Monoid::kGen;
  Affines out;   // subscripts of the result; empty: the result is a scalar
  Values shape;  // i64 extents, as many as out
  Value value;   // defined in the body (or outside)
  Value guard;   // bool of the body or kNoValue: where false, the point gives no term here
                 // (out is not evaluated, nothing is stored or added)
  Value second = kNoValue;  // scan_linear: what is added
  uint32_t outer = 0;       // scans: how many of the first indices they start anew for
  uint32_t inner = 0;       // scans: of how many of the last ones each point has a state of its own
  Value into = kNoValue;    // gen, sum: the array that is added to (defined outside)
  uint32_t loc = 0;         // of out[], should it be out of range; 0: the statement's
};

struct Each {
  absl::InlinedVector<IndexVar, 2> indices;
  std::vector<Constraint> where;
  std::vector<Inst>
      body;  // scalar ops, Index, AffineOf, Holds, Const, Dim, StopGradient of scalars;
             // Call, Jvp, Vjp of scalar functions
  absl::InlinedVector<EachResult, 1> results;
};

// The place that a trap names where out[] of `r`, a result of `inst`, is out of range.
inline uint32_t LocOfOut(const Inst& inst, const EachResult& r) {
  return r.loc != 0 ? r.loc : inst.loc;
}
// Whether `r` is no scan, or one that starts anew for each place of that index, which is one of the first.
bool IsApartFor(const EachResult& r, size_t index);
// Whether out[] of `r` is exactly the first index variables in order: the form that is reduced in
// lanes.
bool IsPrefixForm(const Each& each, const EachResult& r);
// How many of the last index variables the runs of `r` go over (docs/ir.md, "Order of a reduction"): of a sum in no prefix
// form, those that out[] does not name. 0: it has none, or out[] asks for what the body reads.
size_t CountInRuns(const Each& each, const EachResult& r);
// The place of the only index variable that out[] of `r` does not name, where it names each other one once, in any order.
std::optional<size_t> OnlyIndexReduced(const Each& each, const EachResult& r);
// The place of the index variable that a scan runs over, where that is one.
std::optional<size_t> ScannedIndex(const Each& each, const EachResult& r);
// Whether an argmax or argmin can go by out[]: the first index variables in order, or all but one.
bool IsArgForm(const Each& each, const EachResult& r);
// Whether out[] of `r` takes every element at most once: gen and scans.
inline bool Stores(const EachResult& r) { return r.monoid == Monoid::kGen || IsScan(r.monoid); }

struct Edge {
  uint32_t block = 0;
  Values args;
};

using Edges = absl::InlinedVector<Edge, 2>;

struct Terminator {
  enum class Kind : uint8_t { kNone, kJump, kBranch, kReturn };
  Kind kind = Kind::kNone;
  Value cond;      // kBranch
  Edges edges;     // kJump: 1, kBranch: 2 (true, false)
  Values results;  // kReturn
  // kJump or kBranch, of the header of a loop that is entered by it only: how many states of the loop reverse
  // mode keeps. Until the last derivation; nothing else reads it.
  Value snapshots = kNoValue;
};

struct Block {
  Values params;
  std::vector<Inst> insts;
  Terminator term;
};

inline constexpr uint32_t kNoFunction = UINT32_MAX;

struct Function {
  std::string name;
  std::vector<Type> results;
  // blocks[0] is the entry; its params are the function's; no edge leads to it.
  std::vector<Block> blocks;
  std::vector<Type> values;        // their types
  std::vector<std::string> names;  // and hints for the printer, which need not be unique
  // Derivatives that replace the built ones until the last derivation:
  //   vjp_rule: (params…, seed of every result that carries a tangent…)
  //             -> cotangent of every parameter that carries one
  //   jvp_rule: (params…, tangent of every parameter that carries one…)
  //             -> results…, tangent of every result that carries one
  uint32_t vjp_rule = kNoFunction;
  uint32_t jvp_rule = kNoFunction;

  bool HasRule() const { return vjp_rule != kNoFunction || jvp_rule != kNoFunction; }
  Value NewValue(Type t, std::string name = {});
  // With type and name of one of `from`, which may be this function.
  Value NewLike(const Function& from, Value v);
  Type TypeOf(Value v) const { return values[v.id]; }
  // Of the elements of a statement's result.
  Type ElementOf(const EachResult& r) const {
    return IsArg(r.monoid) ? Type::I64() : TypeOf(r.value);
  }
  const Values& params() const { return blocks[0].params; }
};

// What a list or a box holds. A field is a scalar, an array, a list or a box; a record may hold
// lists of itself.
struct Record {
  std::string name;
  std::vector<std::string> field_names;  // as many as fields
  std::vector<Type> fields;
  bool operator==(const Record&) const = default;
};

// The names that functions have had, with the next suffix to try for each. Who renames a function gives it one of these.
class FunctionNames {
 public:
  // One that no function has: `name`, or with a suffix.
  std::string New(const std::vector<std::unique_ptr<Function>>& functions, const std::string& name);

 private:
  std::unordered_map<std::string, int> next_suffix_;
  size_t known_ = 0;  // functions whose names are among them
};

struct Module {
  std::vector<Record> records;
  std::vector<std::unique_ptr<Function>> functions;
  uint32_t entry = 0;  // the function a request runs

  Function& Get(uint32_t f) { return *functions[f]; }
  const Function& Get(uint32_t f) const { return *functions[f]; }
  uint32_t AddFunction(const std::string& name);  // makes the name unique with a suffix
  uint32_t AddRecord(Record record);              // likewise
  // What an element of a list or the inside of a box is made of.
  const std::vector<Type>& FieldsOf(Type t) const { return records[t.record].fields; }
  Module Clone() const;

 private:
  FunctionNames names_;
};

std::string ToString(Type t, const Module& m);  // "list<Node>", "box<Cell>"

// Whether values of the type have tangents: scalars and arrays of floats, tapes, and lists and boxes
// that hold such a value at any depth.
bool CarriesTangent(const Module& m, Type t);
std::vector<Type> TangentTypes(const Module& m,
                               const std::vector<Type>& types);  // of those that do

// Calls fn(uint32_t&) / fn(const uint32_t&) on every function that `f` refers to: callees of call, jvp
// and vjp, in bodies too, and its rules.
template <typename F, typename Fn>
void ForEachCallee(F& f, Fn&& fn);
inline bool HasCallee(Op op) { return op == Op::Call || op == Op::Jvp || op == Op::Vjp; }

// Whether this instruction may end the run with a trap (float div and rem may not).
bool MayTrap(const Inst& inst, const Function& f);

// Calls fn(Value&) / fn(const Value&) on every value that `inst` reads: args, guard, subscripts,
// constraints, and for Each extents, shapes and everything the body reads (not what it defines).
template <typename Fn>
void ForEachOperand(Inst& inst, Fn&& fn);
template <typename Fn>
void ForEachOperand(const Inst& inst, Fn&& fn);
template <typename Fn>
void ForEachOperand(Affine& a, Fn&& fn) {
  for (auto& t : a.terms) fn(t.value);
}
template <typename Fn>
void ForEachOperand(const Affine& a, Fn&& fn) {
  for (const auto& t : a.terms) fn(t.value);
}
template <typename Term, typename Fn>
void ForEachTermOperand(Term& term, Fn&& fn) {
  if (term.cond.valid()) fn(term.cond);
  if (term.snapshots.valid()) fn(term.snapshots);
  for (auto& e : term.edges)
    for (auto& v : e.args) fn(v);
  for (auto& v : term.results) fn(v);
}
// After renaming values inside an Affine its terms may be out of order: sorts and merges again.
void Canonicalise(Affine& a);
void CanonicaliseAffines(Inst& inst);  // every Affine in inst, recursively

template <typename F, typename Fn>
void ForEachCallee(F& f, Fn&& fn) {
  for (auto& b : f.blocks) {
    for (auto& inst : b.insts) {
      if (HasCallee(inst.op)) fn(inst.callee);
      if (!inst.each) continue;
      for (auto& body : inst.each->body) {
        if (HasCallee(body.op)) fn(body.callee);
      }
    }
  }
  if (f.vjp_rule != kNoFunction) fn(f.vjp_rule);
  if (f.jvp_rule != kNoFunction) fn(f.jvp_rule);
}

namespace internal {
template <typename I, typename Fn>
void VisitOperands(I& inst, Fn& fn) {
  for (auto& v : inst.args) fn(v);
  if (inst.guard.valid()) fn(inst.guard);
  for (auto& a : inst.subs) ForEachOperand(a, fn);
  for (auto& c : inst.constraints) ForEachOperand(c.e, fn);
  if (!inst.each) return;
  for (auto& i : inst.each->indices) fn(i.extent);
  for (auto& c : inst.each->where) ForEachOperand(c.e, fn);
  for (auto& b : inst.each->body) VisitOperands(b, fn);
  for (auto& r : inst.each->results) {
    for (auto& a : r.out) ForEachOperand(a, fn);
    for (auto& v : r.shape) fn(v);
    if (r.into.valid()) fn(r.into);
    fn(r.value);
    if (r.guard.valid()) fn(r.guard);
    if (r.second.valid()) fn(r.second);
  }
}
}  // namespace internal
template <typename Fn>
void ForEachOperand(Inst& inst, Fn&& fn) {
  internal::VisitOperands(inst, fn);
}
template <typename Fn>
void ForEachOperand(const Inst& inst, Fn&& fn) {
  internal::VisitOperands(inst, fn);
}

}  // namespace pullback::ir
