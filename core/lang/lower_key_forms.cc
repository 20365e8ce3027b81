// Which expressions may be arguments of relations: what the source says of them.
#include <algorithm>

#include "core/lang/builtins.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_keys.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_source.h"
#include "core/lang/lower_walk.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

bool IsInside(const Context& c, const Affine& sub, const Affine& extent) {
  return IsNonNegative(c, Least(c, sub)) &&
         IsNonNegative(c, Least(c, extent - sub - Affine::Const(1)));
}

// Of integers, by what may be 0.
bool MayDivideByZero(const Expr& e) {
  const bool quotient = e.kind == Expr::Kind::kBinary && e.type.elem == DType::kI64 &&
                        (e.binary == BinaryOp::kDiv || e.binary == BinaryOp::kRem);
  return quotient && (e.operands[1]->kind != Expr::Kind::kInt || e.operands[1]->int_value == 0);
}

bool IsCallOfFunction(const Expr& e) { return e.kind == Expr::Kind::kCall && e.builtin < 0; }

bool LooksLikeCall(Context& c, const Expr& e) {
  return e.builtin >= 0 ? IsScalarBuiltin(e.builtin)
                        : IsScalarFunction(*c.module.program.functions[e.callee]);
}

// An element of an array that stands in memory in front of the bodies.
bool IsElement(Context& c, const Expr& e) {
  const Expr& array = *e.operands[0];
  if (array.kind != Expr::Kind::kName || array.type.kind != Type::Kind::kArray) return false;
  const Leaves& leaves = c.at->locals[array.local];
  return !leaves.empty() && leaves[0].value.valid() && c.OwnerOf(leaves[0].value) == 0 &&
         std::all_of(e.subscripts.begin(), e.subscripts.end(),
                     [&](const Subscript& s) { return s.index && LooksLikeKey(c, *s.index); });
}

// Lets, and a value.
bool LooksLikeKey(Context& c, const Block& block) {
  const bool lets = std::all_of(block.stmts.begin(), block.stmts.end(), [&](const StmtPtr& s) {
    return s->kind == Stmt::Kind::kLet && !s->annotation && LooksLikeKey(c, *s->value);
  });
  return lets && LooksLikeKey(c, *block.result);
}

// --- functions

constexpr int kMaxDepth = 16;  // of calls in calls

bool SurelyReturns(ModuleContext& m, uint32_t function, int depth);

bool GivesValue(ModuleContext& m, const Expr& e, int depth) {
  switch (e.kind) {
    case Expr::Kind::kInt:
    case Expr::Kind::kFloat:
    case Expr::Kind::kBool:
    case Expr::Kind::kName:
    case Expr::Kind::kUnary:
    case Expr::Kind::kCast:
    case Expr::Kind::kIf: return true;
    case Expr::Kind::kBinary: return !MayDivideByZero(e);
    case Expr::Kind::kCall:
      return IsCallOfFunction(e) ? SurelyReturns(m, e.callee, depth) : IsScalarBuiltin(e.builtin);
    default: return false;
  }
}

// One that is asked for already calls itself.
bool SurelyReturns(ModuleContext& m, uint32_t function, int depth) {
  const Function& f = *m.program.functions[function];
  if (depth >= kMaxDepth || !IsScalarFunction(f)) return false;
  const auto [at, added] = m.returns.try_emplace(function, false);
  if (!added) return at->second;
  bool returns = !HasLoops(f.body);
  ForEachExpr(f.body, [&](const Expr& e) { returns = returns && GivesValue(m, e, depth + 1); });
  return m.returns[function] = returns;
}

}  // namespace

bool IsInside(const Context& c, const Expr& e) {
  const Leaf& x = c.at->locals[e.operands[0]->local][0];
  if (!x.value.valid()) return false;
  const std::vector<Affine>& dims = c.dims.at(x.value.id);
  for (size_t i = 0; i < dims.size(); ++i) {
    const std::optional<Affine> sub = AffineAsIs(c, *e.subscripts[i].index);
    if (!sub || !IsInside(c, *sub, dims[i])) return false;
  }
  return true;
}

bool LooksLikeKey(Context& c, const Expr& e) {
  if (e.type.kind != Type::Kind::kScalar || c.IsGiven(e)) return false;
  switch (e.kind) {
    case Expr::Kind::kInt:
    case Expr::Kind::kFloat:
    case Expr::Kind::kBool:
    case Expr::Kind::kName: return true;
    case Expr::Kind::kUnary:
    case Expr::Kind::kCast: break;
    case Expr::Kind::kBinary:
      if (e.binary == BinaryOp::kMatMul) return false;
      break;
    case Expr::Kind::kCall:
      if (!LooksLikeCall(c, e)) return false;
      break;
    case Expr::Kind::kIndex: return IsElement(c, e);
    case Expr::Kind::kIf:
      return std::all_of(e.arms.begin(), e.arms.end(), [&](const CondArm& arm) {
        return (!arm.cond || LooksLikeKey(c, *arm.cond)) && LooksLikeKey(c, arm.body);
      });
    default: return false;
  }
  return std::all_of(e.operands.begin(), e.operands.end(),
                     [&](const ExprPtr& part) { return LooksLikeKey(c, *part); });
}

bool IsCheckable(Context& c, const Expr& e) {
  if (!LooksLikeKey(c, e)) return false;
  bool returns = true;
  ForEachExpr(e, [&](const Expr& part) {
    returns = returns && (!IsCallOfFunction(part) || SurelyReturns(c.module, part.callee));
  });
  return returns;
}

bool IsKey(Context& c, const Expr& e) {
  if (!IsCheckable(c, e)) return false;
  bool inside = true;
  const std::set<uint32_t> lets = LetsIn(e);  // which have no values yet
  ForEachExpr(e, [&](const Expr& part) {
    const bool element = part.kind == Expr::Kind::kIndex;
    const bool traps =
        (element && (Mentions(part, lets) || !IsInside(c, part))) || MayDivideByZero(part);
    inside = inside && !traps;
  });
  return inside;
}

bool SurelyReturns(ModuleContext& m, uint32_t function) { return SurelyReturns(m, function, 0); }

}  // namespace pullback::lang
