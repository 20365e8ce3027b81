#include "core/lang/lower_relation.h"

#include <algorithm>

#include "core/lang/builtins.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_keys.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_tuples.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

bool MayBind(const Context& c, const Statement& s) {
  return !c.dims_only && s.reduce.value_or(ir::Monoid::kSum) == ir::Monoid::kSum;
}

// --- which index a form tells

// What the frame reads is made from it: it would have to be known in front of that.
bool IsRead(Context& c, Value index) {
  bool read = false;
  const auto visit = [&](Value operand) { read = read || operand == index; };
  for (const ir::Inst& inst : c.frame().reads) ir::ForEachOperand(inst, visit);
  return read;
}

std::optional<Solution> Solve(Context& c, const Statement& s, const Affine& form) {
  std::optional<Solution> found;
  for (const Affine::Term& t : form.terms) {
    if (c.OwnerOf(t.value) == 0) continue;
    const bool unit = t.coeff == 1 || t.coeff == -1;
    if (found || !unit || !c.IsIndex(t.value) || IsAdopted(c, t.value)) return std::nullopt;
    if (IsRead(c, t.value)) return std::nullopt;
    const bool own = Contains(c.frame().indices, t.value);
    if (!own && s.reduce != ir::Monoid::kSum) return std::nullopt;
    found = Solution{t.value, t.coeff, form.Substitute(t.value, Affine::Const(0)), own};
  }
  return found;
}

// --- a relation

// An argument that tells no index must be known once those are.
bool IsKnown(Context& c, const Arguments& a, const Affine& form) {
  return std::all_of(form.terms.begin(), form.terms.end(), [&](const Affine::Term& t) {
    return c.OwnerOf(t.value) == 0 || Tells(a, t.value) || c.FindBound(t.value) != nullptr;
  });
}

// An index that stands in a statement already, among the others that may tell the tuples.
void AddBound(Context& c, Arguments& a, size_t axis, bool keyed) {
  if (Contains(c.frame().bound, a.forms[axis].AsValue())) {
    if (!a.joined) a.joined = axis;
  } else if (!a.around) {
    a.around = axis;
    a.keyed = keyed;
  }
}

bool IsTold(const Arguments& a, const Key& key) {
  return std::any_of(key.sources.begin(), key.sources.end(),
                     [&](Value source) { return Tells(a, source); });
}

// nullopt: the argument cannot be a key that is made from something else than what `a` tells.
std::optional<Key> KeyFor(Context& c, const Expr& e, const std::vector<const Expr*>& before,
                          const Arguments& a) {
  Mark mark(c);
  std::optional<Key> key = BindKey(c, e, before);
  if (key && !IsTold(a, *key)) return key;
  mark.Rollback();
  key = a.open ? std::nullopt : BindOpenKey(c, e, before, a);
  return key && !IsTold(a, *key) ? key : std::nullopt;
}

// The tuples are told by this axis, and no other: elsewhere all go with an open key.
void TellByKey(Context& c, Arguments& a, size_t axis, const Key& key) {
  a.open = true;
  a.fixed.reset();
  a.joined.reset();
  a.around.reset();
  if (key.sources.empty()) {
    a.fixed = axis;
  } else {
    AddBound(c, a, axis, /*keyed=*/true);
  }
}

// The arguments that are not known become keys, which are. False: one of them cannot.
bool BindKeys(Context& c, const Expr& e, const std::vector<bool>& affine,
              const std::vector<const Expr*>& before, Arguments& a) {
  for (size_t axis = 0; axis < a.forms.size(); ++axis) {
    if (a.free[axis] || (affine[axis] && IsKnown(c, a, a.forms[axis]))) continue;
    const std::optional<Key> key = KeyFor(c, *e.operands[axis + 1], before, a);
    if (!key) return false;
    a.forms[axis] = key->form;
    if (key->open) TellByKey(c, a, axis, *key);
    if (a.open) continue;
    if (!key->sources.empty()) {
      AddBound(c, a, axis, /*keyed=*/true);
    } else if (!a.fixed) {
      a.fixed = axis;
    }
  }
  return true;
}

// nullopt: it tells no index, or not so that following it is worth while. `before`: the predicates in front of it.
std::optional<Arguments> Classify(Context& c, const Statement& s, const Expr& e,
                                  const std::vector<const Expr*>& before) {
  Arguments a;
  std::vector<bool> affine;
  for (size_t axis = 0; axis + 1 < e.operands.size(); ++axis) {
    const std::optional<Affine> form = AffineAsIs(c, *e.operands[axis + 1]);
    affine.push_back(form.has_value());
    a.forms.push_back(form.value_or(Affine()));
    std::optional<Solution> solution = form ? Solve(c, s, *form) : std::nullopt;
    if (solution && Tells(a, solution->index)) solution.reset();
    if (form && !solution && !a.fixed && c.IsOuter(*form)) a.fixed = axis;
    const Value v = a.forms[axis].AsValue();
    if (v.valid() && c.FindBound(v) != nullptr) AddBound(c, a, axis, /*keyed=*/false);
    a.free.push_back(std::move(solution));
  }
  const bool any = std::any_of(a.free.begin(), a.free.end(), [](const auto& f) { return !!f; });
  if (!any || !BindKeys(c, e, affine, before, a)) return std::nullopt;
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

namespace {

// A condition that is neither solved nor followed in another way.
bool Filters(Context& c, const Statement& s, const Expr& p) {
  const bool may = MayBind(c, s) && !IsRelated(p) && IsOfCase(c, p) && !AffinePredicate(c, p) &&
                   !PinnedSide(c, s, p);
  if (!may) return false;
  Mark mark(c);
  if (FilterIndex(c, s, p)) return true;
  mark.Rollback();
  return false;
}

}  // namespace

bool BindsIndices(Context& c, const Statement& s, const std::vector<const Expr*>& predicates) {
  if (!MayBind(c, s)) return false;
  std::vector<const Expr*> before;
  for (const Expr* p : predicates) {
    bool binds = false;
    if (IsRelated(*p)) {
      Mark mark(c);
      binds = TuplesOf(c, *p) && Classify(c, s, *p, before);
      mark.Rollback();
    } else {
      Mark mark(c);
      binds = PinnedSide(c, s, *p).has_value() || Filters(c, s, *p);
      mark.Rollback();
    }
    if (binds) return true;
    before.push_back(p);
  }
  return false;
}

std::vector<Condition> BindRelations(Context& c, Statement& s,
                                     const std::vector<const Expr*>& predicates) {
  std::vector<Condition> left;
  std::vector<const Expr*> before;
  bool opened = false, bound = false;
  for (const Expr* p : predicates) {
    // What is behind an open relation restricts nothing: it is evaluated where that has not trapped.
    const bool may = !opened && MayBind(c, s) && IsRelated(*p);
    Mark mark(c);
    std::optional<Tuples> tuples = may ? TuplesOf(c, *p) : std::nullopt;
    std::optional<Arguments> a = tuples ? Classify(c, s, *p, before) : std::nullopt;
    c.SetLoc(p->ordinal);
    Condition condition{p, std::nullopt};
    const bool binds = a && BindTuples(c, s, *std::move(tuples), *std::move(a), condition.opened);
    if (!binds) mark.Rollback();
    bound = bound || binds;
    if (binds && !condition.opened) continue;
    opened = opened || binds;
    before.push_back(p);
    left.push_back(std::move(condition));
  }
  for (size_t i = 0; !bound && i < left.size(); ++i) Filters(c, s, *left[i].e);
  return left;
}

bool AddGuard(Context& c, const Condition& condition) {
  if (!condition.opened) return AddGuard(c, *condition.e);
  return AddGuardOf(c, [&]() -> MaybeValue {
    Value holds = condition.opened->told;
    for (size_t axis = 0; axis + 1 < condition.e->operands.size(); ++axis) {
      const Value there = condition.opened->coordinates[axis];
      if (!there.valid()) continue;
      PB_TRY(const Value v, LowerScalar(c, *condition.e->operands[axis + 1]));
      holds = c.b.Make(Op::And, {holds, c.b.Make(Op::Eq, {there, v})});
    }
    return holds;
  });
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
  RequireRange(c, s, old);
  frame.indices.erase(at);
  frame.bound.push_back(old);
  std::erase_if(frame.where, [&](const Constraint& k) { return k.e.Coeff(solution.index) != 0; });
  constraints.push_back({Affine::Of(old.var), false});
  constraints.push_back({c.AffineFor(old.extent) - Affine::Of(old.var) - Affine::Const(1), false});
  if (frame.indices.empty()) AddIndex(c, s, Affine::Const(1), false, "");
  // What traps must not be evaluated for a range without points.
  const KeyChain before{frame.body, Value()};
  const Affine some = c.AffineFor(old.extent) - Affine::Const(1);
  if (!IsNonNegative(c, some) && (MayTrap(c, before) || IsBeyond(c, before))) {
    frame.where.push_back({some, false});
  }
  AddGuard(c, c.b.Holds(constraints));
  return true;
}

}  // namespace pullback::lang
