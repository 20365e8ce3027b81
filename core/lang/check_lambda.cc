// Functions as values: names of functions, lambdas and what they capture, calls of values and of
// templates.
#include "core/lang/builtins.h"
#include "core/lang/check_body.h"
#include "core/lang/scope_walk.h"
#include "core/lang/struct_array.h"

namespace pullback::lang {

Shape BodyChecker::FunctionValue(Expr& e, Type::Closure closure, uint32_t code) {
  e.type = Type::Function(closure, code, {});
  return {};
}

// Every axis has a size variable's size, so that the lambda's instance may declare it.
bool BodyChecker::NamesSizes(const Shape& shape) const {
  for (const Size& dim : shape.dims) {
    const Size::Terms& terms = dim.terms();
    if (terms.size() != 1 || terms.begin()->second != 1 || terms.begin()->first.size() != 1) {
      return false;
    }
    const uint32_t local = terms.begin()->first[0];
    const Local& size = f_.locals[local];
    if (size.kind != Local::Kind::kSize || scope_.Find(size.name) != local) return false;
  }
  return !shape.dims.empty();
}

// The captured variables become parameters; sizes that a captured array gives do not.
bool BodyChecker::AddCaptures(const Lambda& lambda, LambdaCode& code,
                              std::vector<uint32_t>& locals) {
  std::unordered_set<uint32_t> given;
  for (const FreeName& free : FreeNames(lambda)) {
    const uint32_t local = scope_.Find(free.name);
    if (local == kNone) continue;
    locals.push_back(local);
    if (f_.locals[local].type.kind == Type::Kind::kError) return false;
    if (!NamesSizes(facts_[local].shape)) continue;
    for (const Size& dim : facts_[local].shape.dims) given.insert(dim.terms().begin()->first[0]);
  }
  std::erase_if(locals, [&](uint32_t local) { return given.count(local) != 0; });
  for (uint32_t local : locals) {
    const Local& l = f_.locals[local];
    Param p;
    p.name = l.name;
    p.span = l.span;
    p.is_size = l.kind == Local::Kind::kSize;
    p.shared = l.shared;
    p.type = GivenType(l.type, l.span);
    if (NamesSizes(facts_[local].shape)) {
      p.type = TypeExpr();
      p.type.kind = TypeExpr::Kind::kArray;
      p.type.elem = l.type.elem;
      if (l.type.kind == Type::Kind::kStructArray) {
        p.type.kind = TypeExpr::Kind::kStructArray;
        p.type.elements.push_back(GivenType(l.type.elements[0], l.span));
      }
      p.type.span = l.span;
      for (const Size& dim : facts_[local].shape.dims) {
        auto name = std::make_unique<Expr>();
        name->kind = Expr::Kind::kName;
        name->span = l.span;
        name->name = f_.locals[dim.terms().begin()->first[0]].name;
        p.type.dims.push_back(std::move(name));
      }
    }
    code.captures.push_back(std::move(p));
  }
  return true;
}

Shape BodyChecker::CheckLambda(Expr& e) {
  LambdaCode code;
  code.lambda = e.lambda.get();
  code.span = e.span;
  code.from_prelude = f_.from_prelude;
  std::vector<uint32_t> locals;
  e.type = Type();
  if (!AddCaptures(*e.lambda, code, locals)) return {};
  std::vector<Type> types;
  Shape shape;
  for (uint32_t local : locals) {
    const Local& l = f_.locals[local];
    auto name = std::make_unique<Expr>();
    name->kind = Expr::Kind::kName;
    name->name = l.name;
    name->span = e.span;
    name->local = local;
    name->type = l.type;
    e.operands.push_back(std::move(name));
    types.push_back(l.type);
    shape.elements.push_back(facts_[local].shape);
  }
  e.type =
      Type::Function(Type::Closure::kLambda, program_.AddLambda(std::move(code)), std::move(types));
  if (!CheckTypeLimits(e.type, e.span, report_, limits_)) e.type = Type();
  return shape;
}

// (if c { f } else { g })(x): the arguments say which type.
bool BodyChecker::DecideCall(Expr& e) {
  Expr& function = *e.operands[0];
  if (function.type.closure != Type::Closure::kUndecided) return true;
  const Expr* first = &function;
  while (first->kind == Expr::Kind::kIf) first = first->arms[0].body.result.get();
  std::vector<Type> types;
  for (size_t i = 1; i < e.operands.size(); ++i) types.push_back(e.operands[i]->type);
  const uint32_t callee =
      program_.Instantiate(first->type, types, e.span, index_, LooseOperands(e, 1));
  e.type = Type();
  if (callee == kNone || !program_.function(callee).has_result) return false;
  types.push_back(program_.ResultOf(callee));
  const Type signature = Type::Dynamic(std::move(types));
  if (!CheckTypeSize(signature, e.span, report_, limits_)) return false;
  if (Convert(function, signature)) {
    return function.type.kind != Type::Kind::kError;
  }
  Fail(function, "the arms of this 'if' give functions that do not fit this call");
  return false;
}

Shape BodyChecker::CheckApply(Expr& e) {
  std::vector<Shape> shapes;
  if (!CheckOperands(e, shapes)) return {};
  if (!DecideCall(e)) return {};
  const Type function = e.operands[0]->type;
  if (function.kind == Type::Kind::kRelation) return CheckRelated(e, shapes);
  if (function.kind != Type::Kind::kFunction) {
    return Fail(e, "only a function can be called, and this is " + Text(function, shapes[0]));
  }
  e.kind = Expr::Kind::kCall;
  return CallValue(e, function, shapes);
}

// Literals, whose type follows from the others'.
std::vector<bool> BodyChecker::LooseOperands(const Expr& e, size_t first) const {
  std::vector<bool> loose;
  for (size_t i = first; i < e.operands.size(); ++i) {
    const Expr& operand = *e.operands[i];
    const bool data = operand.type.kind == Type::Kind::kScalar;
    loose.push_back(data && operand.type.elem != DType::kF32 && CanAdapt(operand, DType::kF32));
  }
  return loose;
}

// Gives literals the types that the template declares for its function's parameters.
bool BodyChecker::ConvertToDeclared(Expr& e, size_t first) {
  const Expr& value = *e.operands[0];
  if (value.kind != Expr::Kind::kName || value.local == kNone) return true;
  const std::vector<Type>& declared = facts_[value.local].arguments;
  for (size_t i = 0; i < declared.size(); ++i) {
    Expr& argument = *e.operands[first + i];
    if (Convert(argument, declared[i])) continue;
    Fail(argument, "'" + e.name + "' takes " + ToString(declared[i]) + " here, got " +
                       ToString(argument.type));
    return false;
  }
  return true;
}

// operands[0] is the function's value.
Shape BodyChecker::CallValue(Expr& e, const Type& function, const std::vector<Shape>& shapes) {
  e.type = Type();
  const int wanted = program_.Arity(function);
  const size_t got = e.operands.size() - 1;
  if (wanted >= 0 && got != static_cast<size_t>(wanted)) {
    return Fail(e, program_.Describe(function) + " takes " + std::to_string(wanted) +
                       (wanted == 1 ? " argument" : " arguments") + ", got " + std::to_string(got));
  }
  if (function.IsDynamic()) return CallDynamic(e, shapes);
  if (!ConvertToDeclared(e, 1)) return {};
  std::vector<Type> args;
  for (size_t i = 1; i < e.operands.size(); ++i) args.push_back(e.operands[i]->type);
  e.callee = program_.Instantiate(function, args, e.span, index_, LooseOperands(e, 1));
  if (e.callee == kNone) return {};
  e.applies = true;
  e.captures = static_cast<uint32_t>(function.elements.size());
  return CheckedCall(e, shapes);
}

// A function that is one of several gets the type that the template declares. So does one that a
// template hands to itself again and again: its type would hold itself without end.
bool BodyChecker::DecideArgument(Expr& e, const TypeExpr& pattern, uint32_t callee) {
  constexpr int kMostNested = 3;
  if (e.type.kind == Type::Kind::kFunction && pattern.kind == TypeExpr::Kind::kFunction) {
    const bool captures = !e.type.IsDynamic() && !e.type.elements.empty();
    const bool grows = captures && program_.NestedInstances(callee, index_) >= kMostNested;
    const Type declared = DynamicOf(pattern, {});
    const bool known = declared.kind != Type::Kind::kError;
    if (known && (grows || HasUnknown(e.type))) {
      return Convert(e, declared) && e.type.kind != Type::Kind::kError;
    }
  }
  return e.type.closure != Type::Closure::kUndecided || Settle(e, "let g");
}

Shape BodyChecker::CallTemplate(Expr& e, const std::vector<Shape>& shapes) {
  const Type self = Type::Function(Type::Closure::kNamed, e.callee, {});
  const Function& source = program_.function(e.callee);
  e.type = Type();
  std::vector<Type> args;
  for (size_t i = 0; i < e.operands.size(); ++i) {
    const TypeExpr& pattern = source.params[i].type;
    if (!DecideArgument(*e.operands[i], pattern, e.callee)) return {};
    const Type& type = e.operands[i]->type;
    args.push_back(type);
    const bool array = type.kind == Type::Kind::kArray || type.kind == Type::Kind::kStructArray;
    if (IsStructArray(pattern) && !array) {  // of a parameter's type, which nothing says then
      const size_t axes = pattern.dims.size();
      return Fail(*e.operands[i], "argument '" + source.params[i].name + "' of '" + e.name +
                                      "' must be an array of " + std::to_string(axes) +
                                      (axes == 1 ? " axis" : " axes") + ", got " +
                                      Text(type, shapes[i]));
    }
    if (pattern.kind != TypeExpr::Kind::kFunction) continue;
    const int takes = static_cast<int>(pattern.elements.size()) - 1;
    const bool function = type.kind == Type::Kind::kFunction;
    if (function && (program_.Arity(type) < 0 || program_.Arity(type) == takes)) continue;
    return Fail(
        *e.operands[i],
        "argument '" + source.params[i].name + "' of '" + e.name + "' must be a function of " +
            std::to_string(takes) + (takes == 1 ? " argument" : " arguments") + ", got " +
            (function ? "one of " + std::to_string(program_.Arity(type)) : Text(type, shapes[i])));
  }
  e.callee = program_.Instantiate(self, args, e.span, index_, LooseOperands(e, 0));
  if (e.callee == kNone) return {};
  return CheckedCall(e, shapes);
}

}  // namespace pullback::lang
