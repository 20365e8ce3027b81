// Literals take the type of what stands beside them. Nothing else converts by itself.
#include <algorithm>

#include "core/lang/check_body.h"
#include "core/lang/struct_array.h"

namespace pullback::lang {
namespace {

bool IsFloat(DType t) { return t == DType::kF64 || t == DType::kF32; }

// i64 -> f64, i64 -> f32, f64 -> f32.
bool Widens(DType from, DType to) {
  return (from == DType::kI64 && IsFloat(to)) || (from == DType::kF64 && to == DType::kF32);
}

// Operators through which literals adapt. Integer division means something else than division of
// floats, so an i64 one stays what it is.
bool AdaptsThrough(const Expr& e) {
  switch (e.binary) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kMul: return true;
    case BinaryOp::kDiv:
    case BinaryOp::kRem:
    case BinaryOp::kPow: return IsFloat(e.type.elem);
    default: return false;
  }
}

// The parts whose type is e's own: where adapting e continues.
template <typename E, typename Fn>
bool AllParts(E& e, Fn&& fn) {
  switch (e.kind) {
    case Expr::Kind::kUnary:
    case Expr::Kind::kBinary:
    case Expr::Kind::kArray:
      return std::all_of(e.operands.begin(), e.operands.end(), [&](auto& o) { return fn(*o); });
    case Expr::Kind::kIf:
      return std::all_of(e.arms.begin(), e.arms.end(),
                         [&](auto& arm) { return fn(*arm.body.result); });
    case Expr::Kind::kComprehension: return fn(*e.body.result);
    default: return true;
  }
}

}  // namespace

bool BodyChecker::CanAdapt(const Expr& e, DType elem) {
  if (e.type.elem == elem) return true;
  if (!Widens(e.type.elem, elem)) return false;
  switch (e.kind) {
    case Expr::Kind::kInt:
    case Expr::Kind::kFloat: return !e.has_suffix;
    case Expr::Kind::kIverson: return true;
    case Expr::Kind::kBinary:
      if (!AdaptsThrough(e)) return false;
      break;
    case Expr::Kind::kComprehension:
      if (!e.operands.empty() || IsArg(e.comprehension)) return false;
      break;
    case Expr::Kind::kUnary:
    case Expr::Kind::kArray:
    case Expr::Kind::kIf: break;
    default: return false;
  }
  return AllParts(e, [&](const Expr& part) { return CanAdapt(part, elem); });
}

void BodyChecker::Adapt(Expr& e, DType elem) {
  if (e.type.elem == elem) return;
  e.type.elem = elem;
  AllParts(e, [&](Expr& part) {
    Adapt(part, elem);
    return true;
  });
}

bool BodyChecker::Convert(Expr& e, const Type& want) {
  if (e.type.kind == Type::Kind::kError || want.kind == Type::Kind::kError || e.type == want) {
    return true;
  }
  if (e.type.kind != want.kind || e.type.rank != want.rank) return false;
  if (want.kind == Type::Kind::kTuple) return ConvertTuple(e, want);
  if (IsStructArray(want)) return ConvertStructArray(e, want);
  if (want.kind == Type::Kind::kList || want.kind == Type::Kind::kBox) return ConvertList(e, want);
  if (want.kind == Type::Kind::kFunction) return ConvertFunction(e, want);
  if ((want.kind != Type::Kind::kScalar && want.kind != Type::Kind::kArray) ||
      !CanAdapt(e, want.elem))
    return false;
  Adapt(e, want.elem);
  return true;
}

bool BodyChecker::ConvertTuple(Expr& e, const Type& want) {
  if (e.type.elements.size() != want.elements.size()) return false;
  bool converted = true;
  if (e.kind == Expr::Kind::kTuple) {
    for (size_t i = 0; i < e.operands.size(); ++i) {
      converted &= Convert(*e.operands[i], want.elements[i]);
      e.type.elements.Set(i, e.operands[i]->type);
    }
    return converted;
  }
  if (e.kind != Expr::Kind::kIf) return false;
  for (CondArm& arm : e.arms) converted &= Convert(*arm.body.result, want);
  if (converted) e.type = want;
  return converted;
}

// Arrays that are written out, of elements that are.
bool BodyChecker::ConvertStructArray(Expr& e, const Type& want) {
  bool converted = true;
  if (e.kind == Expr::Kind::kArray) {
    const Type element = ArrayOver(want.elements[0], want.rank - 1);
    for (ExprPtr& operand : e.operands) converted &= Convert(*operand, element);
  } else if (e.kind == Expr::Kind::kComprehension && e.comprehension == Comprehension::kGen) {
    const int axes = static_cast<int>(e.binders.size());
    converted = Convert(*e.body.result, ArrayOver(want.elements[0], want.rank - axes));
  } else if (e.kind == Expr::Kind::kIf) {
    for (CondArm& arm : e.arms) converted &= Convert(*arm.body.result, want);
  } else {
    return false;
  }
  if (converted) e.type = want;
  return converted;
}

// The type of a part that cannot adapt wins; among literals, the widest.
bool BodyChecker::Unify(const std::vector<ExprPtr*>& parts) {
  DType elem = (*parts[0])->type.elem;
  for (ExprPtr* part : parts) {
    if (!CanAdapt(**part, elem)) elem = (*part)->type.elem;
  }
  auto can = [&](ExprPtr* part) { return CanAdapt(**part, elem); };
  if (!std::all_of(parts.begin(), parts.end(), can)) return false;
  for (ExprPtr* part : parts) Adapt(**part, elem);
  return true;
}

// Unify, element by element, for tuples that are all written out.
void BodyChecker::UnifyTuples(const std::vector<ExprPtr*>& parts) {
  size_t count = (*parts[0])->operands.size();
  for (ExprPtr* part : parts) {
    if ((*part)->kind != Expr::Kind::kTuple || (*part)->operands.size() != count) return;
  }
  for (size_t i = 0; i < count; ++i) {
    std::vector<ExprPtr*> elements;
    for (ExprPtr* part : parts) elements.push_back(&(*part)->operands[i]);
    UnifyTuples(elements);
    Unify(elements);
    for (ExprPtr* part : parts) (*part)->type.elements.Set(i, (*part)->operands[i]->type);
  }
}

void BodyChecker::WrapInCast(ExprPtr& e, DType elem) {
  auto cast = std::make_unique<Expr>();
  cast->kind = Expr::Kind::kCast;
  cast->span = e->span;
  cast->elem = elem;
  cast->type = e->type;
  cast->type.elem = elem;
  cast->height = e->height + 1;
  cast->operands.push_back(std::move(e));
  e = std::move(cast);
}

std::string BodyChecker::SourceOf(const Expr& e) const {
  constexpr size_t kLongest = 24;
  if (e.span.line == 0 || f_.from_prelude || e.span.end - e.span.begin > kLongest) return "…";
  std::string source = program_.text().substr(e.span.begin, e.span.end - e.span.begin);
  return source.find('\n') == std::string::npos ? source : "…";
}

// "; write f64(k)": how to make e an `elem`. A `var s = 0` is rather meant to be a float.
std::string BodyChecker::CastAdviceTo(const Expr& e, DType elem) const {
  if (e.kind == Expr::Kind::kName && f_.locals[e.local].kind == Local::Kind::kVar &&
      e.type == Type::Scalar(DType::kI64) && IsFloat(elem)) {
    return "; if '" + e.name + "' shall be a float, give it one as its first value, such as 0.0";
  }
  return std::string("; write ") + DTypeName(elem) + "(" + SourceOf(e) + ")";
}

// How to mend an operation on two element types: the i64, else the f32, is cast.
std::string BodyChecker::CastAdvice(const Expr& a, const Expr& b) const {
  DType x = a.type.elem, y = b.type.elem;
  if (x == y || x == DType::kBool || y == DType::kBool) return "";
  bool cast_a = x == DType::kI64 || (x == DType::kF32 && y != DType::kI64);
  return cast_a ? CastAdviceTo(a, y) : CastAdviceTo(b, x);
}

}  // namespace pullback::lang
