// Instances: what a call of a function value or of a template calls. One per code and types; made on
// first use, within bounds, and checked at once where its result's type follows from its body.
#include <algorithm>

#include "core/lang/builtins.h"
#include "core/lang/check.h"
#include "core/lang/parser.h"

namespace pullback::lang {
namespace {

constexpr int kMaxNested = 6000;  // expressions being checked inside each other, through instances

// Copies are charged by the checker, so that nothing stops them here.
const Limits& Boundless() {
  static const Limits limits = [] {
    Limits l;
    l.max_ir_insts = SIZE_MAX;
    return l;
  }();
  return limits;
}

const std::string kNoText;

// For messages, which may not be as long as types are.
std::string Shortened(std::string text) {
  constexpr size_t kMost = 400;
  if (text.size() <= kMost) return text;
  return text.substr(0, kMost) + " …";
}

bool HasUndecided(const Type& t) {
  return t.closure == Type::Closure::kUndecided ||
         std::any_of(t.elements.begin(), t.elements.end(), HasUndecided);
}

bool IsArray(const TypeExpr& t) {
  return t.kind == TypeExpr::Kind::kArray || t.kind == TypeExpr::Kind::kStructArray;
}

Param Given(std::string name, const Type& type, const Span& span) {
  Param p;
  p.name = std::move(name);
  p.type = GivenType(type, span);
  p.span = span;
  return p;
}

ExprPtr Name(const std::string& name, const Span& span) {
  auto e = std::make_unique<Expr>();
  e->kind = Expr::Kind::kName;
  e->name = name;
  e->span = span;
  return e;
}

StmtPtr Return(ExprPtr value) {
  auto s = std::make_unique<Stmt>();
  s->kind = Stmt::Kind::kReturn;
  s->span = value->span;
  s->value = std::move(value);
  return s;
}

// A function made by the checker whose parameters are `params` and that returns `value`, a node that
// takes them all as operands.
std::unique_ptr<Function> Returning(const std::string& name, std::vector<Param> params,
                                    ExprPtr value) {
  auto f = std::make_unique<Function>();
  f->name = name;
  f->span = value->span;
  f->has_result = true;
  f->infers_result = true;
  for (const Param& p : params) value->operands.push_back(Name(p.name, p.span));
  f->params = std::move(params);
  f->body.span = value->span;
  f->body.stmts.push_back(Return(std::move(value)));
  return f;
}

}  // namespace

TypeExpr CloneType(const TypeExpr& t) { return Parser(kNoText, Boundless()).Clone(t); }

std::string KeyOf(const Type& t) {
  std::string key;
  switch (t.kind) {
    case Type::Kind::kFunction:
      key = "fn" + std::to_string(static_cast<int>(t.closure)) + "." + std::to_string(t.code);
      break;
    case Type::Kind::kTuple: break;
    case Type::Kind::kList: key = "list"; break;
    case Type::Kind::kBox: key = "box"; break;
    default: return ToString(t);
  }
  if (t.elements.empty()) return key;
  key += "(";
  for (const Type& e : t.elements) key += KeyOf(e) + ",";
  return key + ")";
}

namespace {

std::string KeyOf(const Type& f, const std::vector<Type>& args) {
  std::string key = KeyOf(f);
  for (const Type& t : args) key += " " + KeyOf(t);
  return key;
}

}  // namespace

int ProgramChecker::Arity(const Type& f) const {
  switch (f.closure) {
    case Type::Closure::kNamed: return static_cast<int>(function(f.code).params.size());
    case Type::Closure::kBuiltin: return BuiltinArity(static_cast<int>(f.code));
    case Type::Closure::kLambda: return static_cast<int>(lambdas_[f.code].lambda->params.size());
    case Type::Closure::kDerived: return DerivedArity(f);
    case Type::Closure::kDynamic: return static_cast<int>(f.elements.size()) - 1;
    default: break;
  }
  return 0;
}

uint32_t ProgramChecker::AddLambda(LambdaCode code) {
  lambdas_.push_back(std::move(code));
  return static_cast<uint32_t>(lambdas_.size() - 1);
}

std::string ProgramChecker::Describe(const Type& t) const {
  if (t.kind != Type::Kind::kFunction) {
    if (t.kind != Type::Kind::kTuple) return ToString(t);
    std::string text;
    for (const Type& e : t.elements) text += (text.empty() ? "" : ", ") + Describe(e);
    return "(" + text + ")";
  }
  switch (t.closure) {
    case Type::Closure::kNamed: return "'" + function(t.code).name + "'";
    case Type::Closure::kBuiltin:
      return "'" + std::string(BuiltinName(static_cast<int>(t.code))) + "'";
    case Type::Closure::kLambda: {
      const LambdaCode& code = lambdas_[t.code];
      if (code.from_prelude) return "a lambda of the prelude";
      return "the lambda at " + std::to_string(code.span.line) + ":" +
             std::to_string(code.span.column);
    }
    case Type::Closure::kDerived: return DescribeDerived(t);
    default: break;
  }
  return ToString(t);
}

bool ProgramChecker::Enter(const Span& at) {
  if (++nested_ <= kMaxNested) return true;
  report_.Limit(at, "NESTING_TOO_DEEP", "expressions and instances are nested too deeply here");
  return false;
}

bool ProgramChecker::AllKnown(const std::vector<Type>& types, const Span& at) {
  const auto unknown = std::find_if(types.begin(), types.end(), HasUnknown);
  if (unknown == types.end()) return true;
  report_.Error(
      at, HasUndecided(*unknown)
              ? "which function is called is not known here before the program runs; give what "
                "holds the functions a name: let fs = list(…)"
              : "the type of the empty list's elements is not known here; give the list a name: "
                "let xs: list f64 = list()");
  return false;
}

// --- the table

uint32_t ProgramChecker::FindInstance(const Type& f, const std::vector<Type>& args) const {
  const auto it = instances_.find(KeyOf(f, args));
  return it == instances_.end() ? kNone : it->second;
}

void ProgramChecker::Keep(uint32_t index, const Type& f, const std::vector<Type>& args) {
  instances_.emplace(KeyOf(f, args), index);
}

bool ProgramChecker::MayAdd(const InstanceInfo& info) {
  std::string chain;
  uint32_t f = info.from;
  for (int i = 0; i < 3 && f != kNone && !info_[f].what.empty(); ++i) {
    chain += ", asked for by " + info_[f].what;
    f = info_[f].from;
  }
  if (info.depth > limits_.max_instance_depth) {
    report_.Limit(info.at, "TOO_MANY_INSTANCES",
                  "instances ask for instances more than " +
                      std::to_string(limits_.max_instance_depth) + " deep: " + info.what + chain);
    return false;
  }
  if (++instance_count_ <= static_cast<size_t>(limits_.max_instances) &&
      instance_nodes_ <= limits_.max_ir_insts) {
    return true;
  }
  report_.Limit(info.at, "TOO_MANY_INSTANCES",
                "functions are made for too many different types, the last " + info.what + chain);
  return false;
}

// Instances whose result is not written are checked at once.
uint32_t ProgramChecker::Add(std::unique_ptr<Function> f, InstanceInfo info) {
  const uint32_t index = static_cast<uint32_t>(program_.functions.size());
  f->is_instance = !info.what.empty();
  f->is_template = false;
  info_.push_back(std::move(info));
  program_.functions.push_back(std::move(f));
  ReportContext outer = report_.SetContext(ContextOf(index));
  headers_.push_back(CheckHeader(*program_.functions[index], structs(*program_.functions[index]),
                                 report_, limits_));
  report_.SetContext(std::move(outer));
  return index;
}

ReportContext ProgramChecker::ContextOf(uint32_t index) const {
  constexpr size_t kMostNotes = 8;
  ReportContext context;
  const bool prelude = program_.functions[index]->from_prelude;
  if (prelude && program_.functions[index]->is_instance) {
    context.elsewhere = true;
    context.prefix = "in '" + program_.functions[index]->name + "' of the prelude: ";
  }
  for (uint32_t f = index; f != kNone && !info_[f].what.empty(); f = info_[f].from) {
    const InstanceInfo& info = info_[f];
    const bool from_prelude = info.from != kNone && program_.functions[info.from]->from_prelude;
    if (from_prelude) continue;
    if (context.elsewhere && context.at.line == 0) context.at = info.at;
    if (context.notes.size() >= kMostNotes) break;
    context.notes.push_back(
        {Severity::kNote, info.at, "in " + info.what, MakeExcerpt(program_.text, info.at)});
  }
  return context;
}

void ProgramChecker::CheckFunction(uint32_t index) {
  if (info_[index].state != InstanceInfo::State::kNew || program_.functions[index]->is_template) {
    return;
  }
  info_[index].state = InstanceInfo::State::kChecking;
  ReportContext outer = report_.SetContext(ContextOf(index));
  CheckBody(*this, index);
  CheckRules(index);
  report_.SetContext(std::move(outer));
  info_[index].state = InstanceInfo::State::kChecked;
}

void ProgramChecker::SetResult(uint32_t index, const Type& type, const Shape& shape) {
  Function& f = *program_.functions[index];
  f.result_type = type;
  f.result = GivenType(type, f.span);
  headers_[index].result_shape = shape;
}

// --- making them

uint32_t ProgramChecker::Instantiate(const Type& f, const std::vector<Type>& args, const Span& at,
                                     uint32_t from, const std::vector<bool>& loose,
                                     const Type& result) {
  for (const Type& t : args) {
    if (t.kind == Type::Kind::kError) return kNone;
  }
  if (f.closure == Type::Closure::kUndecided) {
    report_.Error(at, "different functions meet here; give them a name and a type");
    return kNone;
  }
  if (f.closure == Type::Closure::kDynamic) {
    if (std::equal(args.begin(), args.end(), f.elements.begin(), f.elements.end() - 1)) {
      return DispatcherOf(f, at, from);
    }
    report_.Error(at, "a function of type " + ToString(f) + " is called with other types here");
    return kNone;
  }
  const bool named = f.closure == Type::Closure::kNamed;
  if (named && !function(f.code).is_template) return f.code;
  size_t parts = f.elements.nodes();
  for (const Type& t : args) parts += t.elements.nodes();
  Charge(parts, at);  // what it is called is as long
  if (exhausted()) return kNone;
  InstanceInfo info;
  info.from = from;
  info.at = at;
  info.depth = info_[from].depth + 1;
  info.what = Describe(f) + " called with (";
  for (const Type& t : args) info.what += (&t == &args[0] ? "" : ", ") + Describe(t);
  info.what = Shortened(info.what + ")");
  uint32_t index = kNone;
  if (named) {
    index = TemplateInstance(f.code, args, std::move(info), loose);
  } else if (f.closure == Type::Closure::kLambda) {
    index = LambdaInstance(f, args, std::move(info), result);
  } else if (f.closure == Type::Closure::kDerived) {
    index = DerivedInstance(f, args, std::move(info), loose);
  } else {
    index = BuiltinInstance(f, args, std::move(info));
  }
  if (index == kNone || !program_.functions[index]->infers_result) return index;
  if (info_[index].state == InstanceInfo::State::kChecking &&
      function(index).result_type.kind == Type::Kind::kError) {
    const Type declared = function(index).function_result;
    if (declared.kind != Type::Kind::kError) {
      SetResult(index, declared, Shape());
      return index;
    }
    report_.Error(at, "the type of what '" + function(index).name +
                          "' returns follows from itself; a result type that is no function's "
                          "can be written after '->'");
    return kNone;
  }
  CheckFunction(index);
  return index;
}

uint32_t ProgramChecker::TemplateInstance(uint32_t index, const std::vector<Type>& args,
                                          InstanceInfo info, const std::vector<bool>& loose) {
  const Function& t = function(index);
  PB_CHECK(args.size() == t.params.size());
  TypeBindings bindings;
  for (bool last : {false, true}) {
    for (size_t i = 0; i < args.size(); ++i) {
      const bool is_loose = i < loose.size() && loose[i];
      if (is_loose == last) BindTypes(t.params[i].type, args[i], t.type_params, bindings);
    }
  }
  // What a function gives may bind further parameters.
  std::vector<std::vector<Type>> declared(args.size());
  for (size_t round = 0; round < args.size(); ++round) {
    for (size_t i = 0; i < args.size(); ++i) {
      const TypeExpr& pattern = t.params[i].type;
      const bool function_type = pattern.kind == TypeExpr::Kind::kFunction &&
                                 args[i].kind == Type::Kind::kFunction && declared[i].empty();
      if (!function_type) continue;
      std::vector<Type> inner;
      for (size_t k = 0; k + 1 < pattern.elements.size(); ++k) {
        inner.push_back(TypeOf(pattern.elements[k], bindings));
      }
      const bool known = std::none_of(inner.begin(), inner.end(),
                                      [](const Type& x) { return x.kind == Type::Kind::kError; });
      if (!known || Arity(args[i]) != static_cast<int>(inner.size()) || inner.empty()) continue;
      declared[i] = inner;
      const uint32_t f = Instantiate(args[i], inner, info.at, info.from);
      if (f == kNone || ResultOf(f).kind == Type::Kind::kError) return kNone;  // reported
      BindTypes(pattern.elements.back(), ResultOf(f), t.type_params, bindings);
    }
  }
  std::vector<Type> types;  // of the parameters
  for (size_t i = 0; i < args.size(); ++i) {
    const Type type = TypeOf(t.params[i].type, bindings);
    types.push_back(type.kind == Type::Kind::kError ? args[i] : type);
    if (!CheckTypeSize(types.back(), info.at, report_, limits_)) return kNone;
  }
  if (!AllKnown(types, info.at)) return kNone;
  const Type self = Type::Function(Type::Closure::kNamed, index, {});
  const uint32_t known = FindInstance(self, types);
  if (known != kNone) return known;
  instance_nodes_ += t.node_count;
  if (!MayAdd(info)) return kNone;
  Parser cloner(kNoText, Boundless());
  std::unique_ptr<Function> f = cloner.Clone(t);
  instance_nodes_ += cloner.nodes();
  f->type_params.clear();
  for (size_t i = 0; i < args.size(); ++i) {
    TypeExpr& type = f->params[i].type;
    if (SpeaksOfFunctions(type) || TypeOf(type, bindings).kind == Type::Kind::kError) {
      if (!IsArray(type)) type = GivenType(args[i], type.span);
    }
    SubstituteTypes(type, bindings);
  }
  if (f->has_result && TypeOf(f->result, bindings).kind == Type::Kind::kError) {
    f->infers_result = true;
    if (f->result.kind == TypeExpr::Kind::kFunction) {
      f->function_result = DynamicOf(f->result, bindings);
      if (!CheckTypeSize(f->function_result, info.at, report_, limits_)) return kNone;
    }
    f->result = TypeExpr();
  }
  SubstituteTypes(f->result, bindings);
  SubstituteTypes(f->body, bindings);
  info.code = index;
  const uint32_t instance = Add(std::move(f), std::move(info));
  for (size_t i = 0; i < args.size(); ++i) headers_[instance].facts[i].arguments = declared[i];
  Keep(instance, self, types);
  return instance;
}

uint32_t ProgramChecker::LambdaInstance(const Type& function, const std::vector<Type>& args,
                                        InstanceInfo info, const Type& result) {
  const LambdaCode& code = lambdas_[function.code];
  const std::vector<Param>& params = code.lambda->params;
  PB_CHECK(args.size() == params.size());
  std::vector<Type> types;
  for (size_t i = 0; i < args.size(); ++i) {
    const Type declared = TypeOf(params[i].type, {});
    types.push_back(declared.kind == Type::Kind::kError ? args[i] : declared);
  }
  if (!AllKnown(types, info.at)) return kNone;
  const bool declared = result.kind != Type::Kind::kError;
  std::vector<Type> key = types;
  if (declared) key.push_back(result);
  const uint32_t known = FindInstance(function, key);
  if (known != kNone) return known;
  if (!MayAdd(info)) return kNone;
  Parser cloner(kNoText, Boundless());
  auto f = std::make_unique<Function>();
  f->name = "lambda";
  f->span = code.span;
  f->from_prelude = code.from_prelude;
  f->has_result = true;
  f->infers_result = !declared;
  if (declared) f->result = GivenType(result, code.span);
  for (const Param& p : code.captures) {
    f->params.push_back({p.name, CloneType(p.type), p.span});
    f->params.back().is_size = p.is_size;
    f->params.back().shared = p.shared;
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const TypeExpr& type = params[i].type;
    const bool omitted = type.kind == TypeExpr::Kind::kOmitted || SpeaksOfFunctions(type);
    f->params.push_back({params[i].name, omitted ? GivenType(args[i], type.span) : CloneType(type),
                         params[i].span});
  }
  f->body = cloner.Clone(code.lambda->body);
  f->body.stmts.push_back(Return(std::move(f->body.result)));
  instance_nodes_ += cloner.nodes();
  const uint32_t instance = Add(std::move(f), std::move(info));
  for (const Param& p : program_.functions[instance]->params) {
    if (!p.shared) continue;
    Local& local = program_.functions[instance]->locals[p.local];
    local.shared = true;
    local.kind = Local::Kind::kVar;
  }
  Keep(instance, function, key);
  return instance;
}

// A built-in function: a function around a call of it.
uint32_t ProgramChecker::BuiltinInstance(const Type& function, const std::vector<Type>& args,
                                         InstanceInfo info) {
  if (!AllKnown(args, info.at)) return kNone;
  const uint32_t known = FindInstance(function, args);
  if (known != kNone) return known;
  if (!MayAdd(info)) return kNone;
  auto value = std::make_unique<Expr>();
  value->span = info.at;
  std::vector<Param> params;
  value->kind = Expr::Kind::kCall;
  value->builtin = static_cast<int>(function.code);
  value->name = BuiltinName(value->builtin);
  for (size_t i = 0; i < args.size(); ++i) {
    params.push_back(Given("x" + std::to_string(i), args[i], info.at));
  }
  const std::string name = value->name;
  std::unique_ptr<Function> f = Returning(name, std::move(params), std::move(value));
  f->from_prelude = program_.functions[info.from]->from_prelude;
  const uint32_t instance = Add(std::move(f), std::move(info));
  Keep(instance, function, args);
  return instance;
}

}  // namespace pullback::lang
