// Walks over the tree in pre-order, the order in which nodes are numbered: a node, then its parts as
// they stand in the text (header of a function, targets, annotation, value, arms, binder, body).
#pragma once

#include "core/lang/ast.h"

namespace pullback::lang {

// Calls on(Expr&), on(Stmt&), on(Target&) for every node below and at the one given.
template <typename On>
class TreeVisitor {
 public:
  explicit TreeVisitor(On on) : on_(on) {}

  void Visit(Function& f) {
    for (Param& p : f.params) Visit(p.type);
    if (f.has_result) Visit(f.result);
    Visit(f.body);
  }
  void Visit(TypeExpr& t) {
    for (ExprPtr& dim : t.dims) Visit(*dim);
    for (TypeExpr& element : t.elements) Visit(element);
  }
  void Visit(Block& b) {
    for (StmtPtr& s : b.stmts) Visit(*s);
    Visit(b.result);
  }
  void Visit(Stmt& s) {
    on_(s);
    for (Target& t : s.targets) {
      on_(t);
      for (Subscript& sub : t.subscripts) Visit(sub);
    }
    if (s.annotation) Visit(*s.annotation);
    Visit(s.value);
    for (CondArm& arm : s.arms) Visit(arm);
    Visit(s.binder);
    Visit(s.body);
  }
  void Visit(Expr& e) {
    on_(e);
    for (ExprPtr& operand : e.operands) Visit(*operand);
    for (Subscript& sub : e.subscripts) Visit(sub);
    for (Binder& b : e.binders) Visit(b);
    Visit(e.body);
    for (CondArm& arm : e.arms) Visit(arm);
  }

 private:
  void Visit(ExprPtr& e) {
    if (e) Visit(*e);
  }
  void Visit(CondArm& arm) {
    Visit(arm.cond);
    Visit(arm.body);
  }
  void Visit(Binder& b) {
    Visit(b.lo);
    Visit(b.hi);
  }
  void Visit(Subscript& s) {
    Visit(s.index);
    Visit(s.lo);
    Visit(s.hi);
    Visit(s.step);
  }

  On on_;
};

// Calls fn(Expr&) for e and every expression below it.
template <typename Fn>
void VisitExprs(Expr& e, Fn&& fn) {
  auto on = [&](auto& node) {
    if constexpr (std::is_same_v<decltype(node), Expr&>) fn(node);
  };
  TreeVisitor<decltype(on)>(on).Visit(e);
}

}  // namespace pullback::lang
