// Derivative operators in a body: what they are applied to, and the types of what they give. The code of
// the functions that they give is made in check_derived.cc.
#include <algorithm>

#include "core/lang/builtins.h"
#include "core/lang/check_body.h"
#include "core/lang/derive_nodes.h"
#include "core/lang/scope_walk.h"

namespace pullback::lang {
namespace {

bool IsFloat(const Type& t) {
  return t.kind == Type::Kind::kScalar && (t.elem == DType::kF64 || t.elem == DType::kF32);
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
  return GradientType(t.elements.items());
}

Type GradientType(const std::vector<Type>& types) {
  std::vector<Type> gradients;
  for (const Type& t : types) {
    if (CarriesFloat(t)) gradients.push_back(GradientType(t));
  }
  return AloneOrTuple(std::move(gradients));
}

// grad(f), value_and_grad(f), jacobian(f), hessian(f), checkpoint(f)
Shape BodyChecker::CheckOperator(Expr& e, const std::vector<Shape>& shapes) {
  const Type& function = e.operands[0]->type;
  if (function.kind != Type::Kind::kFunction) {
    return Fail(e, "'" + e.name + "' takes a function, got " + Text(function, shapes[0]) +
                       ": write " + e.name + "(f)(x)");
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
  const bool pullback = e.derive == DeriveOp::kPullback;  // what `vjp` gives
  const std::string op = "'" + std::string(NameOf(pullback ? DeriveOp::kVjp : e.derive)) + "'";
  if (std::none_of(args.begin(), args.end(), CarriesFloat)) {
    const bool integers =
        std::find(args.begin(), args.end(), Type::Scalar(DType::kI64)) != args.end();
    return Fail(e, op + " has nothing to differentiate by: no argument of " + what +
                       " holds an f64 or f32" + (integers ? "; floats are 3.0 and f64(n)" : ""));
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

namespace {

// Lists, boxes, and functions known when the program runs have no blocks.
bool HasBlocks(const Type& t) {
  if (t.IsDynamic() || t.kind == Type::Kind::kList || t.kind == Type::Kind::kBox) return false;
  bool all = true;
  ForEachPart(t, [&](const Type& part) { all = all && HasBlocks(part); });
  return all;
}

// `leaf` of each scalar and array of floats, in the structure of t: tuples in the place of structs, arrays of
// structs and tuples, of the parts that hold floats.
Type ByLeaf(const Type& t, const std::function<Type(const Type&)>& leaf) {
  if (!IsComposite(t)) return leaf(t);
  std::vector<Type> parts;
  ForEachPart(t, [&](const Type& part) {
    if (CarriesFloat(part)) parts.push_back(ByLeaf(part, leaf));
  });
  return AloneOrTuple(std::move(parts));
}

}  // namespace

// In the place of each float of the result the structure of the arguments, with an array (or scalar) in the place
// of each of theirs.
Type BodyChecker::JacobianType(Expr& e, const Type& result, const std::vector<Type>& args) {
  for (const Type& arg : args) {
    if (HasBlocks(result) && HasBlocks(arg)) continue;
    report_.Unimplemented(
        e.span, "jacobian of " + program_.Describe(result) + " by " + program_.Describe(arg));
    return {};
  }
  return ByLeaf(result, [&](const Type& row) {
    std::vector<Type> blocks;
    for (const Type& arg : args) {
      blocks.push_back(ByLeaf(arg, [&](const Type& column) {
        const int rank = row.rank + column.rank;
        const Type block = rank == 0 ? Type::Scalar(column.elem) : Type::Array(column.elem, rank);
        CheckTypeLimits(block, e.span, report_, limits_);
        return block;
      }));
    }
    return AloneOrTuple(std::move(blocks));
  });
}

}  // namespace pullback::lang
