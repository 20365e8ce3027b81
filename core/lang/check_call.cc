// Calls of the program's and the prelude's functions: resolution, arity, argument types and sizes.
#include <deque>

#include "core/lang/builtins.h"
#include "core/lang/check_body.h"
#include "core/lang/each.h"

namespace pullback::lang {
namespace {

// The callee's parameter that operand i is for.
size_t ParamOf(const Expr& e, size_t i) { return e.applies ? e.captures + i - 1 : i; }

std::string NameOf(const Expr& e, const Function& callee) {
  return e.name.empty() ? callee.name : e.name;
}

}  // namespace

bool ProgramChecker::IsFunction(const std::string& name, const Function& from) {
  return FindUser(name, from) != kNone || FindBuiltin(name) >= 0 || FindPrelude(name) != kNone;
}

// Sets callee or builtin. The user's functions win over the built-in ones, and those over the
// prelude's.
bool BodyChecker::Resolve(Expr& e) {
  uint32_t local = scope_.Find(e.name);
  if (local != kNone && f_.locals[local].type.kind == Type::Kind::kError) {
    e.type = Type();  // reported where it is defined
    return false;
  }
  if (local != kNone) {
    Fail(e, "'" + e.name + "' is a variable here (" + ToString(f_.locals[local].type) +
                "), not a function");
    return false;
  }
  if (e.name == kEachLength) {
    e.builtin = static_cast<int>(Builtin::Len);
    return true;
  }
  e.callee = program_.FindUser(e.name, f_);
  if (e.callee != kNone) return true;
  if (program_.structs(f_).Find(e.name)) {
    Fail(e, "'" + e.name + "' is a struct, not a function of scalars");
    return false;
  }
  e.builtin = FindBuiltin(e.name);
  if (e.builtin >= 0) return true;
  e.callee = program_.FindPrelude(e.name);
  if (e.callee != kNone) return true;
  Fail(e, "unknown function '" + e.name + "'" + DidYouMean(e.name, program_.FunctionNames()));
  return false;
}

// Functions of the prelude for several ranks have a name for each.
void BodyChecker::ChooseByRank(Expr& e) {
  if (e.operands.empty()) return;
  const Type& x = e.operands[0]->type;
  const bool vector = x.kind == Type::Kind::kArray && x.rank == 1;
  if (e.name == "concat") {
    if (x.kind == Type::Kind::kList) e.name = "concat_lists";
    if (vector && x.elem != DType::kF64) e.name = "concat_vectors";
    if (x.rank == 2) e.name = "concat_matrices";
    if (x.rank == 3) e.name = "concat_cubes";
  } else if (e.name == "flatten" && x.rank == 3) {
    e.name = "flatten_cube";
  } else if (e.name == "reshape" && e.operands.size() == 4) {
    e.name = "reshape_cube";
  }
}

Shape BodyChecker::CheckCall(Expr& e) {
  if (const Struct* s = program_.structs(f_).Find(e.name)) {
    if (scope_.Find(e.name) == kNone) return CheckConstruct(e, *s);
  }
  if (!e.labels.empty()) {
    return Fail(e, "only the fields of a struct are given by name; '" + e.name + "' is no struct");
  }
  bool user = program_.FindUser(e.name, f_) != kNone || scope_.Find(e.name) != kNone;
  if (!user && IsReduction(e)) return CheckReduction(e);
  std::vector<Shape> shapes;
  bool good = CheckOperands(e, shapes);
  if (!user) ChooseByRank(e);
  const uint32_t local = scope_.Find(e.name);
  if (local != kNone && f_.locals[local].shared) {
    auto value = std::make_unique<Expr>();
    value->name = e.name;
    value->span = e.span;
    value->local = local;
    value->type = f_.locals[local].type;
    shapes.insert(shapes.begin(), ReadShared(*value));
    const Type function = value->type;
    if (function.kind == Type::Kind::kFunction) {
      e.operands.insert(e.operands.begin(), std::move(value));
      if (good) return CallValue(e, function, shapes);
      return {};
    }
    shapes.erase(shapes.begin());
  }
  const auto is = [&](Type::Kind kind) {
    return local != kNone && f_.locals[local].type.kind == kind;
  };
  if (is(Type::Kind::kFunction) || is(Type::Kind::kRelation)) {
    auto value = std::make_unique<Expr>();
    value->kind = Expr::Kind::kName;
    value->name = e.name;
    value->span = e.span;
    value->local = local;
    value->type = f_.locals[local].type;
    e.operands.insert(e.operands.begin(), std::move(value));
    shapes.insert(shapes.begin(), facts_[local].shape);
    if (!good) return {};
    if (is(Type::Kind::kRelation)) return CheckRelated(e, shapes);
    return CallValue(e, f_.locals[local].type, shapes);
  }
  if (!Resolve(e) || !CheckArity(e) || !good) return {};
  if (e.builtin >= 0) return CheckBuiltin(e, shapes);
  if (program_.function(e.callee).is_template) return CallTemplate(e, shapes);
  return CheckedCall(e, shapes);
}

// A call of `callee`, whose operands are checked and as many as it takes.
Shape BodyChecker::CheckedCall(Expr& e, const std::vector<Shape>& shapes) {
  const Function& callee = program_.function(e.callee);
  if (!callee.has_result && alone_ != &e) {
    return Fail(e, "'" + e.name + "' has no result and cannot be used as a value");
  }
  for (size_t i = e.applies ? 1 : 0; i < e.operands.size(); ++i) {
    if (!CheckArgument(e, i, shapes[i])) return {};
  }
  e.type = callee.result_type;
  const Shape shape = ResultShape(e, shapes);
  return callee.has_result ? shape : Shape();
}

namespace {

// grad(f) and its like.
bool TakesFunctionAlone(int builtin) {
  switch (static_cast<Builtin>(builtin)) {
    case Builtin::Grad:
    case Builtin::ValueAndGrad:
    case Builtin::Jacobian:
    case Builtin::Hessian:
    case Builtin::Checkpoint: return true;
    default: return false;
  }
}

}  // namespace

bool BodyChecker::CheckArity(Expr& e) {
  int wanted = e.builtin >= 0 ? BuiltinArity(e.builtin)
                              : static_cast<int>(program_.function(e.callee).params.size());
  if (wanted < 0 || e.operands.size() == static_cast<size_t>(wanted)) return true;
  Fail(e, "'" + e.name + "' takes " + std::to_string(wanted) +
              (wanted == 1 ? " argument" : " arguments") + ", got " +
              std::to_string(e.operands.size()) +
              (TakesFunctionAlone(e.builtin) ? ": write " + e.name + "(f)(x)" : ""));
  return false;
}

bool BodyChecker::CheckArgument(Expr& e, size_t i, const Shape& shape) {
  const Function& callee = program_.function(e.callee);
  const Header& header = program_.header(e.callee);
  const size_t p = ParamOf(e, i);
  const Type& want = header.param_types[p];
  Expr& argument = *e.operands[i];
  if (Convert(argument, want)) return true;
  std::string advice;
  const bool data = want.kind == Type::Kind::kScalar || want.kind == Type::Kind::kArray;
  if (data && argument.type.kind == want.kind && argument.type.rank == want.rank) {
    advice = CastAdviceTo(argument, want.elem);
  } else if (want.kind == Type::Kind::kScalar && argument.type.kind == Type::Kind::kArray) {
    advice = "; to call it for every element, write " + e.name + ".(…)";
  } else if (want.kind == Type::Kind::kFunction && argument.type.kind == want.kind) {
    advice = "; these are two functions, and each has a type of its own";
  }
  e.type = Type();
  report_.Error(argument.span, "argument '" + callee.params[p].name + "' of '" + NameOf(e, callee) +
                                   "' must be " +
                                   Describe(want, header.param_shapes[p], callee.locals) +
                                   ", got " + Text(argument.type, shape) + advice);
  return false;
}

namespace {

void FlattenSizes(const Shape& shape, const Type& type, std::vector<const Shape*>& leaves) {
  if (!IsComposite(type)) leaves.push_back(&shape);
  for (size_t i = 0; i < PartCount(type); ++i) {
    FlattenSizes(shape.elements[i], PartOf(type, i), leaves);
  }
}

Shape Substitute(const Shape& shape, const std::function<Size(uint32_t)>& value) {
  Shape out;
  for (const Size& dim : shape.dims) out.dims.push_back(dim.Substitute(value));
  for (const Shape& element : shape.elements) out.elements.push_back(Substitute(element, value));
  return out;
}

}  // namespace

// Solves the callee's sizes with what is known of the arguments' sizes, and compares the others.
Shape BodyChecker::ResultShape(Expr& e, const std::vector<Shape>& arguments) {
  const Function& callee = program_.function(e.callee);
  const Header& header = program_.header(e.callee);
  std::vector<Size> solved(header.facts.size());
  auto value = [&](uint32_t local) { return solved[local]; };
  std::vector<const Shape*> have, want;
  std::deque<Shape> unknown;  // owns some that `have` points at
  program_.Charge(4 * header.facts.size(), e.span);
  // Of a value that was given a function's type by conversion, the sizes inside are not known.
  const bool captures_known = e.applies && arguments[0].elements.size() == e.captures;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const size_t p = ParamOf(e, i);
    if (e.applies && i == 0) {
      for (size_t k = 0; k < e.captures; ++k) {
        if (captures_known) {
          FlattenSizes(arguments[0].elements[k], header.param_types[k], have);
        } else {
          unknown.push_back(UnknownShape(header.param_types[k]));
          FlattenSizes(unknown.back(), header.param_types[k], have);
        }
        FlattenSizes(header.param_shapes[k], header.param_types[k], want);
      }
      continue;
    }
    if (callee.locals[p].type == Type::Scalar(DType::kI64)) solved[p] = ValueOf(*e.operands[i]);
    FlattenSizes(arguments[i], header.param_types[p], have);
    FlattenSizes(header.param_shapes[p], header.param_types[p], want);
  }
  for (const SizeBinding& b : callee.size_bindings) {
    Size form = want[b.leaf]->dims[b.axis];
    solved[b.local] = Size::Const(0);
    Size rest = form.Substitute(value);
    solved[b.local] = (have[b.leaf]->dims[b.axis] - rest).DividedBy(b.coeff);
  }
  for (size_t i = e.applies ? 1 : 0; i < arguments.size(); ++i) {
    const Shape& declared = header.param_shapes[ParamOf(e, i)];
    CheckArgumentSizes(e, i, arguments[i], declared, Substitute(declared, value));
  }
  return Substitute(header.result_shape, value);
}

void BodyChecker::CheckArgumentSizes(const Expr& e, size_t i, const Shape& have,
                                     const Shape& declared, const Shape& want) {
  const Function& callee = program_.function(e.callee);
  // A parameter of a wrong type has no sizes.
  for (size_t axis = 0; axis < have.dims.size() && axis < want.dims.size(); ++axis) {
    if (!ProvablyUnequal(have.dims[axis], want.dims[axis], f_.locals)) continue;
    std::string name = ToString(declared.dims[axis], callee.locals);
    std::string size = Text(want.dims[axis]);
    report_.Error(e.operands[i]->span,
                  "argument '" + callee.params[ParamOf(e, i)].name + "' of '" + NameOf(e, callee) +
                      "' has size " + Text(have.dims[axis]) + " on axis " + std::to_string(axis) +
                      ", expected " + (name == size ? size : name + " = " + size));
    return;  // of an array of structs, each part says the same
  }
  // A function that became one of several had the sizes of what it captures.
  for (size_t k = 0; k < have.elements.size() && k < declared.elements.size(); ++k) {
    CheckArgumentSizes(e, i, have.elements[k], declared.elements[k], want.elements[k]);
  }
}

}  // namespace pullback::lang
