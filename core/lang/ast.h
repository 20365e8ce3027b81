// The program as a tree: what the parser makes, the checker annotates, and lowering reads.
// Depth is bounded by the parser (Limits), so that walking it recursively is safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/base/tensor.h"
#include "core/lang/type_list.h"

namespace pullback::lang {

struct Expr;
struct Stmt;
struct Struct;
struct Function;

}  // namespace pullback::lang

// Out of line: every file that holds a tree would compile how one is taken apart.
template <>
struct std::default_delete<pullback::lang::Expr> {
  void operator()(pullback::lang::Expr* e) const;
};
template <>
struct std::default_delete<pullback::lang::Stmt> {
  void operator()(pullback::lang::Stmt* s) const;
};
template <>
struct std::default_delete<pullback::lang::Function> {
  void operator()(pullback::lang::Function* f) const;
};
template <>
struct std::default_delete<pullback::lang::Struct> {
  void operator()(pullback::lang::Struct* s) const;
};

namespace pullback::lang {

using ExprPtr = std::unique_ptr<Expr>;
using StmtPtr = std::unique_ptr<Stmt>;

// What the checker knows of a value's type: rank and element; sizes are checked by the checker where
// they are provably unequal, otherwise by code that lowering emits.
//
// A function value has a type of its own for the code that it runs (`closure`, `code`); the value is
// what it captures, a tuple of `elements`. Calls of it are calls of instances of that code.
struct Type {
  enum class Kind : uint8_t {
    kError,
    kUnit,
    kScalar,
    kArray,
    kTuple,
    kStruct,
    kList,
    kBox,
    kFunction,
    kRelation,    // relation.h
    kStructArray  // an array whose elements are tuples or structs: struct_array.h
  } kind = Kind::kError;
  enum class Closure : uint8_t {
    kNone,
    kNamed,    // code: index into Program::functions, perhaps a template; captures nothing
    kBuiltin,  // code: a Builtin; captures nothing
    kLambda,   // code: the lambda, as the checker counts them
    kDerived,  // code: what a derivative operator gave, as the checker counts them
    // Which code it is, is known when the program runs; `elements` are the types of the parameters
    // and of the result.
    kDynamic,
    kUndecided,  // in the checker, one of several functions: `fn(…) -> …` is to be found
  };
  DType elem = DType::kF64;
  int rank = 0;  // kArray, kStructArray: >= 1
  // kTuple; the one of kList, kBox; kFunction: what it captures; kRelation: the arrays that it is;
  // kStructArray: what an element is, then the arrays of its parts
  TypeList elements;
  const Struct* structure = nullptr;  // kStruct: a struct is its declaration
  Closure closure = Closure::kNone;
  uint32_t code = 0;
  static Type Scalar(DType t) { return {Kind::kScalar, t, 0, {}}; }
  static Type Array(DType t, int rank) { return {Kind::kArray, t, rank, {}}; }
  static Type Tuple(TypeList elements) {
    return {Kind::kTuple, DType::kF64, 0, std::move(elements)};
  }
  static Type Of(const Struct* s) { return {Kind::kStruct, DType::kF64, 0, {}, s}; }
  static Type List(Type element) { return {Kind::kList, DType::kF64, 0, {std::move(element)}}; }
  static Type Box(Type element) { return {Kind::kBox, DType::kF64, 0, {std::move(element)}}; }
  static Type Function(Closure closure, uint32_t code, TypeList captures) {
    return {Kind::kFunction, DType::kF64, 0, std::move(captures), nullptr, closure, code};
  }
  // fn(elements but the last) -> the last
  static Type Dynamic(TypeList elements) {
    return Function(Closure::kDynamic, 0, std::move(elements));
  }
  bool IsDynamic() const { return kind == Kind::kFunction && closure == Closure::kDynamic; }
  // With the types inside it (TypeList::nodes), and how many of them are inside each other.
  size_t Nodes() const { return 1 + elements.nodes(); }
  int Depth() const { return 1 + elements.depth(); }
  bool operator==(const Type&) const = default;
};
std::string ToString(const Type& t);

// A type as written (dims are expressions) or, in the headers that the checker makes, as inferred.
struct TypeExpr {
  enum class Kind : uint8_t {
    kScalar,
    kArray,
    kTuple,
    kStruct,       // name: a struct, or a type parameter before its template is instantiated
    kList,         // elements[0]
    kBox,          // elements[0]
    kFunction,     // fn(T, U) -> V: elements, the result last
    kOmitted,      // of a lambda's parameter: it comes from the call
    kGiven,        // given; its arrays may have any sizes
    kRelation,     // relation.h
    kStructArray,  // elements[0], a tuple; the checker makes it of a kArray with a struct's name, too
  } kind = Kind::kScalar;
  DType elem = DType::kF64;
  std::string name;                // kStruct; kArray: of the element type, where it is no scalar's
  std::vector<ExprPtr> dims;       // kArray: size expressions over size variables and literals.
                                   // Inside a struct, list or box: whole numbers, and names whose
                                   // `local` stays UINT32_MAX: any size
  std::vector<TypeExpr> elements;  // kTuple, kFunction, kList, kBox, kStructArray
  std::vector<TypeExpr> parts;  // kStructArray: the arrays of the element's parts, from the checker
  const Struct* structure = nullptr;  // kStruct: set by the checker
  Type given;                         // kGiven
  Span span;
};

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
enum class Comprehension : uint8_t {
  kGen,
  kSum,
  kProd,
  kMax,
  kMin,
  kArgMax,  // the binders' values where the body is greatest: an i64, of several binders a tuple
  kArgMin,
  kAnd,
  kOr,
  kExists  // exists binders: e, which means what kOr means
};
inline bool IsArg(Comprehension c) {
  return c == Comprehension::kArgMax || c == Comprehension::kArgMin;
}
inline bool IsLogical(Comprehension c) {
  return c == Comprehension::kAnd || c == Comprehension::kOr || c == Comprehension::kExists;
}

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
  bool region = false;  // a part of an array, not one element: set by the checker
  bool IsField() const { return subscripts.empty(); }
};

// What is made of a function. Parameters that carry no float are left out of gradients; one gradient
// stands alone, several are a tuple. A gradient has its parameter's type, with zeros for integers.
enum class DeriveOp : uint8_t {
  kGrad,          // (x…) -> gradient; the function gives one float scalar
  kValueAndGrad,  // (x…) -> (value, gradient)
  kVjp,           // (x) -> (value, pullback); several arguments are a tuple here and below
  kPullback,      // (seed) -> cotangents; captures the function and x
  kJvp,           // (x, v) -> tangent of the value
  kJacobian,      // (x…) -> derivatives: a result's axes, then an argument's
  kCheckpoint,    // (x…) -> value; reverse mode runs the function again
};

// Whether the path ends with an array of indices; after Check.
bool Scatters(const std::vector<Access>& path);

struct CondArm {  // of an if chain; the else arm has no condition
  ExprPtr cond;
  Block body;
};

struct Param {
  std::string name;
  TypeExpr type;
  Span span;
  uint32_t local = 0;
  bool is_size = false;  // a size variable of the function that the lambda stands in
  bool shared = false;   // a variable that the lambda shares with others: a box of it
};

// |params| result, or |params| { stmts result }. It stays as written: the checker checks copies.
struct Lambda {
  std::vector<Param> params;
  Block body;
  bool braces = false;
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
    kBroadcastCall,  // name.(operands); without a name, operands[0].(the others)
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
    kScan,       // scan/exscan comprehension binders { body }: operands[0] is gen binders { body }
    kComprehension,  // gen/sum/… binders { body }. From `sum(x)` with an array x the
                     // checker makes one with operands[0] = x, a value that `local` names and that
                     // is evaluated once, before the binders' bounds
    kIf,             // arms (the last without cond); as an expression every arm has a result
    kLambda,         // lambda; the checker gives it the captured variables as operands
    kApply,          // operands[0] called with the others; the checker makes a kCall of it
    // From the checker: functions whose code is known when the program runs. int_value is the number
    // of a function among those that its type may be (DynamicType::variants).
    kDynamic,  // operands[0], a function value, as one of the dynamic type
    kTag,      // the number of operands[0]
    kVariant,  // operands[0], which is that one, as a value of its own type
    kClosure,  // `derive` of operands[0], a function value: itself a function value
    kDerive,   // the code of one: `callee`, an instance of the function operands[0], is derived
               // at the next operands; after these tangents (kJvp) or the seed (kPullback)
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
  Comprehension comprehension = Comprehension::kGen;  // kComprehension, kScan
  bool exclusive = false;                             // kScan: exscan
  std::vector<ExprPtr> operands;
  std::vector<Subscript> subscripts;
  std::vector<Access> path;  // kWith: begins with a field
  std::vector<std::string>
      labels;  // kCall, kConstruct: one per operand where S(a: e, …) was written
  std::vector<Binder> binders;
  Block body;                 // kComprehension
  std::vector<CondArm> arms;  // kIf
  std::unique_ptr<Lambda> lambda;
  DeriveOp derive = DeriveOp::kGrad;  // kClosure, kDerive
  // resolved by the checker
  uint32_t local =
      UINT32_MAX;  // kName, kComprehension with an operand: index into Function::locals
  uint32_t callee = UINT32_MAX;  // kCall, kBroadcastCall: index into Program::functions, or
  int builtin = -1;              //   a Builtin of builtins.h
  // kCall of a function value: operands[0] is the value; what it captures are the callee's first
  // parameters, `captures` of them.
  bool applies = false;
  uint32_t captures = 0;
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
    kCall,    // value: a call of a function that has no result
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
  // kFor, kWhile: how many states reverse mode may keep (`checkpoint(e)`); null: all.
  ExprPtr snapshots;
  Block body;
  bool augmented = false;  // written `x += e`: for the formatter; value is already x + e, and
                           // augmented_op and value->operands[1] give back what was written
  BinaryOp augmented_op = BinaryOp::kAdd;
};

// A local: parameter, size variable, let, var, binder.
struct Local {
  enum class Kind : uint8_t { kParam, kSize, kLet, kVar, kBinder } kind = Kind::kLet;
  std::string name;
  Type type;
  Span span;
  // A variable that lambdas share: it stands in a box, which is its type.
  bool shared = false;
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

// `with vjp g`, `with jvp h`: a function that gives derivatives of another.
struct DerivativeRule {
  std::string name;  // empty: none
  Span span;
  uint32_t function = UINT32_MAX;  // set by the checker: index into Program::functions
};

struct Function {
  std::string name;
  Span span;                             // of the name
  std::vector<std::string> type_params;  // fn f<T, U>
  std::vector<Param> params;
  TypeExpr result;
  bool has_result = false;
  // Parameters, then a seed of the result's type; gives what grad would give.
  DerivativeRule vjp_rule;
  // Parameters, then tangents of those that carry floats; gives the result and its tangent.
  DerivativeRule jvp_rule;
  Block body;
  bool from_prelude = false;
  // It has type parameters or speaks of functions in its header: only its instances, copies for
  // given types that the checker appends to the program, are checked and lowered.
  bool is_template = false;
  bool is_instance = false;
  bool infers_result = false;  // the result's type is that of what it returns
  Type function_result;  // where a function is declared as result, and its type is known: kDynamic
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

// What lies beside other parts in one value: tuples, structs, arrays of them (the parts are arrays),
// and what a function captures.
inline bool IsComposite(const Type& t) {
  return t.kind == Type::Kind::kTuple || t.kind == Type::Kind::kStruct ||
         t.kind == Type::Kind::kRelation || t.kind == Type::Kind::kStructArray ||
         (t.kind == Type::Kind::kFunction && t.closure != Type::Closure::kDynamic);
}
// The parts' types, in order; none of what is no composite.
inline size_t PartCount(const Type& t) {
  if (t.kind == Type::Kind::kStruct) return t.structure->fields.size();
  if (t.kind == Type::Kind::kStructArray) return t.elements.size() - 1;
  return IsComposite(t) ? t.elements.size() : 0;
}
inline const Type& PartOf(const Type& t, size_t i) {
  if (t.kind == Type::Kind::kStructArray) return t.elements[i + 1];
  return t.kind == Type::Kind::kStruct ? t.structure->fields[i].resolved : t.elements[i];
}
template <typename F>
void ForEachPart(const Type& t, F&& f) {
  for (size_t i = 0; i < PartCount(t); ++i) f(PartOf(t, i));
}
// The same of a type as written (after Check).
inline bool IsComposite(const TypeExpr& t) {
  return t.kind == TypeExpr::Kind::kTuple || t.kind == TypeExpr::Kind::kStruct ||
         t.kind == TypeExpr::Kind::kStructArray;
}
template <typename F>
void ForEachPart(const TypeExpr& t, F&& f) {
  if (t.kind == TypeExpr::Kind::kStruct) {
    for (const Field& field : t.structure->fields) f(field.type);
  } else if (t.kind == TypeExpr::Kind::kTuple) {
    for (const TypeExpr& e : t.elements) f(e);
  } else if (t.kind == TypeExpr::Kind::kStructArray) {
    for (const TypeExpr& e : t.parts) f(e);
  }
}
// The struct whose fields the parts are; null: they have no names.
inline const Struct* StructOf(const Type& t) {
  return t.kind == Type::Kind::kStructArray ? t.elements[0].structure : t.structure;
}
inline const Struct* StructOf(const TypeExpr& t) {
  if (t.kind != TypeExpr::Kind::kStructArray) return t.structure;
  return t.elements[0].kind == TypeExpr::Kind::kGiven ? StructOf(t.elements[0].given)
                                                      : t.elements[0].structure;
}
// Whether the type is not known yet: of the elements of an empty list (kUnit), of a function that is
// one of several (kUndecided).
inline bool HasUnknown(const Type& t) {
  bool unknown = t.kind == Type::Kind::kUnit || t.closure == Type::Closure::kUndecided;
  for (const Type& e : t.elements) unknown = unknown || HasUnknown(e);
  return unknown;
}
// A size that is not checked: a name inside a struct, list or box.
inline bool IsAnySize(const Expr& dim) {
  return dim.kind == Expr::Kind::kName && dim.local == UINT32_MAX;
}

// A type fn(…) -> … whose values are made of these functions, and the function that calls whichever
// it is.
struct DynamicType {
  Type type;
  std::vector<Type> variants;       // of the values that become one of this type
  std::vector<uint32_t> instances;  // what each is called by: index into Program::functions
  uint32_t dispatcher = UINT32_MAX;
};

// Whether values of the type hold floats at any depth, those that a function captures included; what a
// function captures that is known at run time only is a constant. check_derive.cc
bool CarriesFloat(const Type& type);

struct Comment {  // for the formatter: `# …` to the end of the line
  uint32_t offset;
  uint32_t line;
  bool own_line;
  std::string text;
};

struct Program {
  std::string text;
  // The user's in text order, then the prelude's and instances, as they are first called.
  std::vector<std::unique_ptr<Function>> functions;
  size_t user_functions = 0;
  std::vector<std::unique_ptr<Struct>> structs;  // in text order
  std::vector<DynamicType> dynamics;             // from the checker
  std::vector<Comment> comments;
  // spans[ordinal] = place in `text`; ordinals count from 1 in pre-order, function after function in
  // the order of `functions`. Nodes of prelude functions have line 0.
  std::vector<Span> spans;
};

}  // namespace pullback::lang
