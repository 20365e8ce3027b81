// The code of functions that derivative operators give. It is an instance like any other: its parameters
// are the function (what that captures), then arguments, and its body one kDerive. So nesting is calls of
// instances, and a level is a function of the program.
#include <algorithm>

#include "core/lang/check.h"
#include "core/lang/derive_nodes.h"

namespace pullback::lang {
namespace {

ExprPtr FieldNode(ExprPtr of, size_t index) {
  ExprPtr e = MakeNode(Expr::Kind::kField, of->span);
  e->int_value = static_cast<int64_t>(index);
  e->operands.push_back(std::move(of));
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

std::string ProgramChecker::DescribeDerived(const Type& t) const {
  return std::string(NameOf(derived_[t.code])) + " of " + Describe(t.elements[0]);
}

Type ProgramChecker::Derived(DeriveOp op, std::vector<Type> captures) {
  std::string key = NameOf(op);
  for (const Type& t : captures) key += " " + KeyOf(t);
  const auto [it, added] = derived_codes_.emplace(key, static_cast<uint32_t>(derived_.size()));
  if (added) derived_.push_back(op);
  return Type::Function(Type::Closure::kDerived, it->second, std::move(captures));
}

int ProgramChecker::DerivedArity(const Type& t) const {
  switch (derived_[t.code]) {
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
  std::vector<Type> params = signature.elements.items();
  const Type result = params.back();
  params.pop_back();
  switch (derived_[function.code]) {
    case DeriveOp::kPullback: return {result};
    case DeriveOp::kVjp: return {AloneOrTuple(std::move(params))};
    case DeriveOp::kJvp: return std::vector<Type>(2, AloneOrTuple(std::move(params)));
    default: return params;
  }
}

// The instance of the function itself, and what it takes and gives.
uint32_t ProgramChecker::DerivedInstance(const Type& function, const std::vector<Type>& args,
                                         InstanceInfo info, const std::vector<bool>& loose) {
  const DeriveOp op = derived_[function.code];
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
    inner_args = arity == 1 ? std::vector<Type>{x} : x.elements.items();
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
      for (size_t i = 0; i < types.size(); ++i) {
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

}  // namespace pullback::lang
