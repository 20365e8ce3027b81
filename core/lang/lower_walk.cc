#include "core/lang/lower_walk.h"

#include <algorithm>
#include <set>

#include "core/lang/lower_expr.h"
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

bool HasLoops(const Block& block) {
  bool loops = false;
  ForEachStmt(block, [&](const Stmt& s) {
    loops = loops || s.kind == Stmt::Kind::kWhile || s.kind == Stmt::Kind::kFor;
  });
  return loops;
}

void ForEachCertain(const Expr& e, const std::function<bool(const Expr&)>& fn) {
  if (!fn(e)) return;
  const bool logic =
      e.kind == Expr::Kind::kBinary && (e.binary == BinaryOp::kAnd || e.binary == BinaryOp::kOr);
  if (e.kind == Expr::Kind::kIf) return ForEachCertain(*e.arms[0].cond, fn);
  if (IsChain(e) || e.kind == Expr::Kind::kComprehension) return;
  for (const ExprPtr& operand : e.operands) {
    ForEachCertain(*operand, fn);
    if (logic) return;
  }
  for (const Subscript& s : e.subscripts) {
    for (const ExprPtr* part : {&s.index, &s.lo, &s.hi}) {
      if (*part) ForEachCertain(**part, fn);
    }
  }
}

const Expr* CertainPart(const Stmt& s) {
  switch (s.kind) {
    case Stmt::Kind::kLet:
    case Stmt::Kind::kVar:
    case Stmt::Kind::kAssign:
    case Stmt::Kind::kWhile: return s.value.get();
    case Stmt::Kind::kFor: return s.binder.hi.get();
    case Stmt::Kind::kIf: return s.arms[0].cond.get();
    default: return nullptr;
  }
}

}  // namespace pullback::lang
