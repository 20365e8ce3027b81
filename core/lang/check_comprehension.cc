// gen, sum, prod, max, min, argmax, argmin, and, or, exists: with binders and a body, or (the first five but
// gen) as a call with one array; scans.
#include <algorithm>

#include "core/lang/builtins.h"
#include "core/lang/check_body.h"
#include "core/lang/spelling.h"
#include "core/lang/struct_array.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

std::string Word(Comprehension c) { return "'" + std::string(Spelling(c)) + "'"; }

ExprPtr MakeName(uint32_t local, const Type& type, const Span& span) {
  auto e = std::make_unique<Expr>();
  e->kind = Expr::Kind::kName;
  e->span = span;
  e->local = local;
  e->type = type;
  return e;
}

ExprPtr MakeDim(ExprPtr array, int64_t axis) {
  auto e = std::make_unique<Expr>();
  e->kind = Expr::Kind::kCall;
  e->span = array->span;
  e->name = "dim";
  e->builtin = static_cast<int>(Builtin::Dim);
  e->type = Type::Scalar(DType::kI64);
  auto literal = std::make_unique<Expr>();
  literal->kind = Expr::Kind::kInt;
  literal->span = array->span;
  literal->int_value = axis;
  literal->type = e->type;
  e->operands.push_back(std::move(array));
  e->operands.push_back(std::move(literal));
  return e;
}

}  // namespace

// A bound may speak of the binders before it, but an array made by gen is regular.
void BodyChecker::CheckBinders(Expr& e) {
  uint32_t first = static_cast<uint32_t>(f_.locals.size());
  for (size_t i = 0; i < e.binders.size(); ++i) {
    Binder& b = e.binders[i];
    CheckBounds(b);
    for (size_t j = 0; j < i; ++j) {
      if (e.binders[j].name != b.name) continue;
      report_.Error(b.span, "'" + b.name + "' is bound twice in one " + Word(e.comprehension));
    }
    if (e.comprehension == Comprehension::kGen && i > 0) CheckIndependent(b, first);
    DeclareBinder(b);
  }
}

void BodyChecker::CheckIndependent(const Binder& b, uint32_t first) {
  auto visit = [&](const Expr& name) {
    if (name.kind != Expr::Kind::kName || name.local == kNone || name.local < first) return;
    if (f_.locals[name.local].kind != Local::Kind::kBinder) return;
    report_.Error(name.span, "a bound of 'gen' may not depend on '" + name.name +
                                 "': the rows of an array are equally long");
  };
  ForEachExpr(b, visit);
}

Shape BodyChecker::CheckComprehension(Expr& e) {
  size_t mark = scope_.Mark();
  uint32_t first_binder = static_cast<uint32_t>(f_.locals.size());
  CheckBinders(e);
  Shape body = CheckValueBlock(e.body, "the body of a comprehension");
  Shape shape;
  if (e.comprehension == Comprehension::kGen) {
    for (const Binder& b : e.binders) shape.dims.push_back(Extent(b));
  }
  scope_.Reset(mark);
  e.type = Type();
  if (!CheckComprehensionBody(e, body) || !CheckRegular(e, body, first_binder)) return {};
  if (IsLogical(e.comprehension)) {
    e.type = Type::Scalar(DType::kBool);
    return {};
  }
  if (IsArg(e.comprehension)) {
    const Type index = Type::Scalar(DType::kI64);
    const size_t count = e.binders.size();
    e.type = count == 1 ? index : Type::Tuple(std::vector<Type>(count, index));
    return Shape{{}, std::vector<Shape>(count == 1 ? 0 : count)};
  }
  if (IsComposite(e.body.result->type)) {
    shape = ArrayOver(std::move(body), shape.dims);
    ForgetLocals(shape, first_binder);
    const int rank =
        e.comprehension == Comprehension::kGen ? static_cast<int>(e.binders.size()) : 0;
    e.type = ArrayOver(e.body.result->type, rank);
    if (!CheckTypeLimits(e.type, e.span, report_, limits_)) e.type = Type();
    return shape;
  }
  shape.dims.insert(shape.dims.end(), body.dims.begin(), body.dims.end());
  ForgetLocals(shape, first_binder);
  e.type = ArrayType(e, e.body.result->type.elem, shape.dims.size());
  return shape;
}

bool BodyChecker::CheckComprehensionBody(Expr& e, const Shape& shape) {
  Expr& value = *e.body.result;
  const Type& type = value.type;
  std::string word = Word(e.comprehension);
  if (type.kind == Type::Kind::kError) return false;
  if (IsLogical(e.comprehension)) {
    if (type == Type::Scalar(DType::kBool)) return true;
    Fail(value, word + " needs a bool for each element, got " + Text(type, shape));
    return false;
  }
  if (IsComposite(type) && !IsArg(e.comprehension)) return CheckParts(e, shape);
  if (type.kind != Type::Kind::kScalar && type.kind != Type::Kind::kArray) {
    Fail(value, word + " needs a scalar or an array for each element, got " + Text(type, shape));
    return false;
  }
  if (e.comprehension == Comprehension::kGen) return true;
  if (type.elem == DType::kBool) {
    bool scalar = type.kind == Type::Kind::kScalar;
    Fail(value, word + " needs numbers, got " + Text(type, shape) +
                    (scalar ? "; [p] is 1 where p holds and 0 elsewhere" : ""));
    return false;
  }
  if (type.kind == Type::Kind::kScalar || !IsArg(e.comprehension)) return true;
  Fail(value, word + " needs a number for each element, got " + Text(type, shape));
  return false;
}

namespace {

bool HoldsBool(const Type& t) {
  bool holds =
      t.elem == DType::kBool && (t.kind == Type::Kind::kScalar || t.kind == Type::Kind::kArray);
  ForEachPart(t, [&](const Type& part) { holds = holds || HoldsBool(part); });
  return holds;
}

}  // namespace

// A tuple or struct for each element: an array of them, or each part summed for itself.
bool BodyChecker::CheckParts(Expr& e, const Shape& shape) {
  Expr& value = *e.body.result;
  const std::string why = WhyNoElement(value.type, program_.structs(f_), limits_);
  if (!why.empty()) {
    Fail(value, why);
    return false;
  }
  if (e.comprehension == Comprehension::kGen || !HoldsBool(value.type)) return true;
  Fail(value, Word(e.comprehension) + " needs numbers, got " + Text(value.type, shape));
  return false;
}

// Whether the body's sizes are the same for all binders, as far as one can tell here.
bool BodyChecker::CheckRegular(Expr& e, const Shape& body, uint32_t first_binder) {
  for (const Size& dim : body.dims) {
    if (!dim.Mentions(first_binder)) continue;
    Fail(*e.body.result, "the size " + Text(dim) + " differs from element to element of this " +
                             Word(e.comprehension));
    return false;
  }
  return std::all_of(body.elements.begin(), body.elements.end(),
                     [&](const Shape& part) { return CheckRegular(e, part, first_binder); });
}

// sum(x), and prod, max, min with one array, reduce over all its axes.
bool BodyChecker::IsReduction(const Expr& e) const {
  static constexpr std::string_view kNames[] = {"sum", "prod", "max", "min"};
  return std::find(std::begin(kNames), std::end(kNames), e.name) != std::end(kNames) &&
         (e.operands.size() == 1 || e.name == "sum" || e.name == "prod");
}

Shape BodyChecker::CheckReduction(Expr& e) {
  if (e.operands.size() != 1) {
    return Fail(
        e, "'" + e.name + "' takes one array, or binders and a body: " + e.name + " i < n { … }");
  }
  Shape shape = Check(e.operands[0]);
  const Type type = e.operands[0]->type;
  e.type = Type();
  if (type.kind == Type::Kind::kError) return {};
  if (type.kind != Type::Kind::kArray || type.elem == DType::kBool) {
    bool pair = e.name == "max" || e.name == "min";
    return Fail(e, "'" + e.name + "' of one argument needs an array of numbers" +
                       (pair ? ", or takes two scalars" : "") + ", got " + Text(type, shape));
  }
  MakeReduction(e, type, shape);
  return {};
}

// e becomes  max i < dim(x, 0), j < dim(x, 1) { x[i, j] }  where x is its operand, evaluated once.
void BodyChecker::MakeReduction(Expr& e, const Type& array, const Shape& shape) {
  e.kind = Expr::Kind::kComprehension;
  e.comprehension = e.name == "sum"    ? Comprehension::kSum
                    : e.name == "prod" ? Comprehension::kProd
                    : e.name == "max"  ? Comprehension::kMax
                                       : Comprehension::kMin;
  e.type = Type::Scalar(array.elem);
  size_t mark = scope_.Mark();
  e.local = Declare(Local::Kind::kLet, "", e.span, array, shape);
  auto element = std::make_unique<Expr>();
  element->kind = Expr::Kind::kIndex;
  element->span = e.span;
  element->type = e.type;
  element->operands.push_back(MakeName(e.local, array, e.span));
  for (int axis = 0; axis < array.rank; ++axis) {
    Binder b;
    b.span = e.span;
    b.hi = MakeDim(MakeName(e.local, array, e.span), axis);
    DeclareBinder(b);
    Subscript s;
    s.index = MakeName(b.local, Type::Scalar(DType::kI64), e.span);
    s.span = e.span;
    element->subscripts.push_back(std::move(s));
    e.binders.push_back(std::move(b));
  }
  e.body.result = std::move(element);
  e.body.span = e.span;
  scope_.Reset(mark);
}

// operands[0] makes the array of the terms.
Shape BodyChecker::CheckScan(Expr& e) {
  Shape shape = Check(e.operands[0]);
  const Expr& terms = *e.operands[0];
  e.type = Type();
  if (terms.type.kind == Type::Kind::kError) return {};
  const std::string word = "a scan of " + Word(e.comprehension);
  const Expr& value = *terms.body.result;
  if (IsComposite(terms.type)) {
    return Fail(e, word + " needs numbers, got " + ToString(value.type) +
                       ": scan each part for itself, or use the prelude's scan");
  }
  if (terms.type.elem == DType::kBool) {
    return Fail(e, word + " needs numbers, got " + ToString(value.type));
  }
  e.type = terms.type;
  return shape;
}

// scan_linear(a, b)
Shape BodyChecker::CheckScanLinear(Expr& e, const std::vector<Shape>& shapes) {
  for (size_t i = 0; i < 2; ++i) {
    const Type& type = e.operands[i]->type;
    if (type.kind == Type::Kind::kArray && type.rank == 1 &&
        (type.elem == DType::kF64 || type.elem == DType::kF32))
      continue;
    return Fail(*e.operands[i], "'scan_linear' takes two arrays of floats, of rank 1, got " +
                                    Text(type, shapes[i]));
  }
  if (e.operands[0]->type != e.operands[1]->type) {
    return Fail(e, "the arguments of 'scan_linear' must have one type, got " +
                       Text(e.operands[0]->type, shapes[0]) + " and " +
                       Text(e.operands[1]->type, shapes[1]));
  }
  MustEqual(shapes[1], shapes[0], e.operands[1]->span, "the second argument of 'scan_linear'");
  e.type = e.operands[0]->type;
  return shapes[0];
}

}  // namespace pullback::lang
