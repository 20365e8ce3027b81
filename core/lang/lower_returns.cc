// What a function of lets, ifs and returns gives, in a body: an `if` whose arms return is a choice between an arm's value and
// that of what follows.
//
//   let a = e                      let a = e
//   if p { return u }              if p { u } else { let b = v
//   let b = v                                        w }
//   return w
#include <algorithm>

#include "core/lang/lower_expr.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_stmt.h"

namespace pullback::lang {
namespace {

using Stmts = std::vector<StmtPtr>;

constexpr int kMostChoices = 32;

// Takes one for each condition. False: `left` are too few, or there is something else, or control reaches the end.
bool ReturnsByConditions(const Stmts& stmts, int& left) {
  for (const StmtPtr& s : stmts) {
    if (s->kind == Stmt::Kind::kLet || s->kind == Stmt::Kind::kVar) continue;
    if (s->kind == Stmt::Kind::kReturn) return s->value != nullptr;
    if (s->kind != Stmt::Kind::kIf) return false;
    for (const CondArm& arm : s->arms) {
      if (arm.cond && left-- == 0) return false;
      if (!ReturnsByConditions(arm.body.stmts, left)) return false;
    }
    if (!s->arms.back().cond) return true;
  }
  return false;
}

std::optional<Leaves> ReturnFrom(Context& c, const Stmts& stmts, size_t at);

std::optional<Leaves> LowerReturn(Context& c, const Stmt& s) {
  PB_TRY(Leaves results, Lower(c, *s.value));
  std::vector<const TypeExpr*> types;
  Flatten(c.at->function->result, types);
  c.SetLoc(s.ordinal);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!CheckDeclared(c, *types[i], results[i])) return std::nullopt;
  }
  return results;
}

// From that arm of the `if` on.
std::optional<Leaves> ReturnByArms(Context& c, const Stmts& stmts, size_t at, size_t arm) {
  const std::vector<CondArm>& arms = stmts[at]->arms;
  if (arm == arms.size()) return ReturnFrom(c, stmts, at + 1);
  const auto chosen = [&] { return ReturnFrom(c, arms[arm].body.stmts, 0); };
  if (!arms[arm].cond) return chosen();
  return ChooseByGuard(c, *arms[arm].cond, chosen,
                       [&] { return ReturnByArms(c, stmts, at, arm + 1); });
}

std::optional<Leaves> ReturnFrom(Context& c, const Stmts& stmts, size_t at) {
  for (; at < stmts.size(); ++at) {
    const Stmt& s = *stmts[at];
    if (s.kind == Stmt::Kind::kReturn) return LowerReturn(c, s);
    if (s.kind == Stmt::Kind::kIf) return ReturnByArms(c, stmts, at, 0);
    if (!LowerLet(c, s)) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

bool ReturnsByConditions(const Function& f) {
  int left = kMostChoices;
  return ReturnsByConditions(f.body.stmts, left);
}

std::optional<Leaves> LowerReturned(Context& c) {
  return ReturnFrom(c, c.at->function->body.stmts, 0);
}

}  // namespace pullback::lang
