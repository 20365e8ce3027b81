#include "core/lang/lower_comprehension.h"

#include <algorithm>

#include "core/lang/lower_ahead.h"
#include "core/lang/lower_cases.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_neighbours.h"
#include "core/lang/lower_relation.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_spell.h"

namespace pullback::lang {

using ir::Monoid;

namespace {

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
Leaves LowerWhole(Context& c, const Expr& written) {
  const Expr& e = *Spelled(c, &written);
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
