#include "core/lang/lower_source.h"

#include <algorithm>

#include "core/lang/walk.h"

namespace pullback::lang {

bool Mentions(const Expr& e, const std::set<uint32_t>& locals) {
  bool found = false;
  ForEachExpr(e, [&](const Expr& part) {
    found = found || (part.kind == Expr::Kind::kName && locals.count(part.local) != 0);
  });
  return found;
}

std::set<uint32_t> LetsIn(const Expr& e) {
  std::set<uint32_t> lets;
  ForEachExpr(e, [&](const Expr& part) {
    for (const CondArm& arm : part.arms) {
      for (const StmtPtr& s : arm.body.stmts) {
        for (const Target& t : s->targets) lets.insert(t.local);
      }
    }
  });
  return lets;
}

bool IsSimple(const Expr& e) {
  const bool linear =
      (e.kind == Expr::Kind::kUnary && e.unary == UnaryOp::kNeg) ||
      (e.kind == Expr::Kind::kBinary && (e.binary == BinaryOp::kAdd || e.binary == BinaryOp::kSub));
  if (!linear) return e.kind == Expr::Kind::kInt || e.kind == Expr::Kind::kName;
  return std::all_of(e.operands.begin(), e.operands.end(),
                     [](const ExprPtr& part) { return IsSimple(*part); });
}

int64_t Coefficient(const Expr& e, uint32_t local) {
  if (e.kind == Expr::Kind::kName) return e.local == local ? 1 : 0;
  if (e.kind == Expr::Kind::kInt) return 0;
  const int64_t first = Coefficient(*e.operands[0], local);
  if (e.kind == Expr::Kind::kUnary) return -first;
  const int64_t second = Coefficient(*e.operands[1], local);
  return e.binary == BinaryOp::kAdd ? first + second : first - second;
}

bool AreAlike(const Expr& a, const Expr& b) {
  if (a.kind != b.kind || a.operands.size() != b.operands.size()) return false;
  if (!a.arms.empty() || a.local != b.local || a.type != b.type) return false;
  if (a.int_value != b.int_value || a.float_value != b.float_value) return false;
  if (a.builtin != b.builtin || a.callee != b.callee) return false;
  if (a.kind == Expr::Kind::kUnary && a.unary != b.unary) return false;
  if (a.kind == Expr::Kind::kBinary && a.binary != b.binary) return false;
  for (size_t i = 0; i < a.operands.size(); ++i) {
    if (!AreAlike(*a.operands[i], *b.operands[i])) return false;
  }
  for (size_t i = 0; i < a.subscripts.size(); ++i) {
    if (!AreAlike(*a.subscripts[i].index, *b.subscripts[i].index)) return false;
  }
  return true;
}

bool AddsUp(const Expr& comprehension) {
  switch (comprehension.comprehension) {
    case Comprehension::kGen:
    case Comprehension::kSum:
    case Comprehension::kOr:
    case Comprehension::kExists: return true;
    default: return false;
  }
}

bool IsNot(const Expr& e) { return e.kind == Expr::Kind::kUnary && e.unary == UnaryOp::kNot; }

bool IsNumber(const Expr& e, int64_t v) {
  if (e.kind == Expr::Kind::kCast) return IsNumber(*e.operands[0], v);
  if (e.kind == Expr::Kind::kInt) return e.int_value == v;
  return e.kind == Expr::Kind::kFloat && e.float_value == static_cast<double>(v);
}

}  // namespace pullback::lang
