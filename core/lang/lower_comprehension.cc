#include "core/lang/lower_comprehension.h"

#include <algorithm>

#include "core/lang/lower_ahead.h"
#include "core/lang/lower_cases.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_neighbours.h"
#include "core/lang/lower_relation.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_stmt.h"
#include "core/lang/lower_walk.h"
#include "core/lang/walk.h"

namespace pullback::lang {

using ir::Monoid;

namespace {

// --- the statement's body

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

MaybeValue BlockInto(Context& c, Statement& s, const Block& block) {
  const Statement before = s;
  s.body = &block;
  Mark mark(c);
  if (c.module.no_bodies.count(&block) == 0) {
    if (LowerLets(c, block)) {
      if (MaybeValue v = LowerInto(c, s, *block.result)) return v;
    }
    mark.Rollback();
    s = before;
    c.module.no_bodies.insert(&block);  // or attempts inside attempts would multiply
  }
  return LowerOutlined(c, block);
}

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
  if (!c.guard.any || (outer.any && c.guard.value == outer.value)) return rest();
  s.guard = GuardValue(c);
  GuardedRegion region(c, std::move(outer));
  return rest();
}

MaybeValue ChainInto(Context& c, Statement& s, const Expr& e) {
  std::vector<const Expr*> predicates;
  CollectBrackets(c, e, predicates);
  return GuardedInto(c, s, predicates, [&]() -> MaybeValue {
    PB_TRY(const Value rest, LowerRest(c, e));
    return rest.valid() ? rest : c.b.One(ir::Type::Scalar(e.type.elem));
  });
}

// if p { body } else { 0 }, which is a bracket in other words.
MaybeValue BranchInto(Context& c, Statement& s, const std::vector<const Expr*>& predicates,
                      const Block& body) {
  return GuardedInto(c, s, predicates, [&]() -> MaybeValue {
    if (!LowerLets(c, body)) return std::nullopt;
    return LowerScalar(c, *body.result);
  });
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
    std::vector<const Expr*> predicates;
    CollectBrackets(c, e, predicates);
    if (BindsIndices(c, s, predicates)) {
      return GuardedInto(c, s, predicates, [&]() -> MaybeValue {
        PB_TRY(const ArrayRef rest, LowerArrayRest(c, e));
        return ElementsInto(c, s, rest);
      });
    }
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
    CollectConjuncts(c, *e.arms[0].cond, predicates);
    if (BindsIndices(c, s, predicates)) return BranchInto(c, s, predicates, *body);
  }
  if (!IsChain(e)) return LowerScalar(c, e);
  CollectBrackets(c, e, predicates);
  if (BindsIndices(c, s, predicates)) return ChainInto(c, s, e);
  if (c.guard.any) return LowerScalar(c, e);
  const Expr* factor = OnlyFactor(e);
  const bool sum = factor && factor->kind == Expr::Kind::kComprehension &&
                   factor->comprehension == Comprehension::kSum && Merges(c, s, *factor) &&
                   !FindEither(c, *factor) && !FindTerms(c, *factor).body;
  if (sum && BracketsToWhere(c, e)) return ComprehensionInto(c, s, *factor, {});
  if (s.reduce == Monoid::kSum) return ChainInto(c, s, e);
  return LowerScalar(c, e);
}

// --- the whole comprehension

std::optional<Leaves> AsStatement(Context& c, const Expr& e, const Ranges& ranges) {
  if (IsComposite(e.body.result->type)) return AsStatements(c, e, ranges);
  if (IsArg(e.comprehension) && !HasKnownLows(e)) return std::nullopt;
  Value v;
  std::vector<ir::IndexVar> box;
  {
    NestedFrame nested(c);
    Statement s;
    s.loc = c.at->base + e.ordinal - c.at->function->first_ordinal;
    PB_TRY(v, ComprehensionInto(c, s, e, ranges));
    box = c.frame().indices;
    v = FinishStatement(c, s, {v})[0];
  }
  c.SetLoc(e.ordinal);
  if (IsLogical(e.comprehension)) return Leaves{{c.b.Make(Op::Gt, {v, c.b.I64(0)}), nullptr}};
  if (IsArg(e.comprehension)) return IndicesAt(c, e, v, box, ranges);
  return Leaves{{v, nullptr}};
}

// In a body: an array that stands in memory for every point that it depends on.
std::optional<Leaves> ReducedInBody(Context& c, const Expr& e) {
  NestedFrame nested(c);
  Statement s;
  s.loc = c.at->base + e.ordinal - c.at->function->first_ordinal;
  PB_TRY(const Value v, ComprehensionInto(c, s, e, {}));
  return Leaves{LeafOf(c, ArrayInMemory(c, LiftStatement(c, s, {v})))};
}

// Block mode.
Leaves LowerWhole(Context& c, const Expr& e) {
  const Ranges ranges = LowerRanges(c, e);
  const EvaluatedAhead ahead(c, e, 0, ranges, Dear::kNeverInBodies);
  Mark mark(c);
  c.attempting = true;
  c.work = 0;
  const std::optional<Leaves> leaves = InCases(c, e, [&] { return AsStatement(c, e, ranges); });
  c.attempting = false;
  for (const std::optional<Range>& r : ranges) {
    if (r && r->among) Untell(c, *r->among);
  }
  if (leaves) return *leaves;
  mark.Rollback();
  return LowerSequential(c, e, ranges);
}

}  // namespace

Monoid MonoidOf(const Expr& e) {
  switch (e.comprehension) {
    case Comprehension::kGen: return Monoid::kGen;
    case Comprehension::kSum: return Monoid::kSum;
    case Comprehension::kProd: return Monoid::kProd;
    case Comprehension::kOr:
    case Comprehension::kExists:
    case Comprehension::kMax: return Monoid::kMax;
    case Comprehension::kAnd:
    case Comprehension::kMin: return Monoid::kMin;
    case Comprehension::kArgMax: return Monoid::kArgMax;
    case Comprehension::kArgMin: return Monoid::kArgMin;
  }
  return Monoid::kGen;
}

NestedFrame::NestedFrame(Context& c) : c_(c), guard_(c.guard) {
  c.OpenFrame();
  if (guard_.affine) {
    c.frame().where = guard_.constraints;
    c.guard = Guard();
  } else if (guard_.any) {
    c.regions.push_back({c.frames.size() - 1, 0, guard_.value});
  }
}

NestedFrame::~NestedFrame() {
  if (guard_.any && !guard_.affine) c_.regions.pop_back();
  c_.guard = guard_;
}

Value AddIndex(Context& c, Statement& s, const Affine& extent, bool out, const std::string& name) {
  Value bound;
  {
    AtBlock block(c);
    bound = c.ToValue(extent);
  }
  const Value i = c.function.NewValue(ir::Type::I64(), name);
  std::vector<ir::IndexVar>& indices = c.frame().indices;
  if (out) {
    // A relation may have taken the place of indices before it.
    const size_t at = std::min(s.out.size(), indices.size());
    indices.insert(indices.begin() + static_cast<std::ptrdiff_t>(at), {i, bound});
    s.out.push_back(i);
  } else {
    indices.push_back({i, bound});
  }
  return i;
}

MaybeValue LowerSum(Context& c, const Affine& extent,
                    const std::function<MaybeValue(const Affine& k)>& term) {
  const bool in_body = c.InBody();  // which may never run
  NestedFrame nested(c);
  Statement s;
  s.loc = c.b.loc();
  s.reduce = Monoid::kSum;
  MaybeValue k;
  if (c.IsOuter(extent)) {
    const bool may_be_less = in_body && !IsNonNegative(c, extent);
    k = AddIndex(c, s, may_be_less ? NotNegative(c, extent) : extent, false, "");
  } else {
    PB_TRY(k, AddDependentIndex(c, s, extent, ""));
  }
  PB_TRY(const Value v, term(Affine::Of(*k)));
  return FinishStatement(c, s, {v})[0];
}

Value StoreArray(Context& c, const Array& a) {
  PB_CHECK(!c.InBody());
  Statement s;
  s.loc = c.b.loc();
  c.OpenFrame();
  Subs subs;
  for (const Affine& d : a.dims) subs.push_back(Affine::Of(AddIndex(c, s, d, true, "")));
  MaybeValue v;
  if (a.inner) {
    s.reduce = Monoid::kSum;
    v = a.term(subs, Affine::Of(AddIndex(c, s, *a.inner, false, "")));
  } else {
    v = ReadAt(c, a, subs);
  }
  PB_CHECK(v.has_value());  // what is put off in block mode can be said in a body
  return FinishStatement(c, s, {*v})[0];
}

ArrayRef ArrayInMemory(Context& c, const Lifted& lifted) {
  auto array = std::make_shared<Array>();
  array->base = lifted.results[0];
  array->elem = c.b.TypeOf(array->base).elem;
  for (const Affine& outer : lifted.outer) array->axes.push_back({outer, 0, -1});
  const std::vector<Affine>& dims = c.DimsOf(array->base);
  for (size_t axis = lifted.outer.size(); axis < dims.size(); ++axis) {
    array->axes.push_back({Affine::Const(0), 1, static_cast<int>(array->dims.size())});
    array->dims.push_back(dims[axis]);
  }
  return array;
}

std::optional<Leaves> LowerReduction(Context& c, const Expr& e) {
  if (!c.InBody()) return LowerWhole(c, e);
  if (!c.dims_only) {
    return InCases(c, e, [&] { return AsStatement(c, e, {}); });
  }
  Leaves unknown;
  for (const ir::Type& type : c.module.Flatten(e.type)) unknown.push_back(Unknown(c, type));
  return unknown;
}

std::optional<ArrayRef> LowerArrayComprehension(Context& c, const Expr& e) {
  if (!c.InBody()) return ArrayOf(c, LowerWhole(c, e)[0]);
  if (e.comprehension == Comprehension::kGen) return GenInBody(c, e);
  if (c.dims_only) return SumDims(c, e);
  PB_TRY(const Leaves leaves, InCases(c, e, [&] { return ReducedInBody(c, e); }));
  return ArrayOf(c, leaves[0]);
}

}  // namespace pullback::lang
