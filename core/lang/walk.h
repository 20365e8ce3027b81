// Pre-order walks over the tree, in the order of the text.
#pragma once

#include <type_traits>

#include "core/lang/ast.h"

namespace pullback::lang {

template <typename F>
void ForEachExpr(const Block& b, F&& f);

template <typename F>
void ForEachExpr(const ExprPtr& e, F&& f);

template <typename E, typename F>
  requires std::is_same_v<const E, const Expr>
void ForEachExpr(E& e, F&& f);

template <typename F>
void ForEachExpr(const std::vector<Subscript>& subscripts, F&& f) {
  for (const Subscript& s : subscripts) {
    ForEachExpr(s.index, f);
    ForEachExpr(s.lo, f);
    ForEachExpr(s.hi, f);
    ForEachExpr(s.step, f);
  }
}

template <typename F>
void ForEachExpr(const std::vector<Access>& path, F&& f) {
  for (const Access& a : path) ForEachExpr(a.subscripts, f);
}

template <typename F>
void ForEachExpr(const Binder& b, F&& f) {
  ForEachExpr(b.lo, f);
  ForEachExpr(b.hi, f);
}

template <typename F>
void ForEachExpr(const std::vector<CondArm>& arms, F&& f) {
  for (const CondArm& arm : arms) {
    ForEachExpr(arm.cond, f);
    ForEachExpr(arm.body, f);
  }
}

template <typename F>
void ForEachExpr(const TypeExpr& t, F&& f) {
  for (const ExprPtr& d : t.dims) ForEachExpr(d, f);
  for (const TypeExpr& e : t.elements) ForEachExpr(e, f);
  for (const TypeExpr& e : t.parts) ForEachExpr(e, f);
}

// Calls f on `e`, if there is one, and on every expression below it.
template <typename F>
void ForEachExpr(const ExprPtr& e, F&& f) {
  if (e) ForEachExpr(*e, f);
}

template <typename E, typename F>
  requires std::is_same_v<const E, const Expr>
void ForEachExpr(E& e, F&& f) {
  f(e);
  for (const ExprPtr& o : e.operands) ForEachExpr(o, f);
  ForEachExpr(e.subscripts, f);
  ForEachExpr(e.path, f);
  for (const Binder& b : e.binders) ForEachExpr(b, f);
  ForEachExpr(e.body, f);
  ForEachExpr(e.arms, f);
}

template <typename F>
void ForEachExpr(const Stmt& s, F&& f) {
  for (const Target& t : s.targets) ForEachExpr(t.path, f);
  if (s.annotation) ForEachExpr(*s.annotation, f);
  ForEachExpr(s.value, f);
  ForEachExpr(s.binder, f);
  ForEachExpr(s.snapshots, f);
  ForEachExpr(s.arms, f);
  ForEachExpr(s.body, f);
}

template <typename F>
void ForEachExpr(const Block& b, F&& f) {
  for (const StmtPtr& s : b.stmts) ForEachExpr(*s, f);
  ForEachExpr(b.result, f);
}

}  // namespace pullback::lang
