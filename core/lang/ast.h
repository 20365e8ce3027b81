// The program as a tree: what the parser makes, the checker annotates, and lowering reads.
// Depth is bounded by the parser (Limits), so that walking it recursively is safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/base/tensor.h"

namespace pullback::lang {

struct Expr;
struct Stmt;
struct Struct;
using ExprPtr = std::unique_ptr<Expr>;
using StmtPtr = std::unique_ptr<Stmt>;

// A type as written (dims are expressions) or as inferred by the checker (`Type` below).
struct TypeExpr {
  enum class Kind : uint8_t { kScalar, kArray, kTuple, kStruct, kList, kBox } kind = Kind::kScalar;
  DType elem = DType::kF64;
  std::vector<ExprPtr> dims;       // kArray: size expressions over size variables and literals.
                                   // Inside a struct, list or box: whole numbers, and names whose
                                   // `local` stays UINT32_MAX: any size
  std::vector<TypeExpr> elements;  // kTuple; the one of kList, kBox
  std::string name;                // kStruct
  const Struct* structure = nullptr;  // kStruct: set by the checker
  Span span;
};

// What the checker knows of a value's type: rank and element; sizes are checked by the checker where
// they are provably unequal, otherwise by code that lowering emits.
struct Type {
  enum class Kind : uint8_t {
    kError,
    kUnit,
    kScalar,
    kArray,
    kTuple,
    kStruct,
    kList,
    kBox
  } kind = Kind::kError;
  DType elem = DType::kF64;
  int rank = 0;                       // kArray: >= 1
  std::vector<Type> elements;         // kTuple; the one of kList, kBox
  const Struct* structure = nullptr;  // kStruct: a struct is its declaration
  static Type Scalar(DType t) { return {Kind::kScalar, t, 0, {}, nullptr}; }
  static Type Array(DType t, int rank) { return {Kind::kArray, t, rank, {}, nullptr}; }
  static Type Tuple(std::vector<Type> elements) {
    return {Kind::kTuple, DType::kF64, 0, std::move(elements), nullptr};
  }
  static Type Of(const Struct* s) { return {Kind::kStruct, DType::kF64, 0, {}, s}; }
  static Type List(Type element) { return {Kind::kList, DType::kF64, 0, {element}, nullptr}; }
  static Type Box(Type element) { return {Kind::kBox, DType::kF64, 0, {element}, nullptr}; }
  bool operator==(const Type&) const = default;
};
std::string ToString(const Type& t);

struct Block {
  std::vector<StmtPtr> stmts;
  ExprPtr
      result;  // the block's value: arms of if-expressions and bodies of comprehensions; may be null
  Span span;
  uint32_t height = 0;  // of the tallest expression inside; set and bounded by the parser
};

enum class BinaryOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kRem,
  kPow,
  kMatMul,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kAnd,
  kOr
};
enum class UnaryOp : uint8_t { kNeg, kNot };
enum class Comprehension : uint8_t { kGen, kSum, kProd, kMax, kMin };

// `i < hi` (lo null: from 0) or `i in lo..hi` (hi excluded).
struct Binder {
  std::string name;
  ExprPtr lo;
  ExprPtr hi;
  Span span;
  uint32_t local = 0;  // set by the checker: index into Function::locals
};

// One subscript: an index, or a slice lo:hi:step with parts optional.
struct Subscript {
  bool is_slice = false;
  ExprPtr index;
  ExprPtr lo, hi, step;
  Span span;
};

// A step into a value: `.name`, `.0`, or `[subscripts]`.
struct Access {
  std::string field;  // the name of a struct's field
  int64_t index = 0;  // of the field: a tuple's as written, a struct's set by the checker
  std::vector<Subscript> subscripts;
  Span span;
  bool IsField() const { return subscripts.empty(); }
};

struct CondArm {  // of an if chain; the else arm has no condition
  ExprPtr cond;
  Block body;
};

struct Expr {
  enum class Kind : uint8_t {
    kInt,            // int_value
    kFloat,          // float_value; suffix says f32/f64 when written
    kBool,           // int_value 0 or 1
    kName,           // name (local, size variable); resolved: `local`
    kUnary,          // unary; operands[0]
    kBinary,         // binary; operands[0], [1]; elementwise and broadcasting on arrays
    kCall,           // name(operands): user, prelude or built-in function; resolved: callee/builtin
    kBroadcastCall,  // name.(operands)
    kCast,       // f64(x), f32(x), i64(x), bool(x): elem; operands[0]. The checker inserts them too
    kIndex,      // operands[0][subscripts]
    kTranspose,  // operands[0].T
    kTuple,      // (a, b)
    kField,      // operands[0].0: int_value; operands[0].name: name, and int_value from the checker
    kConstruct,  // a kCall of a struct's name, from the checker: operands in the order of the fields
    kWith,       // operands[0] with path = operands[1]
    kBracket,    // [e] as parsed; the checker turns it into kArray or kIverson
    kArray,      // [a, b, c] (elements: scalars or arrays of one rank)
    kIverson,    // [predicate]: operands[0] bool
    kComprehension,  // gen/sum/prod/max/min binders { body }. From `sum(x)` with an array x the
                     // checker makes one with operands[0] = x, a value that `local` names and that
                     // is evaluated once, before the binders' bounds
    kIf,             // arms (the last without cond); as an expression every arm has a result
  };
  Kind kind;
  Span span;
  Type type;  // set by the checker
  uint32_t ordinal =
      0;  // set by the checker: pre-order number of every Expr and Stmt in the program
          // (see Function::first_ordinal); names the places of traps
  std::string name;
  int64_t int_value = 0;
  double float_value = 0;
  DType elem = DType::kF64;
  bool has_suffix = false;
  bool parenthesised = false;  // written in brackets: for the formatter
  // A kAnd made from a comparison chain `a < b < c`: the left operand of operands[1] is a copy of the
  // right operand of operands[0] (of operands[0]->operands[1] where that is chained too). The value
  // of one may serve as the other's where their types are equal (a literal adapts on each side).
  bool chained = false;
  uint32_t height = 0;  // of the tree below, blocks included; set and bounded by the parser
  BinaryOp binary = BinaryOp::kAdd;
  UnaryOp unary = UnaryOp::kNeg;
  Comprehension comprehension = Comprehension::kGen;
  std::vector<ExprPtr> operands;
  std::vector<Subscript> subscripts;
  std::vector<Access> path;  // kWith: begins with a field
  std::vector<std::string>
      labels;  // kCall, kConstruct: one per operand where S(a: e, …) was written
  std::vector<Binder> binders;
  Block body;                 // kComprehension
  std::vector<CondArm> arms;  // kIf
  // resolved by the checker
  uint32_t local =
      UINT32_MAX;  // kName, kComprehension with an operand: index into Function::locals
  uint32_t callee = UINT32_MAX;  // kCall, kBroadcastCall: index into Program::functions, or
  int builtin = -1;              //   a Builtin of builtins.h
};

// What is assigned: a variable, or a place in one (`x[i, j] = e`, `s.a.b[i].c = e`).
struct Target {
  std::string name;
  std::vector<Access> path;  // empty: the whole variable
  Span span;
  uint32_t local = UINT32_MAX;
  uint32_t ordinal = 0;
};

struct Stmt {
  enum class Kind : uint8_t {
    kLet,     // let targets = value      (several targets destructure a tuple)
    kVar,     // var targets = value
    kAssign,  // targets = value | a, b = b, a (value is a kTuple then) | x op= value (desugared)
    kIf,      // arms
    kWhile,   // cond = value; body
    kFor,     // binder; body
    kBreak,
    kContinue,
    kReturn,  // value (may be null in a function without result)
  };
  Kind kind;
  Span span;
  uint32_t ordinal = 0;
  std::vector<Target> targets;
  TypeExpr* annotation = nullptr;  // let x: T = …; owned by annotation_storage
  std::unique_ptr<TypeExpr> annotation_storage;
  ExprPtr value;
  std::vector<CondArm> arms;
  Binder binder;
  Block body;
  bool augmented = false;  // written `x += e`: for the formatter; value is already x + e, and
                           // augmented_op and value->operands[1] give back what was written
  BinaryOp augmented_op = BinaryOp::kAdd;
};

struct Param {
  std::string name;
  TypeExpr type;
  Span span;
  uint32_t local = 0;
};

// A local: parameter, size variable, let, var, binder.
struct Local {
  enum class Kind : uint8_t { kParam, kSize, kLet, kVar, kBinder } kind = Kind::kLet;
  std::string name;
  Type type;
  Span span;
};

// How a size variable follows from the arguments: it is the value for which `dim`, read as
// coeff * local + rest, equals the extent of `axis` of parameter leaf `leaf`. The other names in
// `dim` are i64 parameters or size variables bound before. rest is `dim` with `local` = 0.
struct SizeBinding {
  uint32_t local = 0;
  uint32_t leaf = 0;  // parameters with tuples flattened, in order
  uint32_t axis = 0;
  int64_t coeff = 1;
  const Expr* dim = nullptr;
};

struct Function {
  std::string name;
  Span span;  // of the name
  std::vector<Param> params;
  TypeExpr result;
  bool has_result = false;
  Block body;
  bool from_prelude = false;
  // set by the checker
  std::vector<Local> locals;  // parameters first, in order, then size variables, then the rest
  std::vector<uint32_t> size_locals;  // size variables, in order of first appearance in the header
  std::vector<SizeBinding> size_bindings;  // one per size variable, in an order that can be solved
  Type result_type;
  uint32_t first_ordinal = 0;  // the function's nodes are numbered [first_ordinal, + node_count)
  uint32_t node_count = 0;
};

struct Field {
  std::string name;
  TypeExpr type;
  Span span;
  Type resolved;  // set by the checker
};

// A struct: a type of its own, equal to no other.
struct Struct {
  std::string name;
  Span span;  // of the name
  std::vector<Field> fields;
  Span body;  // from { to }
};

// What lies beside other parts in one value: tuples and structs.
inline bool IsComposite(const Type& t) {
  return t.kind == Type::Kind::kTuple || t.kind == Type::Kind::kStruct;
}
// The parts' types, in order; none of what is no composite.
inline size_t PartCount(const Type& t) {
  if (t.kind == Type::Kind::kStruct) return t.structure->fields.size();
  return t.kind == Type::Kind::kTuple ? t.elements.size() : 0;
}
inline const Type& PartOf(const Type& t, size_t i) {
  return t.kind == Type::Kind::kStruct ? t.structure->fields[i].resolved : t.elements[i];
}
template <typename F>
void ForEachPart(const Type& t, F&& f) {
  for (size_t i = 0; i < PartCount(t); ++i) f(PartOf(t, i));
}
// The same of a type as written (after Check).
inline bool IsComposite(const TypeExpr& t) {
  return t.kind == TypeExpr::Kind::kTuple || t.kind == TypeExpr::Kind::kStruct;
}
template <typename F>
void ForEachPart(const TypeExpr& t, F&& f) {
  if (t.kind == TypeExpr::Kind::kStruct) {
    for (const Field& field : t.structure->fields) f(field.type);
  } else if (t.kind == TypeExpr::Kind::kTuple) {
    for (const TypeExpr& e : t.elements) f(e);
  }
}
// A size that is not checked: a name inside a struct, list or box.
inline bool IsAnySize(const Expr& dim) {
  return dim.kind == Expr::Kind::kName && dim.local == UINT32_MAX;
}

struct Comment {  // for the formatter: `# …` to the end of the line
  uint32_t offset;
  uint32_t line;
  bool own_line;
  std::string text;
};

struct Program {
  std::string text;
  std::vector<std::unique_ptr<Function>> functions;  // user's in text order, then the prelude's
  size_t user_functions = 0;
  std::vector<std::unique_ptr<Struct>> structs;  // in text order
  std::vector<Comment> comments;
  // spans[ordinal] = place in `text`; ordinals count from 1 in pre-order, function after function in
  // the order of `functions`. Nodes of prelude functions have line 0.
  std::vector<Span> spans;
};

}  // namespace pullback::lang
