// A walk over a tree that is not checked yet, with the language's rules of scope: which declaration a
// name means. Before Check only; afterwards nodes know their locals.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/lang/ast.h"

namespace pullback::lang {

class ScopeWalk {
 public:
  virtual ~ScopeWalk() = default;
  void Walk(const Block& block);  // its statements and its result, in a scope of its own
  void Walk(const Lambda& lambda);

 protected:
  // A declaration is known by the address of what declares it; null: it is none of the walked tree.
  virtual void OnDeclare(const void* declaration) = 0;
  virtual void OnUse(const std::string& name, const Span& span, const void* declaration) = 0;
  virtual void OnAssign(const Target& target, const void* declaration) = 0;
  virtual void OnLoop(bool enter) = 0;
  virtual void OnLambda(const Lambda* lambda, bool enter) = 0;

 private:
  void Declare(const std::string& name, const void* declaration);
  const void* Find(const std::string& name) const;
  void Reset(size_t mark);
  void Use(const std::string& name, const Span& span) { OnUse(name, span, Find(name)); }

  void Items(const Block& block);
  void Walk(const Stmt& s);
  void Walk(const Expr& e);
  void Walk(const ExprPtr& e) {
    if (e) Walk(*e);
  }
  void Walk(const std::vector<Subscript>& subscripts);
  void Walk(const std::vector<Access>& path);
  void Walk(const std::vector<CondArm>& arms);
  void Walk(const TypeExpr& t);
  void Comprehension(const Expr& e);

  std::unordered_map<std::string, std::vector<const void*>> scopes_;
  std::vector<std::string> declared_;
};

// Names that a lambda uses and does not declare itself, in order of first use. Some are functions'.
struct FreeName {
  std::string name;
  Span span;
};
std::vector<FreeName> FreeNames(const Lambda& lambda);

// Targets that declare variables which a lambda captures and which change after it was made, or in
// it: a copy of them would not do.
std::set<const void*> SharedVariables(const Block& body);

}  // namespace pullback::lang
