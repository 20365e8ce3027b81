// Binders: their ranges, and the indices of statements that they become.
#include <algorithm>

#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_neighbours.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_tuples.h"

namespace pullback::lang {
namespace {

constexpr size_t kMostRanges = 16;  // that a range between extrema may be in

// The extent of a reduction. A negative one has no elements where it depends on an index around, and must not
// trap where it may never be reached.
Affine ReducedExtent(Context& c, const Expr& e, const Affine& extent) {
  if (c.MayBeNegative(extent)) return IsNonNegative(c, extent) ? extent : NotNegative(c, extent);
  const bool outermost = c.frames.size() == 1 && c.frame().indices.empty();
  if (outermost || IsNonNegative(c, extent)) return extent;
  c.SetLoc(e.ordinal);
  Require(c, {extent, false}, ir::TrapKind::kNegativeSize, extent, extent);
  return NotNegative(c, extent);
}

// An extent that no value of `extent`, which indices around are in, is beyond. That of one of these, for j < i, j < i + 1 or
// j < i - 1: the statement is over it already, negative or not.
Affine BoundOf(Context& c, const Affine& extent) {
  for (const auto& frame : c.frames) {
    for (const ir::IndexVar& i : frame->indices) {
      const Affine more = extent - Affine::Of(i.var);
      if (more.IsConst() && more.constant <= 1) return c.AffineFor(i.extent);
    }
  }
  const Affine most = Least(c, extent * -1) * -1;
  return IsNonNegative(c, most) ? most : NotNegative(c, most);
}

// The statement ends as one over the whole range would where that is negative.
void AddNeighbours(Context& c, const Expr& e, Range& r) {
  const Affine extent = r.hi - r.lo;
  c.SetLoc(e.ordinal);
  if (c.MayBeNegative(extent)) {
    r.hi = r.lo + ReducedExtent(c, e, extent);
  } else if (!IsNonNegative(c, extent)) {
    Require(c, {extent, false}, ir::TrapKind::kNegativeSize, extent, extent);
  }
  r.among = NeighboursOf(c, e, 0, r);
}

// The binder's value at a place among the points.
Value IndexOverNeighbours(Context& c, Statement& s, const Range& r, const std::string& name) {
  const Neighbours& n = *r.among;
  const Value place = AddIndex(c, s, Affine::Of(n.count), false, "p");
  Value extent;
  {
    AtBlock block(c);
    extent = c.ToValue(r.hi - r.lo);
  }
  Frame& frame = c.frame();
  c.b.RedirectTo(&frame.reads);
  const Value point = c.b.Index(n.points, {Affine::Of(place)});
  c.b.RedirectTo(&frame.body);
  c.function.names[point.id] = name;
  c.small.insert(point.id);
  c.sizes.insert(point.id);
  frame.bound.push_back({point, extent});
  Tell(c, n, place);
  return c.ToValue(Affine::Of(point) + r.lo);
}

// Whether a statement's own constraints can speak of it.
bool IsClosed(Context& c, const Affine& form) {
  return std::none_of(form.terms.begin(), form.terms.end(), [&](const Affine::Term& t) {
    return c.FindBound(t.value) != nullptr || IsAdopted(c, t.value);
  });
}

// Of which the end of a range is the extremum; none: it is none, or a statement's constraints cannot speak of it, which may not wrap.
std::vector<Affine> EndsOf(Context& c, const Affine& end, Op extremum) {
  std::vector<Affine> ends = HoistExtremum(c, end, extremum);
  const bool fit = std::all_of(ends.begin(), ends.end(), [&](const Affine& form) {
    return IsClosed(c, form) && IsSmall(c, form);
  });
  return fit ? ends : std::vector<Affine>();
}

// The shortest range of these by its number of elements, else one of a size, else one that indices say, else any.
Range ShortestOf(Context& c, const std::vector<Affine>& los, const std::vector<Affine>& his) {
  const auto rank = [&](const Range& r) {
    const Affine extent = r.hi - r.lo;
    if (extent.IsConst()) return extent.constant < 0 ? INT64_MAX : extent.constant;
    if (!c.IsOuter(extent)) return INT64_MAX - 2;
    return INT64_MAX - (IsNonNegative(c, extent) ? 3 : 1);
  };
  Range shortest{los[0], his[0]};
  for (const Affine& lo : los) {
    for (const Affine& hi : his) {
      const Range r{lo, hi};
      if (rank(r) < rank(shortest)) shortest = r;
    }
  }
  return shortest;
}

// A range whose ends are extrema, max(0, i - 2)..min(n, i + 3): between one of these each, restricted by the others.
bool AddRestrictedIndex(Context& c, Statement& s, const Binder& b) {
  std::vector<Affine> los = {Affine::Const(0)}, his;
  if (b.lo) {
    const std::optional<Affine> lo = LowerInt(c, *b.lo);
    if (!lo) return false;
    los = EndsOf(c, *lo, Op::Max);
  }
  const std::optional<Affine> hi = LowerInt(c, *b.hi);
  if (!hi) return false;
  his = EndsOf(c, *hi, Op::Min);
  if (los.empty() || his.empty() || los.size() * his.size() > kMostRanges) return false;
  const Range r = ShortestOf(c, los, his);
  const Affine extent = r.hi - r.lo;
  const bool known = c.IsOuter(extent) && IsNonNegative(c, extent);
  if (!known && c.IsOuter(extent)) return false;
  const MaybeValue i =
      known ? AddIndex(c, s, extent, false, b.name) : AddDependentIndex(c, s, extent, b.name);
  if (!i) return false;
  const Affine at = Affine::Of(*i) + r.lo;
  for (const Affine& lo : los) {
    if (lo != r.lo) c.frame().where.push_back({at - lo, false});
  }
  for (const Affine& end : his) {
    if (end != r.hi) c.frame().where.push_back({end - at - Affine::Const(1), false});
  }
  c.at->locals[b.local] = {{c.ToValue(at), nullptr}};
  return true;
}

bool AddBinder(Context& c, Statement& s, const Expr& e, const Binder& b,
               const std::optional<Range>& known) {
  const bool out = e.comprehension == Comprehension::kGen;
  const std::optional<Range> r = known ? known : RangeInBody(c, b);
  if (!r) return !out && !IsArg(e.comprehension) && AddRestrictedIndex(c, s, b);
  if (r->among) {
    c.at->locals[b.local] = {{IndexOverNeighbours(c, s, *r, b.name), nullptr}};
    return true;
  }
  const Affine extent = r->hi - r->lo;
  MaybeValue i;
  if (c.IsOuter(extent)) {
    i = AddIndex(c, s, out ? StoredExtent(c, extent) : ReducedExtent(c, e, extent), out, b.name);
  } else if (!out) {
    i = AddDependentIndex(c, s, extent, b.name);
  }
  if (!i) return false;
  c.at->locals[b.local] = {{c.ToValue(Affine::Of(*i) + r->lo), nullptr}};
  return true;
}

}  // namespace

Affine NotNegative(Context& c, const Affine& extent) {
  if (const Value v = extent.AsValue(); v.valid() && c.clamped.count(v.id) != 0) return extent;
  AtBlock block(c);
  const Value v = c.b.Make(Op::Max, {c.ToValue(extent), c.b.I64(0)});
  c.sizes.insert(v.id);
  c.clamped.insert(v.id);
  return Affine::Of(v);
}

Affine StoredExtent(Context& c, const Affine& extent) {
  return c.MayBeNegative(extent) && !IsNonNegative(c, extent) ? NotNegative(c, extent) : extent;
}

Ranges LowerRanges(Context& c, const Expr& e) {
  if (!e.operands.empty()) c.at->locals[e.local] = *Lower(c, *e.operands[0]);
  Ranges ranges;
  for (size_t i = 0; i < e.binders.size(); ++i) {
    const Binder& b = e.binders[i];
    ranges.emplace_back();
    if (MentionsBinders(b.lo, e.binders, i) || MentionsBinders(b.hi, e.binders, i)) continue;
    Range r;
    r.lo = b.lo ? *LowerInt(c, *b.lo) : Affine::Const(0);
    r.hi = *LowerInt(c, *b.hi);
    ranges.back() = r;
  }
  if (ranges.size() == 1 && ReducesNeighbours(c, e)) AddNeighbours(c, e, *ranges[0]);
  return ranges;
}

MaybeValue AddDependentIndex(Context& c, Statement& s, const Affine& extent,
                             const std::string& name) {
  if (!IsClosed(c, extent)) return std::nullopt;
  const Value i = AddIndex(c, s, BoundOf(c, extent), false, name);
  c.frame().where.push_back({extent - Affine::Of(i) - Affine::Const(1), false});
  return i;
}

bool AddBinders(Context& c, Statement& s, const Expr& e, const Ranges& ranges) {
  const bool among = !ranges.empty() && ranges[0] && ranges[0]->among;
  if (!c.dims_only && !among && ReducesNeighbours(c, e)) return false;
  for (size_t i = 0; i < e.binders.size(); ++i) {
    const std::optional<Range> known = ranges.empty() ? std::nullopt : ranges[i];
    if (!AddBinder(c, s, e, e.binders[i], known)) return false;
  }
  return true;
}

std::optional<Range> RangeInBody(Context& c, const Binder& b) {
  Range r{Affine::Const(0), {}};
  if (b.lo) {
    PB_TRY(r.lo, LowerInt(c, *b.lo));
    PB_TRY(r.lo, Hoist(c, r.lo));
  }
  PB_TRY(r.hi, LowerInt(c, *b.hi));
  PB_TRY(r.hi, Hoist(c, r.hi));
  return r;
}

}  // namespace pullback::lang
