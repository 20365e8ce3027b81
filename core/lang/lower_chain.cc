// Products with Iverson brackets, and quotients of those: where a bracket is false, nothing else is
// evaluated. In blocks that is a branch, in bodies a guard.
#include <algorithm>
#include <utility>

#include "core/lang/lower_expr.h"
#include "core/lang/lower_relation.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_source.h"
#include "core/lang/lower_stmt.h"

namespace pullback::lang {
namespace {

// How many operands, from the first, may be chains that guard e: both factors, what is negated, the
// dividend.
size_t CountFactors(const Expr& e) {
  if (e.kind == Expr::Kind::kUnary) return e.unary == UnaryOp::kNeg ? 1 : 0;
  if (e.kind != Expr::Kind::kBinary) return 0;
  if (e.binary == BinaryOp::kMul) return 2;
  return e.binary == BinaryOp::kDiv ? 1 : 0;
}

// Without brackets, all factors cost next to nothing. Quotients do not: those of integers trap, and
// one by 0 that nobody takes makes second derivatives NaN.
bool IsTrivialRest(const Expr& e) {
  if (e.kind == Expr::Kind::kIverson) return true;
  if (CountFactors(e) == 0 || IsQuotient(e)) return IsTrivial(e);
  return std::all_of(e.operands.begin(), e.operands.end(),
                     [](const ExprPtr& factor) { return IsTrivialRest(*factor); });
}

// The rest, or 1 where there is none.
MaybeValue RestOrOne(Context& c, const Expr& e) {
  PB_TRY(const Value rest, LowerRest(c, e));
  return rest.valid() ? rest : c.b.One(ir::Type::Scalar(e.type.elem));
}

bool ArePure(const std::vector<const Expr*>& predicates) {
  return std::all_of(predicates.begin(), predicates.end(),
                     [](const Expr* p) { return IsPureScalar(*p); });
}

// Pure ones: all of them are evaluated.
MaybeValue AndOf(Context& c, const std::vector<const Expr*>& predicates) {
  Value all;
  for (const Expr* p : predicates) {
    PB_TRY(const Value v, LowerScalar(c, *p));
    all = all.valid() ? c.b.Make(Op::And, {all, v}) : v;
  }
  return all;
}

Value ChainBySelect(Context& c, const Expr& e, const std::vector<const Expr*>& predicates) {
  const Value all = *AndOf(c, predicates);
  const Value rest = *LowerRest(c, e);
  if (!rest.valid()) return c.b.Cast(all, e.type.elem);
  return c.b.Make(Op::Select, {all, rest, c.b.Zero(c.b.TypeOf(rest))});
}

Value ChainByBranch(Context& c, const Expr& e, const std::vector<const Expr*>& predicates) {
  const uint32_t no = c.b.NewBlock();
  BranchOnAll(c, predicates, no);
  std::vector<Exit> exits;
  const bool outer = std::exchange(c.bracketed, true);
  const Value rest = *RestOrOne(c, e);
  c.bracketed = outer;
  exits.push_back({c.b.block(), {{{rest, nullptr}}}});
  c.b.SetBlock(no);
  exits.push_back({no, {{{c.b.Zero(c.b.TypeOf(rest)), nullptr}}}});
  return JoinValues(c, exits)[0].value;
}

MaybeValue ChainByGuard(Context& c, const Expr& e, const std::vector<const Expr*>& predicates) {
  Guard outer = c.guard;
  for (const Expr* p : predicates) {
    if (!AddGuard(c, *p)) return std::nullopt;
  }
  const Value guard = GuardValue(c);
  Value rest;
  {
    GuardedRegion region(c, std::move(outer));
    PB_TRY(rest, LowerRest(c, e));
  }
  if (!rest.valid()) return c.b.Cast(guard, e.type.elem);
  return ZeroElsewhere(c, rest, guard);
}

// The same call r(i, j) is among them.
bool IsAsked(const Expr& e, const std::vector<const Expr*>& predicates) {
  const bool plain = IsRelated(e) && std::all_of(e.operands.begin(), e.operands.end(),
                                                 [](const ExprPtr& o) { return IsSimple(*o); });
  return plain && std::any_of(predicates.begin(), predicates.end(),
                              [&](const Expr* p) { return AreAlike(*p, e); });
}

}  // namespace

void CollectConjuncts(const Context& c, const Expr& e, std::vector<const Expr*>& predicates) {
  if (const auto it = c.chosen.find(&e); it != c.chosen.end()) {
    for (const Expr* p : it->second) CollectConjuncts(c, *p, predicates);
    return;
  }
  if (e.kind != Expr::Kind::kBinary || e.binary != BinaryOp::kAnd) {
    if (!IsAsked(e, predicates)) predicates.push_back(&e);
    return;
  }
  for (const ExprPtr& part : e.operands) CollectConjuncts(c, *part, predicates);
}

bool IsQuotient(const Expr& e) {
  return e.kind == Expr::Kind::kBinary && e.binary == BinaryOp::kDiv;
}

bool IsChain(const Expr& e) {
  if (e.kind == Expr::Kind::kIverson) return true;
  for (size_t i = 0; i < CountFactors(e); ++i) {
    if (IsChain(*e.operands[i])) return true;
  }
  return false;
}

const Block* OnlyWhere(const Expr& e) {
  const bool number = e.type.kind == Type::Kind::kScalar && e.type.elem != DType::kBool;
  if (e.kind != Expr::Kind::kIf || !number || e.arms.size() != 2 || e.arms[1].cond) return nullptr;
  const Block& other = e.arms[1].body;
  const auto is = [&](Expr::Kind k) { return other.result->kind == k; };
  const bool zero = other.stmts.empty() && other.result &&
                    ((is(Expr::Kind::kInt) && other.result->int_value == 0) ||
                     (is(Expr::Kind::kFloat) && other.result->float_value == 0));
  return zero ? &e.arms[0].body : nullptr;
}

void CollectBrackets(const Context& c, const Expr& e, std::vector<const Expr*>& predicates) {
  if (e.kind == Expr::Kind::kIverson) CollectConjuncts(c, *e.operands[0], predicates);
  for (size_t i = 0; i < CountFactors(e); ++i) CollectBrackets(c, *e.operands[i], predicates);
}

MaybeValue LowerRest(Context& c, const Expr& e) {
  if (e.kind == Expr::Kind::kIverson) return Value();
  if (!IsChain(e)) return LowerScalar(c, e);
  if (CountFactors(e) == 1) {
    PB_TRY(const Value a, RestOrOne(c, *e.operands[0]));
    if (!IsQuotient(e)) return UnaryScalar(c, e.unary, a);
    PB_TRY(const Value b, LowerScalar(c, *e.operands[1]));
    c.SetLoc(e.ordinal);
    return Arithmetic(c, e.binary, a, b);
  }
  PB_TRY(const Value a, LowerRest(c, *e.operands[0]));
  PB_TRY(const Value b, LowerRest(c, *e.operands[1]));
  if (!a.valid() || !b.valid()) return a.valid() ? a : b;
  return Arithmetic(c, e.binary, a, b);
}

MaybeValue LowerConjunction(Context& c, const std::vector<const Expr*>& predicates) {
  if (ArePure(predicates)) return AndOf(c, predicates);
  if (c.InBody()) {
    const Guard outer = c.guard;
    bool good = true;
    for (const Expr* p : predicates) good = good && AddGuard(c, *p);
    const MaybeValue all = good ? MaybeValue(GuardValue(c)) : std::nullopt;
    c.guard = outer;
    return all;
  }
  const uint32_t no = c.b.NewBlock();
  BranchOnAll(c, predicates, no);
  std::vector<Exit> exits = {{c.b.block(), {{{c.b.Bool(true), nullptr}}}}};
  c.b.SetBlock(no);
  exits.push_back({no, {{{c.b.Bool(false), nullptr}}}});
  return JoinValues(c, exits)[0].value;
}

void BranchOnAll(Context& c, const std::vector<const Expr*>& predicates, uint32_t no) {
  for (const Expr* p : predicates) {
    const uint32_t yes = c.b.NewBlock();
    LowerBranch(c, *p, yes, no);
    c.b.SetBlock(yes);
  }
}

MaybeValue LowerChain(Context& c, const Expr& e) {
  std::vector<const Expr*> predicates;
  CollectBrackets(c, e, predicates);
  if (c.InBody()) return ChainByGuard(c, e, predicates);
  if (ArePure(predicates) && IsTrivialRest(e)) return ChainBySelect(c, e, predicates);
  return ChainByBranch(c, e, predicates);
}

}  // namespace pullback::lang
