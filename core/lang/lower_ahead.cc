#include "core/lang/lower_ahead.h"

#include <algorithm>
#include <set>

#include "core/lang/lower_expr.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_source.h"
#include "core/lang/lower_stmt.h"

namespace pullback::lang {
namespace {

// Binders one inside the other, and their ranges; nullopt: one that depends on a binder before it.
struct Nest {
  std::vector<const Binder*> binders;
  Ranges ranges;
};

// With those of comprehensions inside.
Nest WithThose(const Context& c, Nest nest, const std::vector<const Expr*>& around) {
  std::set<uint32_t> before;
  for (const Binder* b : nest.binders) before.insert(b->local);
  for (const Expr* e : around) {
    for (const Binder& b : e->binders) {
      nest.binders.push_back(&b);
      nest.ranges.emplace_back();
      const bool depends = Mentions(*b.hi, before) || (b.lo && Mentions(*b.lo, before));
      before.insert(b.local);
      if (depends) continue;
      const Affine lo = b.lo ? *AffineAsIs(c, *b.lo) : Affine::Const(0);
      nest.ranges.back() = Range{lo, *AffineAsIs(c, *b.hi)};
    }
  }
  return nest;
}

// The maximum of 1 over all points. nullopt: a statement has no such range.
MaybeValue MaximumOfOne(Context& c, const Nest& nest) {
  const NestedFrame nested(c);
  Statement s;
  s.loc = c.b.loc();
  s.reduce = ir::Monoid::kMax;
  for (size_t k = 0; k < nest.binders.size(); ++k) {
    const Binder& b = *nest.binders[k];
    const std::optional<Range> r = nest.ranges[k] ? nest.ranges[k] : RangeInBody(c, b);
    if (!r) return std::nullopt;
    const Affine extent = r->hi - r->lo;
    const MaybeValue i = c.IsOuter(extent) ? AddIndex(c, s, NotNegative(c, extent), false, b.name)
                                           : AddDependentIndex(c, s, extent, b.name);
    if (!i) return std::nullopt;
    c.at->locals[b.local] = {{c.ToValue(Affine::Of(*i) + r->lo), nullptr}};
  }
  return FinishStatement(c, s, {c.b.I64(1)})[0];
}

// Whether there is a point. kNoValue: always; nullopt: only loops tell.
MaybeValue HavePoints(Context& c, const Nest& nest) {
  Value all;
  for (const std::optional<Range>& r : nest.ranges) {
    if (!r) {
      Mark mark(c);
      const MaybeValue most = MaximumOfOne(c, nest);
      if (most) return c.b.Make(Op::Gt, {*most, c.b.I64(0)});
      mark.Rollback();
      return std::nullopt;
    }
    if (IsNonNegative(c, r->hi - r->lo - Affine::Const(1))) continue;
    const Value one = c.b.Make(Op::Lt, {c.ToValue(r->lo), c.ToValue(r->hi)});
    all = all.valid() ? c.b.Make(Op::And, {all, one}) : one;
  }
  return all;
}

// What stands where there is no point, for a value that nobody reads: only its sizes may be asked for.
Leaf Blank(Context& c, const ir::Type& type, const std::optional<std::vector<Affine>>& dims) {
  if (type.IsList()) return {c.b.ListNew(type.record), nullptr};
  if (!type.IsArray()) return {c.b.Zero(type), nullptr};
  const std::vector<Affine> sizes = dims ? *dims : std::vector<Affine>(type.rank, Affine::Const(0));
  std::vector<Value> extents;
  for (const Affine& d : sizes) extents.push_back(c.ToValue(d));
  const Value zeros = c.b.Zeros(type.elem, extents);
  c.SetDims(zeros, sizes);
  return {zeros, nullptr};
}

}  // namespace

EvaluatedAhead::EvaluatedAhead(Context& c, const Expr& e, size_t first, const Ranges& ranges,
                               Dear dear)
    : c_(c), at_(*c.at) {
  const bool among = std::any_of(ranges.begin(), ranges.end(),
                                 [](const std::optional<Range>& r) { return r && r->among; });
  if (among) return;
  Nest nest{{}, ranges};
  for (size_t i = first; i < e.binders.size(); ++i) nest.binders.push_back(&e.binders[i]);
  for (const Invariants& found : FindInvariants(c, e, first, dear)) {
    c.SetLoc(e.ordinal);
    const MaybeValue condition = HavePoints(c, WithThose(c, nest, found.around));
    // One inside may speak of what one around has given.
    if (!condition) return;
    if (condition->valid()) {
      Under(*condition, found);
    } else {
      PB_CHECK(Lower(found).has_value());
    }
    c.module.no_bodies.erase(found.body);  // what stood in the way may be this
  }
}

EvaluatedAhead::~EvaluatedAhead() {
  for (const Expr* e : given_) at_.ahead.erase(e);
}

void EvaluatedAhead::Under(Value condition, const Invariants& found) {
  const LeafDims dims = SizesBeforehand(c_, [&] { return Lower(found); });
  const uint32_t yes = c_.b.NewBlock(), no = c_.b.NewBlock();
  c_.b.Branch(condition, {yes, {}}, {no, {}});
  c_.b.SetBlock(yes);
  const Leaves all = *Lower(found);
  std::vector<Exit> exits = {{c_.b.block(), {all}}};
  c_.b.SetBlock(no);
  Leaves none;
  const auto dims_of = [&](size_t leaf) { return dims.empty() ? std::nullopt : dims[leaf]; };
  for (size_t i = 0; i < all.size(); ++i) {
    none.push_back(Blank(c_, c_.b.TypeOf(all[i].value), dims_of(i)));
  }
  exits.push_back({no, {none}});
  const Leaves joined = JoinValues(c_, exits);
  for (size_t i = 0; i < joined.size(); ++i) {
    if (c_.b.TypeOf(joined[i].value).IsArray() && dims_of(i)) {
      c_.SetDims(joined[i].value, *dims_of(i));
    }
  }
  Give(found, joined);
}

// All of their leaves; in a body for their sizes alone.
std::optional<Leaves> EvaluatedAhead::Lower(const Invariants& found) {
  for (const Invariant& part : found.parts) at_.ahead.erase(part.value);
  Leaves all;
  for (const Invariant& part : found.parts) {
    std::optional<Leaves> leaves =
        c_.InBody() ? lang::Lower(c_, *part.value) : std::optional(LowerStored(c_, *part.value));
    if (!leaves) return std::nullopt;
    at_.ahead[part.value] = *leaves;
    given_.push_back(part.value);
    if (part.let && !LowerLet(c_, *part.let)) return std::nullopt;
    all.insert(all.end(), leaves->begin(), leaves->end());
  }
  return all;
}

void EvaluatedAhead::Give(const Invariants& found, const Leaves& all) {
  size_t next = 0;
  for (const Invariant& part : found.parts) {
    Leaves& leaves = at_.ahead[part.value];
    for (Leaf& leaf : leaves) leaf = all[next++];
    if (part.let) PB_CHECK(LowerLet(c_, *part.let));
  }
}

}  // namespace pullback::lang
