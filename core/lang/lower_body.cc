// Bodies of comprehensions, as part of the statement that the comprehension becomes: brackets tell its indices or go to
// `where`, comprehensions in it merge, and what names stand for is evaluated where it is needed.
#include <algorithm>
#include <set>

#include "core/lang/lower_cases.h"
#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_relation.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_stmt.h"
#include "core/lang/lower_varying.h"
#include "core/lang/lower_walk.h"
#include "core/lang/walk.h"

namespace pullback::lang {

using ir::Monoid;

namespace {

// Locals from around a comprehension that it uses.
std::vector<uint32_t> OuterLocals(const Expr& e) {
  std::vector<uint32_t> locals = FreeLocals(e.body);
  const auto add = [&](const Expr& part) {
    if (part.kind == Expr::Kind::kName && part.local != UINT32_MAX) locals.push_back(part.local);
  };
  for (const ExprPtr& operand : e.operands) ForEachExpr(operand, add);
  for (const Binder& b : e.binders) ForEachExpr(b, add);
  std::erase_if(locals, [&](uint32_t local) {
    return (!e.operands.empty() && local == e.local) ||
           std::any_of(e.binders.begin(), e.binders.end(),
                       [&](const Binder& b) { return b.local == local; });
  });
  return locals;
}

// It gives the same value at every point of the statement it stands in.
bool IsInvariant(Context& c, const Expr& e) {
  const std::vector<uint32_t> locals = OuterLocals(e);
  return std::all_of(locals.begin(), locals.end(), [&](uint32_t local) {
    const Leaves& leaves = c.at->locals[local];
    return std::all_of(leaves.begin(), leaves.end(),
                       [&](const Leaf& l) { return l.value.valid() && c.OwnerOf(l.value) == 0; });
  });
}

// A comprehension that is all of a body becomes part of the statement; not one that is then
// computed again for every point.
bool Merges(Context& c, const Statement& s, const Expr& e) {
  const bool reduces = e.comprehension != Comprehension::kGen;
  if (reduces && !c.frame().indices.empty() && IsInvariant(c, e)) return false;
  const Monoid m = MonoidOf(e);
  if (IsLogical(e.comprehension)) return s.logical && *s.reduce == m;
  if (IsArg(e.comprehension)) return !s.reduce && e.binders.size() == 1 && !e.binders[0].lo;
  if (m == Monoid::kGen) return true;
  return !s.reduce || *s.reduce == m;
}

MaybeValue LowerInto(Context& c, Statement& s, const Expr& e);

MaybeValue BlockInto(Context& c, Statement& s, const Block& block);

// What is left of conditions goes to `where` when it can, or tells an index; the others are left, in order.
std::vector<Condition> TakeConditions(Context& c, Statement& s, std::vector<Condition> conditions) {
  std::vector<Condition> left;
  for (Condition& p : conditions) {
    const bool opened = p.opened.has_value();
    if (const auto constraints = AffinePredicate(c, *p.e)) {
      std::vector<Constraint>& where = c.frame().where;
      where.insert(where.end(), constraints->begin(), constraints->end());
    } else if (!left.empty() || opened || !PinIndex(c, s, *p.e)) {
      left.push_back(std::move(p));
    }
  }
  return left;
}

// `rest` under the guard that there is by now, of which `outer` was there before.
MaybeValue UnderGuard(Context& c, Statement& s, Guard outer,
                      const std::function<MaybeValue()>& rest) {
  if (!c.guard.any || (outer.any && c.guard.value == outer.value)) return rest();
  s.guard = GuardValue(c);
  GuardedRegion region(c, std::move(outer));
  return rest();
}

// The conjuncts of a bracket go to `where` when all of them can; under a sum, the others guard the
// result.
MaybeValue GuardedInto(Context& c, Statement& s, const std::vector<const Expr*>& predicates,
                       const std::function<MaybeValue()>& rest) {
  Guard outer = c.guard;
  bool opened = false;
  for (const Condition& p : BindRelations(c, s, predicates)) {
    opened = opened || p.opened;
    if (const auto constraints = AffinePredicate(c, *p.e)) {
      std::vector<Constraint>& where = c.frame().where;
      where.insert(where.end(), constraints->begin(), constraints->end());
    } else if ((opened || !PinIndex(c, s, *p.e)) && !AddGuard(c, p)) {
      return std::nullopt;
    }
  }
  return UnderGuard(c, s, std::move(outer), rest);
}

// A body that is evaluated only where its brackets hold: a product with them, or `if p { body } else { 0 }`, which is a
// bracket in other words.
struct Bracketed {
  std::vector<const Expr*> predicates;
  std::function<MaybeValue()> rest;  // lowers what stands under them
};

MaybeValue ElementsInto(Context& c, Statement& s, const ArrayRef& a);

Bracketed ChainOf(Context& c, const Expr& e) {
  Bracketed found;
  CollectBrackets(c, e, found.predicates);
  found.rest = [&c, &e]() -> MaybeValue {
    PB_TRY(const Value rest, LowerRest(c, e));
    return rest.valid() ? rest : c.b.One(ir::Type::Scalar(e.type.elem));
  };
  return found;
}

Bracketed ArrayChainOf(Context& c, Statement& s, const Expr& e) {
  Bracketed found;
  CollectBrackets(c, e, found.predicates);
  found.rest = [&c, &s, &e]() -> MaybeValue {
    PB_TRY(const ArrayRef rest, LowerArrayRest(c, e));
    return ElementsInto(c, s, rest);
  };
  return found;
}

Bracketed BranchOf(Context& c, const Expr& e, const Block& body) {
  Bracketed found;
  CollectConjuncts(c, *e.arms[0].cond, found.predicates);
  found.rest = [&c, &body]() -> MaybeValue {
    if (!LowerLets(c, body)) return std::nullopt;
    return LowerScalar(c, *body.result);
  };
  return found;
}

MaybeValue GuardedInto(Context& c, Statement& s, const Bracketed& e) {
  return GuardedInto(c, s, e.predicates, e.rest);
}

MaybeValue ChainInto(Context& c, Statement& s, const Expr& e) {
  return GuardedInto(c, s, ChainOf(c, e));
}

// Whether a condition holds somewhere is how often it does, where it tells indices whose tuples can be
// counted.
bool Counts(Context& c, Statement& s, const Expr& e, std::vector<const Expr*>& predicates) {
  if (!s.logical || s.reduce != Monoid::kMax || e.type != Type::Scalar(DType::kBool)) return false;
  CollectConjuncts(c, e, predicates);
  s.reduce = Monoid::kSum;
  if (BindsIndices(c, s, predicates)) return true;
  s.reduce = Monoid::kMax;
  predicates.clear();
  return false;
}

// [p] * sum i { e } as the whole body: the sum is empty where p is false.
const Expr* OnlyFactor(const Expr& e) {
  if (e.kind != Expr::Kind::kBinary || e.binary != BinaryOp::kMul) return nullptr;
  for (int side : {0, 1}) {
    const Expr& other = *e.operands[static_cast<size_t>(1 - side)];
    if (e.operands[static_cast<size_t>(side)]->kind != Expr::Kind::kIverson) continue;
    if (IsChain(other)) return OnlyFactor(other);
    return &other;
  }
  return nullptr;
}

// Adds the brackets of e to `where`; false: one of them is not affine.
bool BracketsToWhere(Context& c, const Expr& e) {
  std::vector<const Expr*> predicates;
  CollectBrackets(c, e, predicates);
  std::vector<Constraint> all;
  for (const Expr* p : predicates) {
    const auto constraints = AffinePredicate(c, *p);
    if (!constraints) return false;
    all.insert(all.end(), constraints->begin(), constraints->end());
  }
  std::vector<Constraint>& where = c.frame().where;
  where.insert(where.end(), all.begin(), all.end());
  return true;
}

MaybeValue ElementsInto(Context& c, Statement& s, const ArrayRef& a) {
  SpillCostly(c);
  Subs subs;
  for (const Affine& d : a->dims) {
    if (!c.IsOuter(d)) return std::nullopt;
    subs.push_back(Affine::Of(AddIndex(c, s, d, true, "")));
  }
  const bool sums = !s.reduce || *s.reduce == Monoid::kSum;
  if (a->inner && c.IsOuter(*a->inner) && sums) {
    s.reduce = Monoid::kSum;
    return a->term(subs, Affine::Of(AddIndex(c, s, *a->inner, false, "")));
  }
  return ReadAt(c, *a, subs);
}

MaybeValue ArrayInto(Context& c, Statement& s, const Expr& e) {
  if (IsChain(e)) {
    const Bracketed chain = ArrayChainOf(c, s, e);
    if (BindsIndices(c, s, chain.predicates)) return GuardedInto(c, s, chain);
  }
  PB_TRY(const ArrayRef a, LowerArray(c, e));
  return ElementsInto(c, s, a);
}

// Where a bracket may end up in `where`: under a sum, and in front of one.
MaybeValue LowerInto(Context& c, Statement& s, const Expr& e) {
  if (const auto term = c.terms.find(&e); term != c.terms.end()) {
    PB_TRY(const Value v, LowerInto(c, s, *term->second.e));
    return term->second.negative ? c.b.Make(Op::Neg, {v}) : v;
  }
  const bool is_comprehension = e.kind == Expr::Kind::kComprehension;
  const bool given = c.IsGiven(e);
  if (is_comprehension && !given && Merges(c, s, e)) return ComprehensionInto(c, s, e, {});
  if (e.type.kind == Type::Kind::kArray) return ArrayInto(c, s, e);
  if (given) return LowerScalar(c, e);
  std::vector<const Expr*> predicates;
  if (Counts(c, s, e, predicates)) {
    return GuardedInto(c, s, predicates, [&] { return MaybeValue(c.b.I64(1)); });
  }
  if (const Block* body = OnlyWhere(e)) {
    const Bracketed branch = BranchOf(c, e, *body);
    if (BindsIndices(c, s, branch.predicates)) return GuardedInto(c, s, branch);
  }
  if (!IsChain(e)) return LowerScalar(c, e);
  const Bracketed chain = ChainOf(c, e);
  if (BindsIndices(c, s, chain.predicates)) return GuardedInto(c, s, chain);
  if (c.guard.any) return LowerScalar(c, e);
  const Expr* factor = OnlyFactor(e);
  const bool sum = factor && factor->kind == Expr::Kind::kComprehension &&
                   factor->comprehension == Comprehension::kSum && Merges(c, s, *factor) &&
                   !FindEither(c, *factor) && !FindTerms(c, *factor).body;
  if (sum && BracketsToWhere(c, e)) return ComprehensionInto(c, s, *factor, {});
  if (s.reduce == Monoid::kSum) return ChainInto(c, s, e);
  return LowerScalar(c, e);
}

// --- names in front of brackets

// What the result of a block, or the term of it that is being lowered, stands under.
std::optional<Bracketed> BracketedResult(Context& c, Statement& s, const Block& block) {
  const auto term = c.terms.find(block.result.get());
  const Expr& e = term == c.terms.end() ? *block.result : *term->second.e;
  if (c.IsGiven(e)) return std::nullopt;
  const Block* const body = OnlyWhere(e);
  if (body && term == c.terms.end()) return BranchOf(c, e, *body);
  if (!IsChain(e)) return std::nullopt;
  Bracketed found = e.type.kind == Type::Kind::kArray ? ArrayChainOf(c, s, e) : ChainOf(c, e);
  if (term == c.terms.end() || !term->second.negative) return found;
  found.rest = [&c, rest = std::move(found.rest)]() -> MaybeValue {
    PB_TRY(const Value v, rest());
    return c.b.Make(Op::Neg, {v});
  };
  return found;
}

// Of the predicates those that speak of no name which the block defines, and may stand in front of the others: those
// are conditions of what comes behind them, if that may trap.
std::vector<const Expr*> TakeFirst(Context& c, const Block& block,
                                   std::vector<const Expr*>& predicates) {
  std::set<uint32_t> names;
  for (const StmtPtr& s : block.stmts) {
    for (const Target& t : s->targets) names.insert(t.local);
  }
  const auto speaks = [&](const Expr& e) {
    bool found = false;
    ForEachExpr(e, [&](const Expr& part) {
      found |= part.kind == Expr::Kind::kName && names.contains(part.local);
    });
    return found;
  };
  const auto is_plain = [&](const Expr& e) {
    return IsRelated(e) && std::all_of(e.operands.begin() + 1, e.operands.end(),
                                       [&](const ExprPtr& o) { return !!AffineAsIs(c, *o); });
  };
  std::vector<const Expr*> first, others;
  for (const Expr* p : predicates) {
    const bool may = !speaks(*p) && (others.empty() || is_plain(*p));
    (may ? first : others).push_back(p);
  }
  predicates = std::move(others);
  return first;
}

// Names are evaluated where the brackets of the result hold, if those tell indices and the names vary with all of these:
// elsewhere nobody needs them. (Of a name that varies with some of them there are fewer in front.)
//
//   sum i < n, j < n { let d = norm2(x[i] - x[j]); [near(i, j)] * f(d) }
struct Names {
  Bracketed result;  // with the predicates that speak of them
  std::vector<const Expr*> first;
  std::vector<const Stmt*> front, behind;  // lets
};

bool AreLets(const Block& block) {
  return std::all_of(block.stmts.begin(), block.stmts.end(), [](const StmtPtr& s) {
    return s->kind == Stmt::Kind::kLet || s->kind == Stmt::Kind::kVar;
  });
}

std::optional<Names> NamesBehindBrackets(Context& c, Statement& s, const Block& block) {
  if (block.stmts.empty() || !AreLets(block) || c.module.lets_stay.contains(&block))
    return std::nullopt;
  PB_TRY(Bracketed result, BracketedResult(c, s, block));
  Names names{std::move(result), {}, {}, {}};
  names.first = TakeFirst(c, block, names.result.predicates);
  if (!BindsIndices(c, s, names.first)) return std::nullopt;
  VaryingIndices told(c);
  for (const Expr* p : names.first) {
    if (!told.Add(*p)) return std::nullopt;
  }
  for (const StmtPtr& let : block.stmts) {
    for (const Target& t : let->targets) c.at->texts[t.local] = let->value.get();
  }
  for (const StmtPtr& let : block.stmts) {
    VaryingIndices own(c);
    const bool by_all =
        own.Add(*let->value) && std::includes(own.indices().begin(), own.indices().end(),
                                              told.indices().begin(), told.indices().end());
    (by_all ? names.behind : names.front).push_back(let.get());
  }
  return names.behind.empty() ? std::nullopt : std::optional(std::move(names));
}

bool LowerAll(Context& c, const std::vector<const Stmt*>& lets) {
  return std::all_of(lets.begin(), lets.end(), [&](const Stmt* s) { return LowerLet(c, *s); });
}

// They are evaluated at all points that the brackets tell, what else these say comes behind: it would be asked in each
// statement that makes them. Not so where a relation is open.
MaybeValue NamesInto(Context& c, Statement& s, const Names& names) {
  if (!LowerAll(c, names.front) || !BindsIndices(c, s, names.first)) return std::nullopt;
  Guard outer = c.guard;
  std::vector<Condition> conditions = BindRelations(c, s, names.first);
  const bool open = std::any_of(conditions.begin(), conditions.end(),
                                [](const Condition& p) { return p.opened.has_value(); });
  conditions = TakeConditions(c, s, std::move(conditions));
  const auto add_guards = [&] {
    return std::all_of(conditions.begin(), conditions.end(),
                       [&](const Condition& p) { return AddGuard(c, p); });
  };
  const auto rest = [&]() -> MaybeValue {
    const Bracketed& result = names.result;
    return result.predicates.empty() ? result.rest() : GuardedInto(c, s, result);
  };
  if (open && !add_guards()) return std::nullopt;
  return UnderGuard(c, s, std::move(outer), [&]() -> MaybeValue {
    if (!LowerAll(c, names.behind)) return std::nullopt;
    if (open) return rest();
    Guard told = c.guard;
    if (!add_guards()) return std::nullopt;
    return UnderGuard(c, s, std::move(told), rest);
  });
}

MaybeValue BlockInto(Context& c, Statement& s, const Block& block) {
  const Statement before = s;
  s.body = &block;
  Mark mark(c);
  if (const std::optional<Names> names = NamesBehindBrackets(c, s, block)) {
    if (MaybeValue v = NamesInto(c, s, *names)) return v;
    mark.Rollback();
    s = before;
    s.body = &block;
    c.module.lets_stay.insert(&block);  // or attempts inside attempts would multiply
  }
  if (!c.module.no_bodies.contains(&block)) {
    if (LowerLets(c, block)) {
      if (MaybeValue v = LowerInto(c, s, *block.result)) return v;
    }
    mark.Rollback();
    s = before;
    c.module.no_bodies.insert(&block);  // likewise
  }
  return LowerOutlined(c, block);
}

}  // namespace

MaybeValue ComprehensionInto(Context& c, Statement& s, const Expr& e, const Ranges& ranges) {
  const Monoid m = MonoidOf(e);
  SpillCostly(c);
  if (!e.operands.empty() && ranges.empty()) {
    PB_TRY(c.at->locals[e.local], Lower(c, *e.operands[0]));
  }
  if (!AddBinders(c, s, e, ranges)) return std::nullopt;
  if (m != Monoid::kGen) s.reduce = m;
  s.logical = IsLogical(e.comprehension);
  PB_TRY(const Value v, BlockInto(c, s, e.body));
  const bool condition = s.logical && c.b.TypeOf(v).elem == DType::kBool;
  return condition ? c.b.Cast(v, DType::kI64) : v;
}

}  // namespace pullback::lang
