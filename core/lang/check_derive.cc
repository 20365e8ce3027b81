// Derivative operators: what they make of functions, and the rules that a function brings along.
//
// An operator gives a function value whose code is an instance like any other: its parameters are the
// function (what that captures), then arguments, and its body one kDerive. So nesting is calls of
// instances, and a level is a function of the program.
#include <algorithm>

#include "core/lang/builtins.h"
#include "core/lang/check_body.h"

namespace pullback::lang {
namespace {

const char* NameOf(DeriveOp op) {
  switch (op) {
    case DeriveOp::kGrad: return "grad";
    case DeriveOp::kValueAndGrad: return "value_and_grad";
    case DeriveOp::kVjp: return "vjp";
    case DeriveOp::kPullback: return "the pullback";
    case DeriveOp::kJvp: return "jvp";
    case DeriveOp::kJacobian: return "jacobian";
    case DeriveOp::kCheckpoint: return "checkpoint";
  }
  return "";
}

bool IsFloat(const Type& t) {
  return t.kind == Type::Kind::kScalar && (t.elem == DType::kF64 || t.elem == DType::kF32);
}

// One stands alone; several are a tuple.
Type AloneOrTuple(std::vector<Type> types) {
  return types.size() == 1 ? Type(types[0]) : Type::Tuple(std::move(types));
}

ExprPtr NameNode(const std::string& name, const Span& span) {
  auto e = std::make_unique<Expr>();
  e->kind = Expr::Kind::kName;
  e->name = name;
  e->span = span;
  return e;
}

ExprPtr FieldNode(ExprPtr of, size_t index) {
  auto e = std::make_unique<Expr>();
  e->kind = Expr::Kind::kField;
  e->span = of->span;
  e->int_value = static_cast<int64_t>(index);
  e->operands.push_back(std::move(of));
  return e;
}

ExprPtr ClosureNode(DeriveOp op, const Span& span) {
  auto e = std::make_unique<Expr>();
  e->kind = Expr::Kind::kClosure;
  e->derive = op;
  e->span = span;
  return e;
}

// `name` where the function takes one argument; the elements of the tuple where it takes several.
void AddArguments(Expr& e, const std::string& name, size_t arity) {
  for (size_t i = 0; i < arity; ++i) {
    ExprPtr all = NameNode(name, e.span);
    e.operands.push_back(arity == 1 ? std::move(all) : FieldNode(std::move(all), i));
  }
}

}  // namespace

bool CarriesFloat(const Type& t) {
  if (t.IsDynamic()) return false;
  if (t.kind == Type::Kind::kScalar || t.kind == Type::Kind::kArray) {
    return t.elem == DType::kF64 || t.elem == DType::kF32;
  }
  std::set<const Struct*> seen;
  const std::function<bool(const Type&)> carries = [&](const Type& type) {
    if (type.kind == Type::Kind::kScalar || type.kind == Type::Kind::kArray) {
      return CarriesFloat(type);
    }
    if (type.kind == Type::Kind::kStruct && !seen.insert(type.structure).second) return false;
    const bool holds = type.kind == Type::Kind::kList || type.kind == Type::Kind::kBox;
    if (holds) return carries(type.elements[0]);
    bool any = false;
    ForEachPart(type, [&](const Type& part) { any = any || carries(part); });
    return any;
  };
  return carries(t);
}

Type GradientType(const Type& t) {
  if (t.kind != Type::Kind::kFunction) return t;
  return GradientType(t.elements);
}

Type GradientType(const std::vector<Type>& types) {
  std::vector<Type> gradients;
  for (const Type& t : types) {
    if (CarriesFloat(t)) gradients.push_back(GradientType(t));
  }
  return AloneOrTuple(std::move(gradients));
}

// --- the operators as functions that give functions

std::string ProgramChecker::DescribeDerived(const Type& t) const {
  return std::string(NameOf(derived_[t.code].op)) + " of " + Describe(t.elements[0]);
}

Type ProgramChecker::Derived(DeriveOp op, std::vector<Type> captures) {
  std::string key = NameOf(op);
  for (const Type& t : captures) key += " " + KeyOf(t);
  const auto [it, added] = derived_codes_.emplace(key, static_cast<uint32_t>(derived_.size()));
  if (added) derived_.push_back({op});
  return Type::Function(Type::Closure::kDerived, it->second, std::move(captures));
}

int ProgramChecker::DerivedArity(const Type& t) const {
  switch (derived_[t.code].op) {
    case DeriveOp::kVjp:
    case DeriveOp::kPullback: return 1;
    case DeriveOp::kJvp: return 2;
    default: return Arity(t.elements[0]);
  }
}

std::vector<Type> ProgramChecker::DerivedParams(const Type& function, const Span& at,
                                                uint32_t from) {
  const Type signature = SignatureOf(function.elements[0], at, from);
  if (!signature.IsDynamic()) return {Type()};
  std::vector<Type> params = signature.elements;
  const Type result = params.back();
  params.pop_back();
  switch (derived_[function.code].op) {
    case DeriveOp::kPullback: return {result};
    case DeriveOp::kVjp: return {AloneOrTuple(std::move(params))};
    case DeriveOp::kJvp: return std::vector<Type>(2, AloneOrTuple(std::move(params)));
    default: return params;
  }
}

// The instance of the function itself, and what it takes and gives.
uint32_t ProgramChecker::DerivedInstance(const Type& function, const std::vector<Type>& args,
                                         InstanceInfo info, const std::vector<bool>& loose) {
  const DeriveOp op = derived_[function.code].op;
  const Type& inner = function.elements[0];
  const bool packed = op == DeriveOp::kVjp || op == DeriveOp::kPullback || op == DeriveOp::kJvp;
  const int arity = Arity(inner);
  if (arity < 0) {
    report_.Unimplemented(info.at, std::string(NameOf(op)) + " of " + Describe(inner));
    return kNone;
  }
  std::vector<Type> inner_args = args;
  if (packed) {
    const Type& x = op == DeriveOp::kPullback ? function.elements[1] : args[0];
    const bool tuple =
        x.kind == Type::Kind::kTuple && x.elements.size() == static_cast<size_t>(arity);
    if (arity != 1 && !tuple) {
      report_.Error(info.at, Describe(inner) + " takes " + std::to_string(arity) + " arguments: " +
                                 NameOf(op) + " needs them as a tuple, got " + ToString(x));
      return kNone;
    }
    inner_args = arity == 1 ? std::vector<Type>{x} : x.elements;
  }
  const uint32_t called =
      Instantiate(inner, inner_args, info.at, info.from, packed ? std::vector<bool>() : loose);
  if (called == kNone) return kNone;
  const std::vector<Type>& declared = header(called).param_types;
  std::vector<Type> types(declared.end() - arity, declared.end());
  if (op == DeriveOp::kPullback) {
    types = {ResultOf(called)};
  } else if (packed) {
    const Type x = AloneOrTuple(types);
    types = std::vector<Type>(args.size(), x);
  }
  const uint32_t known = FindInstance(function, types);
  if (known != kNone) return known;
  if (!MayAdd(info)) return kNone;
  std::unique_ptr<Function> f =
      DerivedCode(op, function, types, static_cast<size_t>(arity), info.at);
  f->from_prelude = program_.functions[info.from]->from_prelude;
  const uint32_t instance = Add(std::move(f), std::move(info));
  Keep(instance, function, types);
  return instance;
}

// fn grad(f, x0, x1) { return derive(f, x0, x1) }
// fn jvp(f, x, v) { return derive(f, x.0, x.1, v.0, v.1) }
// fn vjp(f, x) { return (f(x.0, x.1), closure(f, x)) }
// fn pullback(f, x, seed) { return derive(f, x.0, x.1, seed) }
std::unique_ptr<Function> ProgramChecker::DerivedCode(DeriveOp op, const Type& function,
                                                      const std::vector<Type>& types, size_t arity,
                                                      const Span& at) {
  auto f = std::make_unique<Function>();
  f->name = op == DeriveOp::kPullback ? "pullback" : NameOf(op);
  f->span = at;
  f->has_result = true;
  f->infers_result = true;
  auto add = [&](const std::string& name, const Type& type) {
    f->params.push_back({name, GivenType(type, at), at});
  };
  add("f", function.elements[0]);
  auto value = std::make_unique<Expr>();
  value->span = at;
  value->kind = Expr::Kind::kDerive;
  value->derive = op;
  value->operands.push_back(NameNode("f", at));
  switch (op) {
    case DeriveOp::kVjp: {
      add("x", types[0]);
      value->kind = Expr::Kind::kCall;
      value->name = "f";
      value->operands.clear();
      AddArguments(*value, "x", arity);
      ExprPtr pullback = ClosureNode(DeriveOp::kPullback, at);
      pullback->operands.push_back(NameNode("f", at));
      pullback->operands.push_back(NameNode("x", at));
      auto both = std::make_unique<Expr>();
      both->kind = Expr::Kind::kTuple;
      both->span = at;
      both->operands.push_back(std::move(value));
      both->operands.push_back(std::move(pullback));
      value = std::move(both);
      break;
    }
    case DeriveOp::kPullback:
      add("x", function.elements[1]);
      add("seed", types[0]);
      AddArguments(*value, "x", arity);
      value->operands.push_back(NameNode("seed", at));
      break;
    case DeriveOp::kJvp:
      add("x", types[0]);
      add("v", types[1]);
      AddArguments(*value, "x", arity);
      AddArguments(*value, "v", arity);
      break;
    default:
      for (size_t i = 0; i < arity; ++i) {
        add("x" + std::to_string(i), types[i]);
        value->operands.push_back(NameNode(f->params.back().name, at));
      }
  }
  f->body.span = at;
  auto give = std::make_unique<Stmt>();
  give->kind = Stmt::Kind::kReturn;
  give->span = at;
  give->value = std::move(value);
  f->body.stmts.push_back(std::move(give));
  return f;
}

// grad(f), value_and_grad(f), jacobian(f), hessian(f), checkpoint(f)
Shape BodyChecker::CheckOperator(Expr& e, const std::vector<Shape>& shapes) {
  const Type& function = e.operands[0]->type;
  if (function.kind != Type::Kind::kFunction) {
    return Fail(e, "'" + e.name + "' takes a function, got " + Text(function, shapes[0]));
  }
  Shape shape{{}, {shapes[0]}};
  switch (static_cast<Builtin>(e.builtin)) {
    case Builtin::ValueAndGrad: e.derive = DeriveOp::kValueAndGrad; break;
    case Builtin::Jacobian: e.derive = DeriveOp::kJacobian; break;
    case Builtin::Checkpoint: e.derive = DeriveOp::kCheckpoint; break;
    case Builtin::Hessian: {  // the Jacobian of the gradient
      ExprPtr inner = ClosureNode(DeriveOp::kGrad, e.span);
      inner->type = program_.Derived(DeriveOp::kGrad, {function});
      inner->operands.push_back(std::move(e.operands[0]));
      e.operands[0] = std::move(inner);
      e.derive = DeriveOp::kJacobian;
      shape = Shape{{}, {shape}};
      break;
    }
    default: e.derive = DeriveOp::kGrad;
  }
  e.kind = Expr::Kind::kClosure;
  e.builtin = -1;
  e.type = program_.Derived(e.derive, {e.operands[0]->type});
  return shape;
}

// jvp(f, x, v), vjp(f, x): calls of what the operator makes of f.
Shape BodyChecker::CheckOperatorCall(Expr& e, std::vector<Shape> shapes) {
  const Type function = e.operands[0]->type;
  if (function.kind != Type::Kind::kFunction) {
    return Fail(e, "'" + e.name + "' takes a function first, got " + Text(function, shapes[0]));
  }
  ExprPtr closure =
      ClosureNode(static_cast<Builtin>(e.builtin) == Builtin::Vjp ? DeriveOp::kVjp : DeriveOp::kJvp,
                  e.operands[0]->span);
  const Type type = program_.Derived(closure->derive, {function});
  closure->type = type;
  closure->operands.push_back(std::move(e.operands[0]));
  e.operands[0] = std::move(closure);
  e.builtin = -1;
  shapes[0] = Shape{{}, {shapes[0]}};
  return CallValue(e, type, shapes);
}

// The pullback that `vjp` gives.
Shape BodyChecker::CheckClosure(Expr& e) {
  std::vector<Shape> shapes;
  if (!CheckOperands(e, shapes)) return {};
  std::vector<Type> types;
  for (const ExprPtr& operand : e.operands) types.push_back(operand->type);
  e.type = program_.Derived(e.derive, std::move(types));
  return Shape{{}, std::move(shapes)};
}

// --- their code

Shape BodyChecker::CheckDerive(Expr& e) {
  std::vector<Shape> shapes;
  if (!CheckOperands(e, shapes)) return {};
  const Type function = e.operands[0]->type;
  const size_t arity = static_cast<size_t>(program_.Arity(function));
  std::vector<Type> args;
  for (size_t i = 1; i <= arity; ++i) args.push_back(e.operands[i]->type);
  e.type = Type();
  e.callee = program_.Instantiate(function, args, e.span, index_);
  if (e.callee == kNone) return {};
  const Function& callee = program_.function(e.callee);
  const std::string what = program_.Describe(function);
  if (!callee.has_result) return Fail(e, what + " has no result to derive");
  const Type& result = callee.result_type;
  if (e.derive == DeriveOp::kCheckpoint) {
    e.type = result;
    return UnknownShape(e.type);
  }
  const std::string op = "'" + std::string(NameOf(e.derive)) + "'";
  if (std::none_of(args.begin(), args.end(), CarriesFloat)) {
    return Fail(e, op + " has nothing to differentiate by: no argument of " + what +
                       " holds an f64 or f32");
  }
  const bool scalar = e.derive == DeriveOp::kGrad || e.derive == DeriveOp::kValueAndGrad;
  if (scalar && !IsFloat(result)) {
    return Fail(e, op + " takes a function that gives one f64 or f32; " + what + " gives " +
                       program_.Describe(result) + ": use vjp, jvp or jacobian");
  }
  if (!CarriesFloat(result) || result.kind == Type::Kind::kFunction) {
    return Fail(
        e, op + " has nothing to differentiate: " + what + " gives " + program_.Describe(result));
  }
  switch (e.derive) {
    case DeriveOp::kValueAndGrad: e.type = Type::Tuple({result, GradientType(args)}); break;
    case DeriveOp::kJvp: e.type = result; break;
    case DeriveOp::kJacobian: {
      std::vector<Type> parts;
      for (const Type& t : args) {
        if (CarriesFloat(t)) parts.push_back(t);
      }
      e.type = JacobianType(e, result, parts);
      break;
    }
    default: e.type = GradientType(args);
  }
  return UnknownShape(e.type);
}

// One array (or scalar) for each of the result's and each of the arguments'.
Type BodyChecker::JacobianType(Expr& e, const Type& result, const std::vector<Type>& args) {
  std::vector<Type> parts;
  if (result.kind == Type::Kind::kTuple) {
    for (const Type& part : result.elements) parts.push_back(JacobianType(e, part, args));
    return Type::Tuple(std::move(parts));
  }
  for (const Type& arg : args) {
    const bool data = result.kind == Type::Kind::kScalar || result.kind == Type::Kind::kArray;
    const bool by = arg.kind == Type::Kind::kScalar || arg.kind == Type::Kind::kArray;
    if (!data || !by || !CarriesFloat(result)) {
      report_.Unimplemented(
          e.span, "jacobian of " + program_.Describe(result) + " by " + program_.Describe(arg));
      return {};
    }
    const int rank = result.rank + arg.rank;
    parts.push_back(rank == 0 ? Type::Scalar(arg.elem) : Type::Array(arg.elem, rank));
    CheckTypeLimits(parts.back(), e.span, report_, limits_);
  }
  return AloneOrTuple(std::move(parts));
}

// --- rules

void ProgramChecker::CheckRules(uint32_t index) {
  Function& f = *program_.functions[index];
  if (f.vjp_rule.name.empty() && f.jvp_rule.name.empty()) return;
  const std::vector<Type> params = headers_[index].param_types;
  if (std::none_of(params.begin(), params.end(), CarriesFloat) || !CarriesFloat(f.result_type)) {
    report_.Error(f.span, "'" + f.name + "' has nothing to differentiate, and a rule for it");
    return;
  }
  std::vector<Type> seeds = params, tangents = params;
  seeds.push_back(f.result_type);
  for (const Type& t : params) {
    if (CarriesFloat(t)) tangents.push_back(t);
  }
  CheckRule(index, f.vjp_rule, seeds, GradientType(params));
  CheckRule(index, f.jvp_rule, tangents, Type::Tuple({f.result_type, f.result_type}));
}

void ProgramChecker::CheckRule(uint32_t of, DerivativeRule& rule, const std::vector<Type>& takes,
                               const Type& gives) {
  if (rule.name.empty()) return;
  const Function& f = *program_.functions[of];
  uint32_t found = FindUser(rule.name, f);
  if (found == kNone) found = FindPrelude(rule.name);
  if (found == kNone) {
    report_.Error(rule.span,
                  "unknown function '" + rule.name + "'" + DidYouMean(rule.name, FunctionNames()));
    return;
  }
  std::string text;
  for (const Type& t : takes) text += (text.empty() ? "" : ", ") + Describe(t);
  const std::string wanted = "the rule '" + rule.name + "' of '" + f.name + "' must be fn(" + text +
                             ") -> " + Describe(gives);
  if (function(found).params.size() != takes.size()) {
    report_.Error(rule.span, wanted + ", but takes " +
                                 std::to_string(function(found).params.size()) + " arguments");
    return;
  }
  const Type self = Type::Function(Type::Closure::kNamed, found, {});
  const uint32_t instance = Instantiate(self, takes, rule.span, of);
  if (instance == kNone) return;
  const std::vector<Type>& params = headers_[instance].param_types;
  for (size_t i = 0; i < takes.size(); ++i) {
    if (params[i] == takes[i]) continue;
    report_.Error(rule.span, wanted + ", but its argument '" + function(instance).params[i].name +
                                 "' is " + Describe(params[i]));
    return;
  }
  const Function& made = function(instance);
  if (!made.has_result || !(made.result_type == gives)) {
    report_.Error(rule.span, wanted + ", but gives " +
                                 (made.has_result ? Describe(made.result_type) : "nothing"));
    return;
  }
  rule.function = instance;
}

}  // namespace pullback::lang
