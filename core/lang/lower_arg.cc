// argmax, argmin: from the offset of a point to its indices.
#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_sizes.h"

namespace pullback::lang {
namespace {

// At least 1, for a divisor.
Value Divisor(Context& c, const Affine& extent) {
  const Value v = c.ToValue(extent);
  if (extent.IsConst() && extent.constant > 0) return v;
  return c.b.Make(Op::Max, {v, c.b.I64(1)});
}

}  // namespace

Leaves IndicesAt(Context& c, Value offset, const std::vector<Affine>& extents,
                 const std::vector<Affine>& lows) {
  const Value found = c.b.Make(Op::Ge, {offset, c.b.I64(0)});
  Leaves indices(extents.size());
  Value rest = offset;
  for (size_t i = extents.size(); i-- > 0;) {
    Value at = rest;
    if (i > 0) {
      const Value extent = Divisor(c, extents[i]);
      at = c.b.Make(Op::Rem, {rest, extent});
      rest = c.b.Make(Op::Div, {rest, extent});
    }
    if (extents.size() > 1 || lows[i] != Affine::Const(0)) {
      at = c.b.Make(Op::Select, {found, c.b.Make(Op::Add, {at, c.ToValue(lows[i])}), c.b.I64(-1)});
    }
    indices[i] = {at, nullptr};
  }
  return indices;
}

}  // namespace pullback::lang
