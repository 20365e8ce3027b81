// Nodes that the checker makes for derivative operators and calls of function values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/lang/ast.h"

namespace pullback::lang {

inline const char* NameOf(DeriveOp op) {
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

// One stands alone; several are a tuple.
inline Type AloneOrTuple(std::vector<Type> types) {
  return types.size() == 1 ? Type(types[0]) : Type::Tuple(std::move(types));
}

inline ExprPtr MakeNode(Expr::Kind kind, const Span& span) {
  auto e = std::make_unique<Expr>();
  e->kind = kind;
  e->span = span;
  return e;
}

inline ExprPtr NameNode(const std::string& name, const Span& span) {
  ExprPtr e = MakeNode(Expr::Kind::kName, span);
  e->name = name;
  return e;
}

inline ExprPtr ClosureNode(DeriveOp op, const Span& span) {
  ExprPtr e = MakeNode(Expr::Kind::kClosure, span);
  e->derive = op;
  return e;
}

// What calls whichever of the dynamic type's variants the first argument is, of those that it may be.
// check_dynamic.cc
Block DispatcherBody(const Program& program, const DynamicType& d,
                     const std::vector<char>& variants);

}  // namespace pullback::lang
