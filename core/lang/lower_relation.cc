#include "core/lang/lower_relation.h"

#include <algorithm>

#include "core/lang/builtins.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_tuples.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

bool MayBind(const Context& c, const Statement& s) {
  return !c.dims_only && s.reduce.value_or(ir::Monoid::kSum) == ir::Monoid::kSum;
}

// --- which index a form tells

std::optional<Solution> Solve(Context& c, const Statement& s, const Affine& form) {
  std::optional<Solution> found;
  for (const Affine::Term& t : form.terms) {
    if (c.OwnerOf(t.value) == 0) continue;
    const bool unit = t.coeff == 1 || t.coeff == -1;
    if (found || !unit || !c.IsIndex(t.value) || IsAdopted(c, t.value)) return std::nullopt;
    const bool own = Contains(c.frame().indices, t.value);
    if (!own && s.reduce != ir::Monoid::kSum) return std::nullopt;
    found = Solution{t.value, t.coeff, form.Substitute(t.value, Affine::Const(0)), own};
  }
  return found;
}

// --- a relation

// The arguments that tell no index must be known once those are.
bool AreKnown(Context& c, const Arguments& a) {
  for (size_t axis = 0; axis < a.forms.size(); ++axis) {
    for (const Affine::Term& t : a.forms[axis].terms) {
      const bool known = a.free[axis] || c.OwnerOf(t.value) == 0 || Tells(a, t.value) ||
                         c.FindBound(t.value) != nullptr;
      if (!known) return false;
    }
  }
  return true;
}

// nullopt: it tells no index, or not so that following it is worth while.
std::optional<Arguments> Classify(Context& c, const Statement& s, const Expr& e) {
  Arguments a;
  for (size_t i = 1; i < e.operands.size(); ++i) {
    PB_TRY(const Affine form, AffineAsIs(c, *e.operands[i]));
    std::optional<Solution> solution = Solve(c, s, form);
    if (solution && Tells(a, solution->index)) solution.reset();
    const size_t axis = i - 1;
    if (!solution && !a.fixed && c.IsOuter(form)) a.fixed = axis;
    const Value v = form.AsValue();
    const bool bound = v.valid() && c.FindBound(v) != nullptr;
    const bool own = bound && Contains(c.frame().bound, v);
    if (own && !a.joined) a.joined = axis;
    if (bound && !own && !a.around) a.around = axis;
    a.forms.push_back(form);
    a.free.push_back(std::move(solution));
  }
  const bool any = std::any_of(a.free.begin(), a.free.end(), [](const auto& f) { return !!f; });
  if (!any || !AreKnown(c, a)) return std::nullopt;
  if (a.fixed || a.joined) a.around.reset();
  const bool may =
      a.around && s.reduce == ir::Monoid::kSum && !IsAdopted(c, a.forms[*a.around].AsValue());
  if (a.around && !may) return std::nullopt;
  return a;
}

// --- equations

bool Mentions(const Context& c, const Expr& e, Value v) {
  bool found = false;
  ForEachExpr(e, [&](const Expr& part) {
    if (part.kind != Expr::Kind::kName || part.local == UINT32_MAX) return;
    for (const Leaf& leaf : c.at->locals[part.local]) {
      found = found || leaf.array || !leaf.value.valid() ||
              (c.b.TypeOf(leaf.value) == ir::Type::I64() && c.AffineFor(leaf.value).Coeff(v) != 0);
    }
  });
  return found;
}

bool IsUsed(const Context& c, Value v) {
  bool used = false;
  const auto visit = [&](Value operand) { used = used || operand == v; };
  for (const ir::Inst& inst : c.frames.back()->body) ir::ForEachOperand(inst, visit);
  return used;
}

// The side of `index == value` that is the index.
std::optional<std::pair<size_t, Solution>> PinnedSide(Context& c, const Statement& s,
                                                      const Expr& e) {
  if (e.kind != Expr::Kind::kBinary || e.binary != BinaryOp::kEq || !MayBind(c, s)) {
    return std::nullopt;
  }
  if (e.operands[0]->type != Type::Scalar(DType::kI64) || AffinePredicate(c, e))
    return std::nullopt;
  for (size_t side : {size_t{0}, size_t{1}}) {
    const std::optional<Affine> form = AffineAsIs(c, *e.operands[side]);
    const std::optional<Solution> solution = form ? Solve(c, s, *form) : std::nullopt;
    if (!solution || !solution->own || IsUsed(c, solution->index)) continue;
    if (!Mentions(c, *e.operands[1 - side], solution->index)) return std::pair{side, *solution};
  }
  return std::nullopt;
}

}  // namespace

bool IsRelated(const Expr& e) {
  return e.kind == Expr::Kind::kCall && e.builtin == static_cast<int>(Builtin::Related);
}

bool BindsIndices(Context& c, const Statement& s, const std::vector<const Expr*>& predicates) {
  if (!MayBind(c, s)) return false;
  return std::any_of(predicates.begin(), predicates.end(), [&](const Expr* p) {
    if (IsRelated(*p)) return TuplesOf(c, *p) && Classify(c, s, *p);
    return PinnedSide(c, s, *p).has_value();
  });
}

std::vector<const Expr*> BindRelations(Context& c, Statement& s,
                                       const std::vector<const Expr*>& predicates) {
  std::vector<const Expr*> rest;
  for (const Expr* p : predicates) {
    const bool may = MayBind(c, s) && IsRelated(*p);
    std::optional<Tuples> tuples = may ? TuplesOf(c, *p) : std::nullopt;
    std::optional<Arguments> a = tuples ? Classify(c, s, *p) : std::nullopt;
    c.SetLoc(p->ordinal);
    if (!a || !BindTuples(c, s, *std::move(tuples), *std::move(a))) rest.push_back(p);
  }
  return rest;
}

bool PinIndex(Context& c, Statement& s, const Expr& equation) {
  const auto pinned = PinnedSide(c, s, equation);
  if (!pinned) return false;
  const auto& [side, solution] = *pinned;
  Frame& frame = c.frame();
  std::vector<Constraint> constraints;
  for (const Constraint& k : frame.where) {
    if (k.e.Coeff(solution.index) != 0) constraints.push_back(k);
  }
  if (!constraints.empty() && !frame.body.empty()) return false;
  MaybeValue value;
  if (c.guard.any) {
    GuardValue(c);
    GuardedRegion region(c, c.guard);
    value = LowerScalar(c, *equation.operands[1 - side]);
  } else {
    value = LowerScalar(c, *equation.operands[1 - side]);
  }
  if (!value) return false;
  const Affine index = (Affine::Of(*value) - solution.rest) * solution.sign;
  const Value v = c.ToValue(index);
  c.b.Make(Op::Add, {v, c.b.I64(0)});
  frame.body.back().results = {solution.index};
  const auto at = std::find_if(frame.indices.begin(), frame.indices.end(),
                               [&](const ir::IndexVar& i) { return i.var == solution.index; });
  const ir::IndexVar old = *at;
  frame.indices.erase(at);
  frame.bound.push_back(old);
  std::erase_if(frame.where, [&](const Constraint& k) { return k.e.Coeff(solution.index) != 0; });
  constraints.push_back({Affine::Of(old.var), false});
  constraints.push_back({c.AffineFor(old.extent) - Affine::Of(old.var) - Affine::Const(1), false});
  if (frame.indices.empty()) AddIndex(c, s, Affine::Const(1), false, "");
  AddGuard(c, c.b.Holds(constraints));
  return true;
}

}  // namespace pullback::lang
