#include "core/lang/lower_walk.h"

#include <algorithm>
#include <set>

#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

// Statements of the block and below, but not those inside expressions.
template <typename Fn>
void ForEachStmt(const Block& block, Fn&& fn) {
  for (const StmtPtr& s : block.stmts) {
    fn(*s);
    for (const CondArm& arm : s->arms) ForEachStmt(arm.body, fn);
    ForEachStmt(s->body, fn);
  }
}

bool Declares(const Stmt& s) { return s.kind == Stmt::Kind::kLet || s.kind == Stmt::Kind::kVar; }

struct Assignments {
  std::set<uint32_t> assigned, declared;

  void Add(const Block& block) {
    ForEachStmt(block, [&](const Stmt& s) {
      for (const Target& t : s.targets) {
        if (Declares(s)) declared.insert(t.local);
        if (s.kind == Stmt::Kind::kAssign) assigned.insert(t.local);
      }
    });
  }
  Variables Outer() const {
    Variables out;
    std::set_difference(assigned.begin(), assigned.end(), declared.begin(), declared.end(),
                        std::back_inserter(out));
    return out;
  }
};

void AddDeclared(const Block& block, std::set<uint32_t>& out) {
  ForEachStmt(block, [&](const Stmt& s) {
    if (s.kind == Stmt::Kind::kFor) out.insert(s.binder.local);
    if (!Declares(s)) return;
    for (const Target& t : s.targets) out.insert(t.local);
  });
}

}  // namespace

Variables AssignedIn(const Block& block) {
  Assignments a;
  a.Add(block);
  return a.Outer();
}

Variables AssignedIn(const std::vector<CondArm>& arms) {
  Assignments a;
  for (const CondArm& arm : arms) a.Add(arm.body);
  return a.Outer();
}

bool OnlyElementsAssigned(const Block& block, uint32_t local) {
  bool only = true;
  ForEachStmt(block, [&](const Stmt& s) {
    if (s.kind != Stmt::Kind::kAssign) return;
    for (const Target& t : s.targets) {
      const bool element =
          std::any_of(t.path.begin(), t.path.end(), [](const Access& a) { return !a.IsField(); });
      only = only && (t.local != local || element);
    }
  });
  return only;
}

std::vector<uint32_t> FreeLocals(const Block& block) {
  std::set<uint32_t> bound;
  std::vector<uint32_t> used;
  AddDeclared(block, bound);
  ForEachExpr(block, [&](const Expr& e) {
    if (e.kind == Expr::Kind::kName && e.local != UINT32_MAX) used.push_back(e.local);
    for (const CondArm& arm : e.arms) AddDeclared(arm.body, bound);
    if (e.kind != Expr::Kind::kComprehension) return;
    AddDeclared(e.body, bound);
    if (!e.operands.empty()) bound.insert(e.local);
    for (const Binder& b : e.binders) bound.insert(b.local);
  });
  std::set<uint32_t> seen;
  std::vector<uint32_t> out;
  for (uint32_t local : used) {
    if (bound.count(local) == 0 && seen.insert(local).second) out.push_back(local);
  }
  return out;
}

}  // namespace pullback::lang
