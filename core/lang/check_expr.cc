// Names, operators, casts, tuples, if-expressions.
#include "core/lang/builtins.h"
#include "core/lang/check_body.h"
#include "core/lang/spelling.h"

namespace pullback::lang {
namespace {

bool IsComparison(BinaryOp op) { return op >= BinaryOp::kEq && op <= BinaryOp::kGe; }
bool IsLogical(BinaryOp op) { return op == BinaryOp::kAnd || op == BinaryOp::kOr; }
bool IsData(const Type& t) { return t.kind == Type::Kind::kScalar || t.kind == Type::Kind::kArray; }

}  // namespace

Shape BodyChecker::Fail(Expr& e, std::string message) {
  report_.Error(e.span, std::move(message));
  e.type = Type();
  return {};
}

Shape BodyChecker::Check(ExprPtr& e) {
  if (program_.exhausted()) {
    e->type = Type();
    return {};
  }
  if (!program_.Enter(e->span)) {
    program_.Leave();
    e->type = Type();
    return {};
  }
  Shape shape = CheckKind(e);
  program_.Leave();
  if (!CheckTypeSize(e->type, e->span, report_, limits_)) {
    e->type = Type();
    return {};
  }
  program_.Charge(SizeCount(e->type), e->span);
  return shape;
}

Shape BodyChecker::CheckKind(ExprPtr& e) {
  switch (e->kind) {
    case Expr::Kind::kInt: e->type = Type::Scalar(e->has_suffix ? e->elem : DType::kI64); return {};
    case Expr::Kind::kFloat:
      e->type = Type::Scalar(e->has_suffix ? e->elem : DType::kF64);
      return {};
    case Expr::Kind::kBool: e->type = Type::Scalar(DType::kBool); return {};
    case Expr::Kind::kName: return CheckName(*e);
    case Expr::Kind::kUnary: return CheckUnary(*e);
    case Expr::Kind::kBinary: return CheckBinary(*e);
    case Expr::Kind::kCall: return CheckCall(*e);
    case Expr::Kind::kBroadcastCall: return CheckBroadcastCall(*e);
    case Expr::Kind::kCast: return CheckCast(*e);
    case Expr::Kind::kIndex: return CheckIndex(*e);
    case Expr::Kind::kTranspose: return CheckTranspose(*e);
    case Expr::Kind::kTuple: return CheckTuple(*e);
    case Expr::Kind::kField: return CheckField(*e);
    case Expr::Kind::kConstruct:
    case Expr::Kind::kWith: return CheckWith(*e);
    case Expr::Kind::kBracket:
    case Expr::Kind::kIverson: return CheckBracket(*e);
    case Expr::Kind::kArray: return CheckArrayLiteral(*e);
    case Expr::Kind::kScan: return CheckScan(*e);
    case Expr::Kind::kComprehension: return CheckComprehension(*e);
    case Expr::Kind::kIf: return CheckIf(*e);
    case Expr::Kind::kLambda: return CheckLambda(*e);
    case Expr::Kind::kApply: return CheckApply(*e);
    case Expr::Kind::kClosure: return CheckClosure(*e);
    case Expr::Kind::kDerive: return CheckDerive(*e);
    case Expr::Kind::kDynamic:  // the checker makes them, with their types
    case Expr::Kind::kTag:
    case Expr::Kind::kVariant: break;
  }
  return {};
}

Shape BodyChecker::CheckName(Expr& e) {
  e.local = scope_.Find(e.name);
  if (e.local != kNone) {
    e.type = f_.locals[e.local].type;
    if (f_.locals[e.local].shared) return ReadShared(e);
    return facts_[e.local].shape;
  }
  e.type = Type();
  const uint32_t user = program_.FindUser(e.name, f_);
  if (user != kNone) return FunctionValue(e, Type::Closure::kNamed, user);
  const int builtin = FindBuiltin(e.name);
  if (builtin >= 0) {
    return FunctionValue(e, Type::Closure::kBuiltin, static_cast<uint32_t>(builtin));
  }
  const uint32_t prelude = program_.FindPrelude(e.name);
  if (prelude != kNone) return FunctionValue(e, Type::Closure::kNamed, prelude);
  return Fail(e, "unknown name '" + e.name + "'" + DidYouMean(e.name, scope_.Names()));
}

bool BodyChecker::CheckOperands(Expr& e, std::vector<Shape>& shapes) {
  bool good = true;
  for (ExprPtr& operand : e.operands) {
    shapes.push_back(Check(operand));
    good &= operand->type.kind != Type::Kind::kError;
  }
  if (!good) e.type = Type();
  return good;
}

Shape BodyChecker::CheckUnary(Expr& e) {
  std::vector<Shape> shapes;
  if (!CheckOperands(e, shapes)) return {};
  const Type& type = e.operands[0]->type;
  bool is_bool = type.elem == DType::kBool;
  bool negates = e.unary == UnaryOp::kNeg;
  if (!IsData(type) || is_bool == negates) {
    return Fail(e, std::string(negates ? "'-' needs a number" : "'not' needs a bool") + ", got " +
                       Text(type, shapes[0]));
  }
  e.type = type;
  return shapes[0];
}

Shape BodyChecker::CheckBinary(Expr& e) {
  std::vector<Shape> shapes;
  if (!CheckOperands(e, shapes)) return {};
  if (e.binary == BinaryOp::kMatMul) return CheckMatMul(e, shapes[0], shapes[1]);
  if (!CheckOperandTypes(e)) {
    e.type = Type();
    return {};
  }
  DType elem = e.operands[0]->type.elem;
  bool is_bool = IsComparison(e.binary) || IsLogical(e.binary);
  e.type = Type::Scalar(is_bool ? DType::kBool : elem);
  return Broadcast(e, shapes);
}

// Of a condition times a number: how that is written, "; … [x > 0.0] * y".
std::string BodyChecker::MaskAdvice(const Expr& e) const {
  if (e.binary != BinaryOp::kMul) return "";
  const Type number = Type::Scalar(DType::kF64), condition = Type::Scalar(DType::kBool);
  const bool left = e.operands[0]->type == condition && e.operands[1]->type == number;
  const bool right = e.operands[1]->type == condition && e.operands[0]->type == number;
  if (!left && !right) return "";
  return "; a factor that is 1 where a condition holds stands in brackets: [" +
         SourceOf(*e.operands[left ? 0 : 1]) + "] * " + SourceOf(*e.operands[left ? 1 : 0]);
}

// Gives both operands one element type and checks that the operator takes it.
bool BodyChecker::CheckOperandTypes(Expr& e) {
  const Type& a = e.operands[0]->type;
  const Type& b = e.operands[1]->type;
  std::string symbol = "'" + std::string(Spelling(e.binary)) + "'";
  bool logical = IsLogical(e.binary);
  bool equality = e.binary == BinaryOp::kEq || e.binary == BinaryOp::kNe;
  auto takes = [&](const Type& t) {
    return IsData(t) && (equality || logical == (t.elem == DType::kBool));
  };
  if (!takes(a) || !takes(b)) {
    Fail(e, symbol + " needs " +
                (logical    ? "bools"
                 : equality ? "scalars or arrays"
                            : "numbers") +
                ", got " + ToString(a) + " and " + ToString(b) + MaskAdvice(e));
    return false;
  }
  if (e.binary == BinaryOp::kPow) return CheckPower(e);
  if (Unify({&e.operands[0], &e.operands[1]})) return true;
  Fail(e, symbol + " of " + ToString(a) + " and " + ToString(b) + ": the types must be equal" +
              CastAdvice(*e.operands[0], *e.operands[1]));
  return false;
}

// An i64 exponent is cast to a float base's type.
bool BodyChecker::CheckPower(Expr& e) {
  ExprPtr& base = e.operands[0];
  ExprPtr& exponent = e.operands[1];
  bool unified = Unify({&base, &exponent});
  DType elem = base->type.elem;
  if (unified && elem != DType::kI64) return true;
  if (unified) {
    Fail(e, "'**' is a power of floats, got " + ToString(base->type) + " on its left" +
                CastAdviceTo(*base, DType::kF64));
    return false;
  }
  if (elem != DType::kI64 && exponent->type.elem == DType::kI64) {
    WrapInCast(exponent, elem);
    return true;
  }
  Fail(e, "'**' of " + ToString(base->type) + " and " + ToString(exponent->type) +
              ": the types must be equal" + CastAdvice(*base, *exponent));
  return false;
}

Shape BodyChecker::CheckMatMul(Expr& e, const Shape& a, const Shape& b) {
  const Type x = e.operands[0]->type, y = e.operands[1]->type;
  auto fits = [](const Type& t) {
    return t.kind == Type::Kind::kArray && t.rank <= 2 && t.elem != DType::kBool;
  };
  if (!fits(x) || !fits(y)) {
    return Fail(
        e, "'@' needs vectors or matrices of numbers, got " + Text(x, a) + " and " + Text(y, b));
  }
  if (!Unify({&e.operands[0], &e.operands[1]})) {
    return Fail(e, "'@' of " + Text(x, a) + " and " + Text(y, b) +
                       ": the element types must be equal" +
                       CastAdvice(*e.operands[0], *e.operands[1]));
  }
  const Size& inner = b.dims[0];
  if (ProvablyUnequal(a.dims.back(), inner, f_.locals)) {
    return Fail(e, "'@' of " + Text(x, a) + " and " + Text(y, b) + ": the inner sizes " +
                       Text(a.dims.back()) + " and " + Text(inner) + " differ");
  }
  Shape shape;
  shape.dims.assign(a.dims.begin(), a.dims.end() - 1);
  shape.dims.insert(shape.dims.end(), b.dims.begin() + 1, b.dims.end());
  e.type = ArrayType(e, e.operands[0]->type.elem, shape.dims.size());
  return shape;
}

Shape BodyChecker::CheckCast(Expr& e) {
  std::vector<Shape> shapes;
  if (!CheckOperands(e, shapes)) return {};
  e.type = e.operands[0]->type;
  if (!IsData(e.type)) {
    return Fail(e, std::string(DTypeName(e.elem)) + "(…) needs a scalar or an array, got " +
                       Text(e.type, shapes[0]));
  }
  e.type.elem = e.elem;
  return shapes[0];
}

Shape BodyChecker::CheckTuple(Expr& e) {
  Shape shape;
  if (!CheckOperands(e, shape.elements)) return {};
  e.type = Type::Tuple({});
  for (const ExprPtr& operand : e.operands) e.type.elements.push_back(operand->type);
  if (!CheckTypeLimits(e.type, e.span, report_, limits_)) e.type = Type();
  return shape;
}

Shape BodyChecker::CheckIf(Expr& e) {
  std::vector<ExprPtr*> values;
  Shape shape;
  bool good = true;
  for (CondArm& arm : e.arms) {
    if (arm.cond) CheckCondition(arm.cond, "if");
    Shape value = CheckValueBlock(arm.body, "an arm of an 'if' that gives a value");
    shape = values.empty() ? value : Join(shape, value);
    values.push_back(&arm.body.result);
    good &= arm.body.result->type.kind != Type::Kind::kError;
  }
  if (!good) return {};
  UnifyTuples(values);
  if ((*values[0])->type.kind != Type::Kind::kFunction) Unify(values);
  Type first = (*values[0])->type;
  for (ExprPtr* value : values) {
    if (HasUnknown(first) && !HasUnknown((*value)->type)) first = (*value)->type;
  }
  for (ExprPtr* value : values) {
    const Type& type = (*value)->type;
    const bool functions = first.kind == Type::Kind::kFunction && type.kind == first.kind;
    if (!functions || type == first) continue;
    if (type.closure == Type::Closure::kDynamic) first = type;
    if (first.closure != Type::Closure::kDynamic) {
      first = Type::Function(Type::Closure::kUndecided, 0, {});
    }
  }
  if (first.closure == Type::Closure::kUndecided) {
    e.type = first;
    for (ExprPtr* value : values) {
      if ((*value)->type.kind == Type::Kind::kFunction) continue;
      return Fail(**value, "the arms of this 'if' differ: the first gives a function, this one " +
                               ToString((*value)->type));
    }
    return {};
  }
  for (ExprPtr* value : values) {
    if (Convert(**value, first)) continue;
    return Fail(**value, "the arms of this 'if' differ: the first gives " + ToString(first) +
                             ", this one " + ToString((*value)->type));
  }
  e.type = first;
  return shape;
}

void BodyChecker::ExpectI64(ExprPtr& e, const std::string& what) {
  const Type& type = e->type;
  if (type.kind == Type::Kind::kError || type == Type::Scalar(DType::kI64)) return;
  std::string advice = type.kind == Type::Kind::kScalar ? CastAdviceTo(*e, DType::kI64) : "";
  report_.Error(e->span, what + " must be an i64, got " + ToString(type) + advice);
}

// `have` against `want`, axis by axis: reports sizes that can never be equal.
void BodyChecker::MustEqual(const Shape& have, const Shape& want, const Span& span,
                            const std::string& what) {
  bool differs = false;
  for (size_t i = 0; i < have.dims.size() && i < want.dims.size(); ++i) {
    if (!ProvablyUnequal(have.dims[i], want.dims[i], f_.locals)) continue;
    report_.Error(span, what + " has size " + Text(have.dims[i]) + " on axis " + std::to_string(i) +
                            ", but " + Text(want.dims[i]) + " is declared");
    differs = true;
  }
  if (differs) return;  // of an array of structs, each part does
  for (size_t i = 0; i < have.elements.size() && i < want.elements.size(); ++i) {
    MustEqual(have.elements[i], want.elements[i], span, what);
  }
}

Size BodyChecker::ValueOf(const Expr& e) const {
  if (!(e.type == Type::Scalar(DType::kI64))) return {};
  switch (e.kind) {
    case Expr::Kind::kInt: return Size::Const(e.int_value);
    case Expr::Kind::kName: return e.local == kNone ? Size() : facts_[e.local].value;
    case Expr::Kind::kUnary: return Size::Const(0) - ValueOf(*e.operands[0]);
    case Expr::Kind::kCall: return LengthOf(e);
    case Expr::Kind::kBinary: break;
    default: return {};
  }
  Size a = ValueOf(*e.operands[0]), b = ValueOf(*e.operands[1]);
  switch (e.binary) {
    case BinaryOp::kAdd: return a + b;
    case BinaryOp::kSub: return a - b;
    case BinaryOp::kMul: return a * b;
    default: return {};
  }
}

// len(x) and dim(x, k) of a local array.
Size BodyChecker::LengthOf(const Expr& e) const {
  bool len = e.builtin == static_cast<int>(Builtin::Len);
  bool dim = e.builtin == static_cast<int>(Builtin::Dim);
  if ((!len && !dim) || e.operands[0]->kind != Expr::Kind::kName) return {};
  const Shape& shape = facts_[e.operands[0]->local].shape;
  size_t axis = len ? 0 : static_cast<size_t>(e.operands[1]->int_value);
  return axis < shape.dims.size() ? shape.dims[axis] : Size();
}

}  // namespace pullback::lang
