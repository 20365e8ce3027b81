// Whether control can reach the end of a block: a function with a result must not let it.
#include <algorithm>

#include "core/lang/check.h"

namespace pullback::lang {
namespace {

bool Breaks(const Block& block);

// Whether the statement has a `break` of the loop around it.
bool Breaks(const Stmt& s) {
  if (s.kind == Stmt::Kind::kBreak) return true;
  if (s.kind != Stmt::Kind::kIf) return false;
  return std::any_of(s.arms.begin(), s.arms.end(), [](const CondArm& a) { return Breaks(a.body); });
}

bool Breaks(const Block& block) {
  return std::any_of(block.stmts.begin(), block.stmts.end(),
                     [](const StmtPtr& s) { return Breaks(*s); });
}

bool IsTrue(const Expr& e) { return e.kind == Expr::Kind::kBool && e.int_value != 0; }

bool FallsThrough(const Stmt& s) {
  switch (s.kind) {
    case Stmt::Kind::kReturn:
    case Stmt::Kind::kBreak:
    case Stmt::Kind::kContinue: return false;
    case Stmt::Kind::kWhile: return !IsTrue(*s.value) || Breaks(s.body);
    case Stmt::Kind::kIf:
      return s.arms.back().cond || std::any_of(s.arms.begin(), s.arms.end(), [](const CondArm& a) {
               return FallsThrough(a.body);
             });
    default: return true;
  }
}

}  // namespace

bool FallsThrough(const Block& block) {
  return std::all_of(block.stmts.begin(), block.stmts.end(),
                     [](const StmtPtr& s) { return FallsThrough(*s); });
}

}  // namespace pullback::lang
