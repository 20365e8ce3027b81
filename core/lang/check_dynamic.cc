// Functions as data: where different functions meet, a value says which one it is by a number, with
// what it captures beside it. A call branches on the number. The functions that a type may be are those
// that become values of it anywhere in the program.
#include <algorithm>

#include "core/lang/builtins.h"
#include "core/lang/check_body.h"
#include "core/lang/derive_nodes.h"
#include "core/lang/each.h"

namespace pullback::lang {
namespace {

ExprPtr Make(Expr::Kind kind, const Type& type, const Span& span) {
  auto e = std::make_unique<Expr>();
  e->kind = kind;
  e->type = type;
  e->span = span;
  return e;
}

ExprPtr NameOf(const Function& f, const Param& p) {
  ExprPtr e = Make(Expr::Kind::kName, f.locals[p.local].type, p.span);
  e->name = p.name;
  e->local = p.local;
  return e;
}

// The tag of the function's first parameter is i.
ExprPtr IsVariant(const Function& f, size_t i) {
  ExprPtr tag = Make(Expr::Kind::kTag, Type::Scalar(DType::kI64), f.span);
  tag->operands.push_back(NameOf(f, f.params[0]));
  ExprPtr number = Make(Expr::Kind::kInt, Type::Scalar(DType::kI64), f.span);
  number->int_value = static_cast<int64_t>(i);
  number->elem = DType::kI64;
  ExprPtr equal = Make(Expr::Kind::kBinary, Type::Scalar(DType::kBool), f.span);
  equal->binary = BinaryOp::kEq;
  equal->operands.push_back(std::move(tag));
  equal->operands.push_back(std::move(number));
  return equal;
}

}  // namespace

size_t ProgramChecker::DynamicIndex(const Type& dynamic) {
  std::vector<DynamicType>& all = program_.dynamics;
  const auto it =
      std::find_if(all.begin(), all.end(), [&](const DynamicType& d) { return d.type == dynamic; });
  if (it != all.end()) return static_cast<size_t>(it - all.begin());
  all.push_back({dynamic, {}, {}, kNone});
  return all.size() - 1;
}

int ProgramChecker::AddVariant(const Type& dynamic, const Type& function, const Span& at,
                               uint32_t from) {
  const size_t index = DynamicIndex(dynamic);
  const std::vector<Type>& variants = program_.dynamics[index].variants;
  const auto it = std::find(variants.begin(), variants.end(), function);
  if (it != variants.end()) return static_cast<int>(it - variants.begin());
  const std::vector<Type> params(dynamic.elements.begin(), dynamic.elements.end() - 1);
  const int arity = Arity(function);
  if (arity >= 0 && arity != static_cast<int>(params.size())) {
    report_.Error(at, Describe(function) + " takes " + std::to_string(arity) +
                          (arity == 1 ? " argument" : " arguments") + ", but a " +
                          ToString(dynamic) + " is needed");
    return -1;
  }
  const uint32_t callee = Instantiate(function, params, at, from, {}, dynamic.elements.back());
  if (callee == kNone) return -1;
  const Function& f = *program_.functions[callee];
  if (f.result_type.kind == Type::Kind::kError) return -1;  // reported
  bool fits = f.has_result && f.result_type == dynamic.elements.back();
  const size_t captures = function.elements.size();
  for (size_t i = 0; i < params.size(); ++i) {
    fits = fits && f.locals[f.params[captures + i].local].type == params[i];
  }
  if (!fits) {
    std::string types;
    for (size_t i = captures; i < f.params.size(); ++i) {
      types += (types.empty() ? "" : ", ") + ToString(f.locals[f.params[i].local].type);
    }
    report_.Error(at, Describe(function) + " is a fn(" + types + ") -> " + ToString(f.result_type) +
                          ", but a " + ToString(dynamic) + " is needed");
    return -1;
  }
  program_.dynamics[index].variants.push_back(function);
  program_.dynamics[index].instances.push_back(callee);
  return static_cast<int>(program_.dynamics[index].variants.size()) - 1;
}

uint32_t ProgramChecker::DispatcherOf(const Type& dynamic, const Span& at, uint32_t from) {
  const size_t index = DynamicIndex(dynamic);
  if (program_.dynamics[index].dispatcher != kNone) return program_.dynamics[index].dispatcher;
  auto f = std::make_unique<Function>();
  f->name = "dispatch";
  f->span = at;
  f->from_prelude = true;
  f->has_result = true;
  for (size_t i = 0; i < dynamic.elements.size(); ++i) {
    Param p;
    p.name = i == 0 ? "f" : "x" + std::to_string(i - 1);
    p.span = at;
    p.type = GivenType(i == 0 ? dynamic : dynamic.elements[i - 1], at);
    f->params.push_back(std::move(p));
  }
  f->result = GivenType(dynamic.elements.back(), at);
  f->body.span = at;
  InstanceInfo info;
  info.from = from;
  info.at = at;
  info.state = InstanceInfo::State::kChecked;  // its body is written last
  const uint32_t dispatcher = Add(std::move(f), std::move(info));
  program_.dynamics[index].dispatcher = dispatcher;
  return dispatcher;
}

// if tag(f) == 0 { f0(x, …) } else if …
Block DispatcherBody(const Program& program, const DynamicType& d,
                     const std::vector<char>& variants) {
  const Function& f = *program.functions[d.dispatcher];
  Block body;
  body.span = f.span;
  ExprPtr choice = Make(Expr::Kind::kIf, d.type.elements.back(), f.span);
  for (size_t i = 0; i < d.variants.size(); ++i) {
    if (!variants[i]) continue;
    ExprPtr call = Make(Expr::Kind::kCall, choice->type, f.span);
    call->callee = d.instances[i];
    call->name = program.functions[call->callee]->name;
    call->applies = true;
    call->captures = static_cast<uint32_t>(d.variants[i].elements.size());
    ExprPtr value = Make(Expr::Kind::kVariant, d.variants[i], f.span);
    value->int_value = static_cast<int64_t>(i);
    value->operands.push_back(NameOf(f, f.params[0]));
    call->operands.push_back(std::move(value));
    for (size_t k = 1; k < f.params.size(); ++k) {
      call->operands.push_back(NameOf(f, f.params[k]));
    }
    CondArm arm;
    arm.cond = IsVariant(f, i);
    arm.body.span = f.span;
    arm.body.result = std::move(call);
    choice->arms.push_back(std::move(arm));
  }
  if (choice->arms.empty()) {  // there is no such value, so that nothing calls it
    ExprPtr again = Make(Expr::Kind::kCall, choice->type, f.span);
    again->callee = d.dispatcher;
    again->name = f.name;
    for (const Param& p : f.params) again->operands.push_back(NameOf(f, p));
    choice->arms.emplace_back().body.result = std::move(again);
  }
  choice->arms.back().cond.reset();
  auto s = std::make_unique<Stmt>();
  s->kind = Stmt::Kind::kReturn;
  s->span = f.span;
  const bool one = choice->arms.size() == 1;
  s->value = one ? std::move(choice->arms[0].body.result) : std::move(choice);
  body.stmts.push_back(std::move(s));
  return body;
}

void ProgramChecker::WriteDispatchers() {
  for (const DynamicType& d : program_.dynamics) {
    if (d.dispatcher == kNone) continue;
    program_.functions[d.dispatcher]->body =
        DispatcherBody(program_, d, std::vector<char>(d.variants.size(), 1));
  }
}

Type ProgramChecker::SignatureOf(const Type& function, const Span& at, uint32_t from) {
  std::vector<Type> types;
  switch (function.closure) {
    case Type::Closure::kDynamic: return function;
    case Type::Closure::kNamed:
      if (this->function(function.code).is_template) return {};
      types = headers_[function.code].param_types;
      break;
    case Type::Closure::kBuiltin:
      if (!IsScalarBuiltin(static_cast<int>(function.code))) return {};
      types.assign(static_cast<size_t>(Arity(function)), Type::Scalar(DType::kF64));
      break;
    case Type::Closure::kLambda:
      for (const Param& p : lambdas_[function.code].lambda->params) {
        types.push_back(TypeOf(p.type, {}));
      }
      break;
    case Type::Closure::kDerived: types = DerivedParams(function, at, from); break;
    default: return {};
  }
  for (const Type& t : types) {
    if (t.kind == Type::Kind::kError) return {};
  }
  const uint32_t callee = Instantiate(function, types, at, from);
  if (callee == kNone || !this->function(callee).has_result) return {};
  types.push_back(ResultOf(callee));
  if (types.back().kind == Type::Kind::kError) return {};
  Type signature = Type::Dynamic(std::move(types));
  return CheckTypeSize(signature, at, report_, limits_) ? signature : Type();
}

int ProgramChecker::NestedInstances(uint32_t code, uint32_t from) const {
  int count = 0;
  for (uint32_t f = from; f != kNone && !info_[f].what.empty(); f = info_[f].from) {
    count += info_[f].code == code ? 1 : 0;
  }
  return count;
}

// --- in bodies

// A function as one of a dynamic type.
bool BodyChecker::ConvertFunction(Expr& e, const Type& want) {
  if (want.closure != Type::Closure::kDynamic) return false;
  if (e.kind == Expr::Kind::kIf) {
    bool converted = true;
    for (CondArm& arm : e.arms) converted = Convert(*arm.body.result, want) && converted;
    if (converted) e.type = want;
    return converted;
  }
  if (e.type.closure == Type::Closure::kDynamic || HasUnknown(e.type)) return false;
  const int variant = program_.AddVariant(want, e.type, e.span, index_);
  if (variant < 0) {
    e.type = Type();  // reported
    return true;
  }
  auto value = std::make_unique<Expr>(std::move(e));
  e = Expr();
  e.kind = Expr::Kind::kDynamic;
  e.span = value->span;
  e.height = value->height + 1;
  e.int_value = variant;
  e.type = want;
  e.operands.push_back(std::move(value));
  return true;
}

// The dynamic type of the first function in e whose types are known.
Type BodyChecker::FindSignature(const Expr& e) {
  Type found;
  const auto look = [&](const Expr& part) {
    if (found.kind == Type::Kind::kError) found = FindSignature(part);
  };
  if (e.kind == Expr::Kind::kIf) {
    for (const CondArm& arm : e.arms) look(*arm.body.result);
  } else if (e.type.kind == Type::Kind::kList || e.type.kind == Type::Kind::kBox) {
    for (const ExprPtr& operand : e.operands) look(*operand);
  } else if (e.type.kind == Type::Kind::kFunction) {
    return program_.SignatureOf(e.type, e.span, index_);
  }
  return found;
}

namespace {

bool HasUndecided(const Type& t) {
  return t.closure == Type::Closure::kUndecided ||
         std::any_of(t.elements.begin(), t.elements.end(), HasUndecided);
}

Type WithFunction(const Type& t, const Type& function) {
  if (t.closure == Type::Closure::kUndecided) return function;
  if (!HasUndecided(t)) return t;
  std::vector<Type> elements;
  for (const Type& e : t.elements) elements.push_back(WithFunction(e, function));
  Type out = t;
  out.elements = std::move(elements);
  return out;
}

}  // namespace

// Gives e a type where nothing says which: of functions, that of the first whose types are known.
// `name`: what it is to be written for. False: reported.
bool BodyChecker::Settle(Expr& e, const std::string& name) {
  if (!HasUnknown(e.type)) return true;
  if (!HasUndecided(e.type)) {
    const bool implied = IsEachValues(name.substr(std::string_view("let ").size()));
    Fail(e, "the type of the empty list's elements is not known" +
                (implied ? "" : "; write it: " + name + ": list f64 = …"));
    return false;
  }
  const size_t reported = report_.count();
  const Type function = FindSignature(e);
  if (function.kind != Type::Kind::kError) {
    const Type type = WithFunction(e.type, function);
    const bool fits = CheckTypeSize(type, e.span, report_, limits_);
    if (fits && Convert(e, type)) return e.type.kind != Type::Kind::kError;
  }
  if (report_.count() > reported) {  // why it is not known
    e.type = Type();
    return false;
  }
  Fail(e, "different functions meet here; write the type: " + name + ": fn(f64) -> f64 = …");
  return false;
}

// A call of a function whose code is known at run time; operands[0] is its value.
Shape BodyChecker::CallDynamic(Expr& e, const std::vector<Shape>& shapes) {
  const Type function = e.operands[0]->type;
  for (size_t i = 1; i < e.operands.size(); ++i) {
    const Type& want = function.elements[i - 1];
    if (Convert(*e.operands[i], want)) continue;
    return Fail(*e.operands[i], "this function is a " + ToString(function) + ", but argument " +
                                    std::to_string(i) + " is " +
                                    Text(e.operands[i]->type, shapes[i]));
  }
  for (const ExprPtr& operand : e.operands) {
    if (operand->type.kind == Type::Kind::kError) return {};
  }
  e.callee = program_.DispatcherOf(function, e.span, index_);
  e.builtin = -1;
  return CheckedCall(e, shapes);
}

}  // namespace pullback::lang
