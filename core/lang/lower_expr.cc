#include "core/lang/lower_expr.h"
#include "core/lang/lower_derive.h"

#include "core/lang/builtins.h"
#include "core/lang/lower_array.h"
#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_list.h"
#include "core/lang/lower_place.h"

namespace pullback::lang {
namespace {

Op ArithmeticOp(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd: return Op::Add;
    case BinaryOp::kSub: return Op::Sub;
    case BinaryOp::kMul: return Op::Mul;
    case BinaryOp::kDiv: return Op::Div;
    case BinaryOp::kRem: return Op::Rem;
    case BinaryOp::kPow: return Op::Pow;
    case BinaryOp::kEq: return Op::Eq;
    case BinaryOp::kNe: return Op::Ne;
    case BinaryOp::kLt: return Op::Lt;
    case BinaryOp::kLe: return Op::Le;
    case BinaryOp::kGt: return Op::Gt;
    case BinaryOp::kGe: return Op::Ge;
    case BinaryOp::kAnd: return Op::And;
    case BinaryOp::kOr: return Op::Or;
    case BinaryOp::kMatMul: break;
  }
  PB_CHECK(false);
  return Op::Add;
}

MaybeValue LowerBinary(Context& c, const Expr& e) {
  if (e.binary == BinaryOp::kAnd || e.binary == BinaryOp::kOr) return LowerLogic(c, e);
  if (e.binary == BinaryOp::kMatMul) return LowerDot(c, e);
  if (IsChain(e)) return LowerChain(c, e);
  PB_TRY(const Value a, LowerScalar(c, *e.operands[0]));
  PB_TRY(const Value b, LowerScalar(c, *e.operands[1]));
  c.SetLoc(e.ordinal);
  return Arithmetic(c, e.binary, a, b);
}

MaybeValue LowerUnary(Context& c, const Expr& e) {
  if (IsLiteral(e)) return Literal(c, e);
  if (IsChain(e)) return LowerChain(c, e);
  PB_TRY(const Value v, LowerScalar(c, *e.operands[0]));
  return UnaryScalar(c, e.unary, v);
}

MaybeValue LowerCast(Context& c, const Expr& e) {
  PB_TRY(const Value v, LowerScalar(c, *e.operands[0]));
  return c.b.TypeOf(v).elem == e.elem ? v : c.b.Cast(v, e.elem);
}

MaybeValue OnlyLeaf(std::optional<Leaves> leaves) {
  if (!leaves) return std::nullopt;
  PB_CHECK(leaves->size() == 1 && (*leaves)[0].value.valid());
  return (*leaves)[0].value;
}

// The leaves of part `index` of a tuple or struct.
Leaves FieldOf(const Type& type, const Leaves& leaves, size_t index) {
  size_t first = 0;
  for (size_t i = 0; i < index; ++i) first += FlatCount(PartOf(type, i));
  const size_t count = FlatCount(PartOf(type, index));
  const auto begin = leaves.begin() + static_cast<std::ptrdiff_t>(first);
  return Leaves(begin, begin + static_cast<std::ptrdiff_t>(count));
}

std::optional<Leaves> LowerTuple(Context& c, const Expr& e) {
  Leaves all;
  for (const ExprPtr& element : e.operands) {
    PB_TRY(Leaves leaves, Lower(c, *element));
    all.insert(all.end(), leaves.begin(), leaves.end());
  }
  return all;
}

}  // namespace

Op ScalarOp(int builtin) {
  switch (static_cast<Builtin>(builtin)) {
#define PB_CASE(e, n, k) \
  case Builtin::e: return Op::e;
    PB_SCALAR_BUILTINS(PB_CASE)
#undef PB_CASE
    default: PB_CHECK(false);
  }
  return Op::Add;
}

Value Arithmetic(Context& c, BinaryOp op, Value a, Value b) {
  const bool integer = c.b.TypeOf(a) == ir::Type::I64();
  if (integer && (op == BinaryOp::kAdd || op == BinaryOp::kSub || op == BinaryOp::kMul)) {
    return c.Integer(ArithmeticOp(op), a, b);
  }
  return c.b.Make(ArithmeticOp(op), {a, b});
}

Value UnaryScalar(Context& c, UnaryOp op, Value v) {
  const Value r = c.b.Make(op == UnaryOp::kNeg ? Op::Neg : Op::Not, {v});
  if (c.b.TypeOf(v) == ir::Type::I64()) c.affine[r.id] = c.AffineFor(v) * -1;
  return r;
}

bool IsLiteral(const Expr& e) {
  if (e.type.kind != Type::Kind::kScalar) return false;
  if (e.kind == Expr::Kind::kUnary && e.unary == UnaryOp::kNeg) {
    const Expr::Kind k = e.operands[0]->kind;
    return k == Expr::Kind::kInt || k == Expr::Kind::kFloat;
  }
  return e.kind == Expr::Kind::kInt || e.kind == Expr::Kind::kFloat || e.kind == Expr::Kind::kBool;
}

Value Literal(Context& c, const Expr& e) {
  const bool negative = e.kind == Expr::Kind::kUnary;
  const Expr& number = negative ? *e.operands[0] : e;
  if (number.kind == Expr::Kind::kBool) return c.b.Bool(number.int_value != 0);
  const uint64_t bits = static_cast<uint64_t>(number.int_value);
  if (e.type.elem == DType::kI64) return c.I64(static_cast<int64_t>(negative ? 0 - bits : bits));
  const double v =
      number.kind == Expr::Kind::kInt ? static_cast<double>(number.int_value) : number.float_value;
  return c.b.Float(e.type.elem, negative ? -v : v);
}

MaybeValue LowerScalar(Context& c, const Expr& e) {
  PB_CHECK(e.type.kind == Type::Kind::kScalar);
  if (std::optional<Leaves> given = c.Given(e)) return OnlyLeaf(std::move(given));
  switch (e.kind) {
    case Expr::Kind::kInt:
    case Expr::Kind::kFloat:
    case Expr::Kind::kBool: return Literal(c, e);
    case Expr::Kind::kUnary: return LowerUnary(c, e);
    case Expr::Kind::kBinary: return LowerBinary(c, e);
    case Expr::Kind::kCast: return LowerCast(c, e);
    case Expr::Kind::kIndex:
      if (IsListElement(e)) return OnlyLeaf(Lower(c, e));
      return LowerElement(c, e);
    case Expr::Kind::kIverson: return LowerChain(c, e);
    case Expr::Kind::kComprehension: return OnlyLeaf(LowerReduction(c, e));
    default: return OnlyLeaf(Lower(c, e));
  }
}

std::optional<Leaves> Lower(Context& c, const Expr& e) {
  if (std::optional<Leaves> given = c.Given(e)) return given;
  switch (e.kind) {
    case Expr::Kind::kName:
      if (e.local == UINT32_MAX) return Leaves();  // a function
      return c.at->locals[e.local];
    case Expr::Kind::kTuple:
    case Expr::Kind::kLambda:
    case Expr::Kind::kClosure: return LowerTuple(c, e);  // what it captures
    case Expr::Kind::kDerive: return LowerDerive(c, e);
    case Expr::Kind::kDynamic:
    case Expr::Kind::kTag:
    case Expr::Kind::kVariant: return LowerDynamic(c, e);
    case Expr::Kind::kConstruct: return LowerConstruct(c, e);
    case Expr::Kind::kWith: return LowerWith(c, e);
    case Expr::Kind::kIf: return LowerIfExpression(c, e);
    case Expr::Kind::kCall: return LowerCall(c, e);
    case Expr::Kind::kBroadcastCall: return LowerBroadcastCall(c, e);
    case Expr::Kind::kField: {
      PB_TRY(Leaves tuple, Lower(c, *e.operands[0]));
      return FieldOf(e.operands[0]->type, tuple, static_cast<size_t>(e.int_value));
    }
    case Expr::Kind::kIndex:
      if (IsListElement(e)) return LowerListElement(c, e);
      if (IsComposite(e.type)) return LowerStructElement(c, e);
      break;
    case Expr::Kind::kArray:
      if (IsComposite(e.type)) return LowerStructLiteral(c, e);
      break;
    case Expr::Kind::kComprehension:
      if (IsComposite(e.type) && !IsArg(e.comprehension)) return LowerStructs(c, e);
      break;
    default: break;
  }
  if (e.type.kind == Type::Kind::kTuple) return LowerReduction(c, e);  // argmax of several indices
  if (e.type.kind == Type::Kind::kArray) {
    PB_TRY(ArrayRef array, LowerArray(c, e));
    return Leaves{LeafOf(c, array)};
  }
  PB_TRY(const Value v, LowerScalar(c, e));
  return Leaves{{v, nullptr}};
}

Leaves LowerStored(Context& c, const Expr& e) {
  PB_CHECK(!c.InBody());
  std::optional<Leaves> leaves = Lower(c, e);
  PB_CHECK(leaves.has_value());
  for (Leaf& leaf : *leaves) {
    c.SetLoc(e.ordinal);
    Store(c, leaf);
  }
  return *std::move(leaves);
}

std::optional<Affine> AffineAsIs(const Context& c, const Expr& e) {
  if (e.type != Type::Scalar(DType::kI64)) return std::nullopt;
  switch (e.kind) {
    case Expr::Kind::kInt: return Affine::Const(e.int_value);
    case Expr::Kind::kName: return c.AffineFor(c.at->locals[e.local][0].value);
    case Expr::Kind::kUnary: {
      PB_TRY(const Affine a, AffineAsIs(c, *e.operands[0]));
      return a * -1;
    }
    case Expr::Kind::kBinary: {
      PB_TRY(const Affine a, AffineAsIs(c, *e.operands[0]));
      PB_TRY(const Affine b, AffineAsIs(c, *e.operands[1]));
      if (e.binary == BinaryOp::kAdd) return a + b;
      if (e.binary == BinaryOp::kSub) return a - b;
      if (e.binary == BinaryOp::kMul && b.IsConst()) return a * b.constant;
      if (e.binary == BinaryOp::kMul && a.IsConst()) return b * a.constant;
      return std::nullopt;
    }
    default: return std::nullopt;
  }
}

std::optional<Affine> LowerInt(Context& c, const Expr& e) {
  if (!c.IsGiven(e)) {
    if (std::optional<Affine> a = AffineAsIs(c, e)) return a;
    if (std::optional<Affine> a = LowerExtent(c, e)) return a;
    const bool sum =
        e.kind == Expr::Kind::kBinary && (e.binary == BinaryOp::kAdd || e.binary == BinaryOp::kSub);
    if (sum) {
      PB_TRY(const Affine a, LowerInt(c, *e.operands[0]));
      PB_TRY(const Affine b, LowerInt(c, *e.operands[1]));
      return e.binary == BinaryOp::kAdd ? a + b : a - b;
    }
  }
  PB_TRY(const Value v, LowerScalar(c, e));
  return c.AffineFor(v);
}

}  // namespace pullback::lang
