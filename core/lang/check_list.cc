// Lists and boxes: what makes them, and what takes them apart.
#include "core/lang/builtins.h"
#include "core/lang/check_body.h"

namespace pullback::lang {

// A name of a variable that stands in a box: get(it).
Shape BodyChecker::ReadShared(Expr& e) {
  auto box = std::make_unique<Expr>();
  box->kind = Expr::Kind::kName;
  box->name = e.name;
  box->span = e.span;
  box->local = e.local;
  box->type = e.type;
  e.kind = Expr::Kind::kCall;
  e.builtin = static_cast<int>(Builtin::Get);
  e.local = kNone;
  e.type = Type(box->type.elements[0]);
  e.operands.push_back(std::move(box));
  return UnknownShape(e.type);
}

// The operands are checked, and as many as the function takes.
Shape BodyChecker::CheckListCall(Expr& e, const std::vector<Shape>& shapes) {
  const Builtin builtin = static_cast<Builtin>(e.builtin);
  e.type = Type();
  switch (builtin) {
    case Builtin::List: return CheckListLiteral(e);
    case Builtin::Push: return CheckPush(e, shapes);
    case Builtin::Set: return CheckSet(e, shapes);
    case Builtin::Repeat:
      ExpectI64(e.operands[1], "the number of copies");
      e.type = Type::List(ElementType(e.operands[0]->type));
      break;
    case Builtin::Box: e.type = Type::Box(ElementType(e.operands[0]->type)); break;
    case Builtin::Get: {
      const Type& box = e.operands[0]->type;
      if (box.kind != Type::Kind::kBox || HasUnknown(box)) {
        return Fail(e, "'get' takes a box, got " + Text(box, shapes[0]));
      }
      e.type = Type(box.elements[0]);
      return UnknownShape(e.type);
    }
    default: {  // pop, last
      if (!ExpectList(e, shapes[0])) return {};
      const Type list = e.operands[0]->type;
      e.type = builtin == Builtin::Last ? list.elements[0] : Type::Tuple({list, list.elements[0]});
      return UnknownShape(e.type);
    }
  }
  if (!CheckTypeLimits(e.type, e.span, report_, limits_)) e.type = Type();
  return {};
}

bool BodyChecker::ExpectList(Expr& e, const Shape& shape) {
  const Type& type = e.operands[0]->type;
  if (type.kind == Type::Kind::kList && !HasUnknown(type)) return true;
  Fail(e, "'" + e.name + "' takes a list, got " + Text(type, shape));
  return false;
}

// What an element of that type is in a list or box. A function is one of several there.
Type BodyChecker::ElementType(const Type& type) {
  if (type.kind != Type::Kind::kFunction || type.closure == Type::Closure::kDynamic) return type;
  return Type::Function(Type::Closure::kUndecided, 0, {});
}

// list(a, b, …): elements of one type. Of an empty one the type follows from what it is used as.
Shape BodyChecker::CheckListLiteral(Expr& e) {
  if (e.operands.empty()) {
    Type unknown;
    unknown.kind = Type::Kind::kUnit;
    e.type = Type::List(unknown);
    return {};
  }
  std::vector<ExprPtr*> parts;
  for (ExprPtr& operand : e.operands) parts.push_back(&operand);
  UnifyTuples(parts);
  Unify(parts);
  Type element = ElementType(e.operands[0]->type);
  for (const ExprPtr& operand : e.operands) {
    const bool known = !HasUnknown(ElementType(operand->type));
    if (HasUnknown(element) && known && operand->type.kind == element.kind) element = operand->type;
  }
  for (ExprPtr& operand : e.operands) {
    if (ElementType(operand->type) == element || Convert(*operand, element)) continue;
    return Fail(*operand, "the elements of this list differ: the first is " + ToString(element) +
                              ", this one " + ToString(operand->type));
  }
  e.type = Type::List(std::move(element));
  if (!CheckTypeLimits(e.type, e.span, report_, limits_)) e.type = Type();
  return {};
}

// list(…) as a list of that type.
bool BodyChecker::ConvertList(Expr& e, const Type& want) {
  bool converted = true;
  if (e.kind == Expr::Kind::kIf) {
    for (CondArm& arm : e.arms) converted = Convert(*arm.body.result, want) && converted;
  } else if (e.kind == Expr::Kind::kCall && e.builtin == static_cast<int>(Builtin::List)) {
    for (ExprPtr& operand : e.operands) {
      converted = Convert(*operand, want.elements[0]) && converted;
    }
  } else if (e.kind == Expr::Kind::kCall && (e.builtin == static_cast<int>(Builtin::Repeat) ||
                                             e.builtin == static_cast<int>(Builtin::Box))) {
    converted = Convert(*e.operands[0], want.elements[0]);
  } else {
    return false;
  }
  if (converted) e.type = want;
  return converted;
}

Shape BodyChecker::CheckPush(Expr& e, const std::vector<Shape>& shapes) {
  Expr& list = *e.operands[0];
  Expr& value = *e.operands[1];
  if (list.type.kind != Type::Kind::kList) {
    return Fail(e, "'push' takes a list, got " + Text(list.type, shapes[0]));
  }
  if (HasUnknown(list.type)) {
    if (!Settle(value, "let x")) return {};
    const Type element = ElementType(value.type);
    const bool function = element.closure == Type::Closure::kUndecided;
    const size_t reported = report_.count();
    Convert(list, Type::List(function ? FindSignature(value) : element));
    if (report_.count() > reported) return {};  // why it is not known
    if (HasUnknown(list.type)) {
      return Fail(list, "the type of this list's elements is not known; give it a name and a type");
    }
  }
  const Type type = list.type;
  if (!Convert(value, type.elements[0])) {
    return Fail(value, "this list holds " + ToString(type.elements[0]) + ", but the value is " +
                           Text(value.type, shapes[1]));
  }
  e.type = type;
  return {};
}

// set(b, e): a statement.
Shape BodyChecker::CheckSet(Expr& e, const std::vector<Shape>& shapes) {
  const Type box = e.operands[0]->type;
  Expr& value = *e.operands[1];
  if (alone_ != &e) return Fail(e, "'set' has no value: it stands alone, as a statement");
  if (box.kind != Type::Kind::kBox) {
    return Fail(e, "'set' takes a box, got " + Text(box, shapes[0]));
  }
  if (!Convert(value, box.elements[0])) {
    return Fail(value, "this box holds " + ToString(box.elements[0]) + ", but the value is " +
                           Text(value.type, shapes[1]));
  }
  e.type.kind = Type::Kind::kUnit;
  return {};
}

bool BodyChecker::CheckListSubscript(const std::vector<Subscript>& subscripts, const Span& span) {
  if (subscripts.size() == 1 && !subscripts[0].is_slice) return true;
  report_.Error(span, "a list takes one index, not " + (subscripts.size() == 1
                                                            ? std::string("a slice")
                                                            : std::to_string(subscripts.size())));
  return false;
}

// xs[lo:hi:step], a call of the prelude.
Shape BodyChecker::CheckListSlice(Expr& e) {
  Subscript s = std::move(e.subscripts[0]);
  e.subscripts.clear();
  e.kind = Expr::Kind::kCall;
  e.name = s.hi ? "list_slice" : "list_tail";
  const auto number = [&](ExprPtr part, int64_t otherwise) {
    if (!part) {
      part = std::make_unique<Expr>();
      part->kind = Expr::Kind::kInt;
      part->span = e.span;
      part->int_value = otherwise;
      part->type = Type::Scalar(DType::kI64);
    }
    e.operands.push_back(std::move(part));
  };
  number(std::move(s.lo), 0);
  if (s.hi) number(std::move(s.hi), 0);
  number(std::move(s.step), 1);
  e.callee = program_.FindPrelude(e.name);
  return CallTemplate(e, std::vector<Shape>(e.operands.size()));
}

// xs[i]
Shape BodyChecker::CheckListIndex(Expr& e, bool subscripts_good) {
  const bool slice = e.subscripts.size() == 1 && e.subscripts[0].is_slice;
  if (subscripts_good && slice && !HasUnknown(e.operands[0]->type)) return CheckListSlice(e);
  if (!subscripts_good || !CheckListSubscript(e.subscripts, e.span)) return {};
  const Type& list = e.operands[0]->type;
  if (HasUnknown(list)) return Fail(e, "this list is empty, and its elements have no type");
  e.type = Type(list.elements[0]);
  return UnknownShape(e.type);
}

}  // namespace pullback::lang
