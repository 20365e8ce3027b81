// Calls of built-in functions, and calls for every element: f.(x, y).
#include <algorithm>

#include "core/lang/builtins.h"
#include "core/lang/check_body.h"
#include "core/lang/each.h"

namespace pullback::lang {
namespace {

bool TakesIntegers(int builtin) {
  return builtin == static_cast<int>(Builtin::Abs) || builtin == static_cast<int>(Builtin::Sign) ||
         builtin == static_cast<int>(Builtin::Min) || builtin == static_cast<int>(Builtin::Max);
}

bool AllScalars(const Expr& e) {
  return std::all_of(e.operands.begin(), e.operands.end(), [](const ExprPtr& operand) {
    return operand->type.kind == Type::Kind::kScalar;
  });
}

bool IsScalarResult(const Type& t) {
  if (t.kind == Type::Kind::kScalar) return true;
  return t.kind == Type::Kind::kTuple &&
         std::all_of(t.elements.begin(), t.elements.end(),
                     [](const Type& e) { return e.kind == Type::Kind::kScalar; });
}

}  // namespace

// The operands are checked, and as many as the function takes.
Shape BodyChecker::CheckBuiltin(Expr& e, const std::vector<Shape>& shapes) {
  if (IsListBuiltin(e.builtin)) return CheckListCall(e, shapes);
  switch (static_cast<Builtin>(e.builtin)) {
    case Builtin::Len: return CheckLen(e, shapes[0]);
    case Builtin::Dim: return CheckDim(e, shapes[0]);
    case Builtin::Zeros: return CheckZeros(e);
    case Builtin::Column: return CheckColumn(e, shapes[0]);
    case Builtin::Transpose: return Transpose(e, shapes[0]);
    case Builtin::Grad:
    case Builtin::ValueAndGrad:
    case Builtin::Jacobian:
    case Builtin::Hessian:
    case Builtin::Checkpoint: return CheckOperator(e, shapes);
    case Builtin::Vjp:
    case Builtin::Jvp: return CheckOperatorCall(e, shapes);
    case Builtin::ScanLinear: return CheckScanLinear(e, shapes);
    case Builtin::Related: return CheckRelated(e, shapes);
    case Builtin::StopGradient: e.type = e.operands[0]->type; return shapes[0];
    default: break;
  }
  for (size_t i = 0; i < e.operands.size(); ++i) {
    const Type& type = e.operands[i]->type;
    if (type.kind == Type::Kind::kScalar) continue;
    bool array = type.kind == Type::Kind::kArray;
    return Fail(e, "'" + e.name + "' takes scalars, got " + Text(type, shapes[i]) +
                       (array ? "; for every element, write " + e.name + ".(…)" : ""));
  }
  DType elem = DType::kF64;
  if (MatchBuiltinOperands(e, elem)) e.type = Type::Scalar(elem);
  return {};
}

// Gives the operands of a scalar built-in one element type, and it to `elem`.
bool BodyChecker::MatchBuiltinOperands(Expr& e, DType& elem) {
  std::vector<ExprPtr*> parts;
  for (ExprPtr& operand : e.operands) parts.push_back(&operand);
  if (e.builtin == static_cast<int>(Builtin::Select)) {
    if (parts[0]->get()->type.elem != DType::kBool) {
      Fail(*e.operands[0],
           "the condition of 'select' must be a bool, got " + ToString(e.operands[0]->type));
      e.type = Type();
      return false;
    }
    parts.erase(parts.begin());
  }
  if (!Unify(parts)) {
    Fail(e, "the arguments of '" + e.name + "' must have one type, got " +
                ToString((*parts[0])->type) + " and " + ToString((*parts[1])->type) +
                CastAdvice(**parts[0], **parts[1]));
    return false;
  }
  return CheckBuiltinElement(e, parts, elem);
}

bool BodyChecker::CheckBuiltinElement(Expr& e, const std::vector<ExprPtr*>& parts, DType& elem) {
  elem = (*parts[0])->type.elem;
  if (e.builtin == static_cast<int>(Builtin::Select)) return true;
  bool integers = TakesIntegers(e.builtin);
  if (elem == DType::kI64 && !integers) {  // sqrt(2) is sqrt(2.0)
    bool literals = std::all_of(parts.begin(), parts.end(),
                                [](ExprPtr* p) { return CanAdapt(**p, DType::kF64); });
    if (literals) {
      for (ExprPtr* part : parts) Adapt(**part, DType::kF64);
      elem = DType::kF64;
    }
  }
  if (elem != DType::kBool && (elem != DType::kI64 || integers)) return true;
  std::string advice = elem == DType::kI64 ? CastAdviceTo(**parts[0], DType::kF64) : "";
  Fail(e, "'" + e.name + "' takes " + (integers ? "numbers" : "floats") + ", got " +
              ToString((*parts[0])->type) + advice);
  return false;
}

Shape BodyChecker::CheckLen(Expr& e, const Shape& shape) {
  const Type& type = e.operands[0]->type;
  const bool list = type.kind == Type::Kind::kList && e.builtin == static_cast<int>(Builtin::Len);
  if (type.kind != Type::Kind::kArray && type.kind != Type::Kind::kStructArray && !list) {
    const char* what =
        e.builtin == static_cast<int>(Builtin::Len) ? "an array or a list" : "an array";
    const std::string who =
        e.name == kEachLength ? "'for … in …' without '..'" : "'" + e.name + "'";
    return Fail(e, who + " takes " + what + ", got " + Text(type, shape));
  }
  if (HasUnknown(type)) return Fail(e, "this list is empty, and its elements have no type");
  e.type = Type::Scalar(DType::kI64);
  return {};
}

Shape BodyChecker::CheckDim(Expr& e, const Shape& shape) {
  const Expr& axis = *e.operands[1];
  CheckLen(e, shape);
  if (e.type.kind == Type::Kind::kError) return {};
  int rank = e.operands[0]->type.rank;
  bool literal = axis.kind == Expr::Kind::kInt && axis.type == Type::Scalar(DType::kI64);
  if (literal && axis.int_value >= 0 && axis.int_value < rank) return {};
  e.type = Type();
  return Fail(*e.operands[1], "the axis of 'dim' is an integer literal, here from 0 to " +
                                  std::to_string(rank - 1));
}

Shape BodyChecker::CheckZeros(Expr& e) {
  if (e.operands.empty()) return Fail(e, "'zeros' takes at least one size");
  Shape shape;
  bool good = true;
  for (ExprPtr& operand : e.operands) {
    ExpectI64(operand, "a size of 'zeros'");
    good &= operand->type == Type::Scalar(DType::kI64);
    shape.dims.push_back(ValueOf(*operand));
  }
  if (!good) return {};
  e.type = ArrayType(e, DType::kF64, shape.dims.size());
  return shape;
}

Shape BodyChecker::CheckColumn(Expr& e, const Shape& shape) {
  const Type& type = e.operands[0]->type;
  if (type.kind != Type::Kind::kArray || type.rank != 1) {
    return Fail(e, "'column' takes an array of rank 1, got " + Text(type, shape));
  }
  e.type = ArrayType(e, type.elem, 2);
  return Shape{{shape.dims[0], Size::Const(1)}, {}};
}

// f.(x, y). With scalars alone it is an ordinary call.
Shape BodyChecker::CheckBroadcastCall(Expr& e) {
  const bool value = NamesValue(e);
  if (value && !e.name.empty()) {
    auto name = std::make_unique<Expr>();
    name->kind = Expr::Kind::kName;
    name->name = e.name;
    name->span = e.span;
    e.operands.insert(e.operands.begin(), std::move(name));
  }
  std::vector<Shape> shapes;
  bool good = CheckOperands(e, shapes);
  if (value) return good ? BroadcastValue(e, std::move(shapes)) : Shape();
  if (!Resolve(e) || !CheckArity(e) || !CheckScalarFunction(e) || !good) return {};
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Type& type = e.operands[i]->type;
    if (type.kind == Type::Kind::kScalar || type.kind == Type::Kind::kArray) continue;
    return Fail(e, "'" + e.name + ".(…)' takes scalars and arrays, got " + Text(type, shapes[i]));
  }
  if (AllScalars(e)) e.kind = Expr::Kind::kCall;
  return e.builtin >= 0 ? BroadcastBuiltin(e, shapes) : BroadcastUser(e, shapes);
}

bool BodyChecker::CheckScalarFunction(Expr& e) {
  if (e.builtin >= 0) {
    if (IsScalarBuiltin(e.builtin) || e.builtin == static_cast<int>(Builtin::Select)) return true;
    Fail(e, "'" + e.name + "' is not a function of scalars");
    return false;
  }
  const Function& callee = program_.function(e.callee);
  const Header& header = program_.header(e.callee);
  for (size_t i = 0; i < header.param_types.size(); ++i) {
    if (header.param_types[i].kind == Type::Kind::kScalar) continue;
    Fail(e, "'" + e.name + "' cannot be called for every element: its parameter '" +
                callee.params[i].name + "' is no scalar");
    return false;
  }
  if (callee.has_result && !header.param_types.empty() && IsScalarResult(callee.result_type)) {
    return true;
  }
  Fail(e, "'" + e.name + "' cannot be called for every element: it must take scalars and give " +
              "a scalar or a tuple of scalars");
  return false;
}

Shape BodyChecker::BroadcastBuiltin(Expr& e, const std::vector<Shape>& shapes) {
  DType elem = DType::kF64;
  if (!MatchBuiltinOperands(e, elem)) return {};
  e.type = Type::Scalar(elem);
  return Broadcast(e, shapes);
}

Shape BodyChecker::BroadcastUser(Expr& e, const std::vector<Shape>& shapes) {
  const Function& callee = program_.function(e.callee);
  for (size_t i = 0; i < e.operands.size(); ++i) {
    Expr& argument = *e.operands[i];
    DType want = program_.header(e.callee).param_types[i].elem;
    if (CanAdapt(argument, want)) {
      Adapt(argument, want);
      continue;
    }
    e.type = Type();
    return Fail(argument, "argument '" + callee.params[i].name + "' of '" + e.name +
                              "' must have elements of type " + DTypeName(want) + ", got " +
                              Text(argument.type, shapes[i]) + CastAdviceTo(argument, want));
  }
  e.type = Type::Scalar(callee.result_type.elem);
  Shape shape = Broadcast(e, shapes);
  if (e.type.kind == Type::Kind::kError || callee.result_type.kind == Type::Kind::kScalar) {
    return shape;
  }
  Type tuple = Type::Tuple({});
  for (const Type& t : callee.result_type.elements) {
    tuple.elements.push_back(ArrayType(e, t.elem, shape.dims.size()));
  }
  e.type = tuple;
  return Shape{{}, std::vector<Shape>(tuple.elements.size(), shape)};
}

}  // namespace pullback::lang
