// Arrays that a body stores: a statement of its own makes them for every point that they depend on. What takes a sum or a
// call for each element is stored where it has a name, is an argument or is multiplied as a matrix, as blocks do: it is
// read again there. Passes put into its reader what has but one.
#include <algorithm>

#include "core/lang/lower_array.h"
#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_sizes.h"

namespace pullback::lang {

std::optional<ArrayRef> StoreInBody(Context& c, const ArrayRef& a) {
  NestedFrame nested(c);
  Statement s;
  s.loc = c.b.loc();
  Subs subs;
  for (const Affine& d : a->dims) {
    if (!c.IsOuter(d)) return std::nullopt;
    const Affine extent = IsNonNegative(c, d) ? d : NotNegative(c, d);
    subs.push_back(Affine::Of(AddIndex(c, s, extent, true, "")));
  }
  MaybeValue v;
  if (a->inner) {
    if (!c.IsOuter(*a->inner)) return std::nullopt;
    s.reduce = ir::Monoid::kSum;
    v = a->term(subs, Affine::Of(AddIndex(c, s, *a->inner, false, "")));
  } else {
    v = ReadAt(c, *a, subs);
  }
  if (!v) return std::nullopt;
  return ArrayInMemory(c, LiftStatement(c, s, {*v}));
}

bool IsDear(const Array& a) { return a.inner || (a.at && a.dear); }

std::optional<ArrayRef> StoreIfDear(Context& c, const ArrayRef& a) {
  const auto outer = [&](const Affine& d) { return c.IsOuter(d); };
  const bool known =
      std::all_of(a->dims.begin(), a->dims.end(), outer) && (!a->inner || c.IsOuter(*a->inner));
  if (!c.InBody() || c.dims_only || !IsDear(*a) || !known) return a;
  return StoreInBody(c, a);
}

bool StoreIfDear(Context& c, Leaves& leaves) {
  for (Leaf& leaf : leaves) {
    if (!leaf.array) continue;
    const auto stored = StoreIfDear(c, leaf.array);
    if (!stored) return false;
    leaf = LeafOf(c, *stored);
  }
  return true;
}

}  // namespace pullback::lang
