// argmax, argmin: from the offset of a point to its indices.
#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

// At least 1, for a divisor.
Value Divisor(Context& c, Value extent) {
  const Affine known = c.AffineFor(extent);
  if (known.IsConst() && known.constant > 0) return extent;
  return c.b.Make(Op::Max, {extent, c.b.I64(1)});
}

}  // namespace

bool MentionsBinders(const ExprPtr& e, const std::vector<Binder>& binders, size_t count) {
  bool found = false;
  ForEachExpr(e, [&](const Expr& part) {
    for (size_t i = 0; i < count && part.kind == Expr::Kind::kName; ++i) {
      found = found || part.local == binders[i].local;
    }
  });
  return found;
}

bool HasKnownLows(const Expr& e) {
  for (size_t i = 0; i < e.binders.size(); ++i) {
    if (MentionsBinders(e.binders[i].lo, e.binders, i)) return false;
  }
  return true;
}

std::optional<Leaves> IndicesAt(Context& c, const Expr& e, Value offset,
                                const std::vector<ir::IndexVar>& box, const Ranges& ranges) {
  const size_t count = e.binders.size();
  const Value found = c.b.Make(Op::Ge, {offset, c.b.I64(0)});
  if (count == 1 && !ranges.empty() && ranges[0] && ranges[0]->among) {
    const Value place = c.b.Make(Op::Max, {offset, c.b.I64(0)});
    const Value point = c.b.Index(ranges[0]->among->points, {Affine::Of(place)});
    const Value at = c.ToValue(Affine::Of(point) + ranges[0]->lo);
    return Leaves{{c.b.Make(Op::Select, {found, at, c.b.I64(-1)}), nullptr}};
  }
  Leaves indices(count);
  Value rest = offset;
  for (size_t i = count; i-- > 0;) {
    Value at = rest;
    if (i > 0) {
      const Value extent = Divisor(c, box[i].extent);
      at = c.b.Make(Op::Rem, {rest, extent});
      rest = c.b.Make(Op::Div, {rest, extent});
    }
    Affine low = Affine::Const(0);
    if (e.binders[i].lo) {
      PB_TRY(low, LowerInt(c, *e.binders[i].lo));
      PB_TRY(low, Hoist(c, low));
    }
    if (count > 1 || low != Affine::Const(0)) {
      at = c.b.Make(Op::Select, {found, c.b.Make(Op::Add, {at, c.ToValue(low)}), c.b.I64(-1)});
    }
    indices[i] = {at, nullptr};
  }
  return indices;
}

}  // namespace pullback::lang
