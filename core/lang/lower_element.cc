// Elements of arrays. A body makes no checks, so that of an array that it computes where it is read, as in
//
//   sum i < n { log_softmax(o[i])[y[i]] }
//
// the element at a subscript that data give is taken where a read inside it traps for the same subscripts: the o[i, y[i]]
// that the body of log_softmax reads.
#include <algorithm>

#include "core/lang/lower_array.h"
#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_sizes.h"

namespace pullback::lang {
namespace {

bool HasSlice(const Expr& e) {
  return std::any_of(e.subscripts.begin(), e.subscripts.end(),
                     [](const Subscript& s) { return s.is_slice; });
}

// A value of a body that is no index.
bool IsData(Context& c, const Affine& sub) {
  return std::any_of(sub.terms.begin(), sub.terms.end(), [&](const Affine::Term& t) {
    return c.OwnerOf(t.value) != 0 && !c.IsIndex(t.value);
  });
}

// The read goes by this subscript along an axis of the array that is as long.
bool Tells(Context& c, const ir::Inst& read, const Affine& sub, const Affine& extent) {
  const std::vector<Affine>& dims = c.DimsOf(read.args[0]);
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (read.subs[axis] == sub && dims[axis] == extent) return true;
  }
  return false;
}

// An array that a body computes. Where it is read in a loop that it was made outside of, it had better be stored: its
// elements would be computed again and again.
bool IsComputedHere(const Context& c, const Array& x) {
  return x.at && c.InBody() && x.made_within == c.CountIndices();
}

// The element of an array that a body computes, where a read in it, before which nothing traps, tells that the
// subscripts of these axes are inside; its place becomes that of the element.
MaybeValue ReadTold(Context& c, const Array& x, const Subs& subs, std::vector<size_t> axes) {
  const uint32_t place = c.b.loc();
  const size_t frame = c.frames.size(), undone = c.frame().undo.size();
  const size_t first = c.frame().body.size();
  PB_TRY(const Value element, ReadAt(c, x, subs));
  if (c.frames.size() != frame || c.frame().undo.size() != undone) return std::nullopt;
  std::vector<ir::Inst>& body = c.frame().body;
  for (size_t k = first; k < body.size() && !axes.empty(); ++k) {
    if ((ir::Info(body[k].op).flags & ir::kPure) != 0 || CannotTrap(c, body[k])) continue;
    if (body[k].op != Op::Index || body[k].guard.valid()) return std::nullopt;
    const size_t told = std::erase_if(
        axes, [&](size_t axis) { return Tells(c, body[k], subs[axis], x.dims[axis]); });
    if (told == 0) return std::nullopt;
    body[k].loc = place;
  }
  return axes.empty() ? MaybeValue(element) : std::nullopt;
}

}  // namespace

MaybeValue LowerElement(Context& c, const Expr& e) {
  PB_CHECK(!HasSlice(e));
  PB_TRY(const ArrayRef x, LowerArray(c, *e.operands[0]));
  Subs subs;
  for (const Subscript& s : e.subscripts) {
    PB_TRY(const Affine sub, LowerInt(c, *s.index));
    subs.push_back(sub);
  }
  c.SetLoc(e.ordinal);
  if (IsExact(c, *x)) return ReadAt(c, *x, subs);
  std::vector<size_t> told;  // by a read of the element
  for (size_t i = 0; i < subs.size(); ++i) {
    if (!c.dims_only && IsComputedHere(c, *x) && IsData(c, subs[i])) {
      told.push_back(i);
    } else if (!RequireInside(c, subs[i], x->dims[i])) {
      return std::nullopt;
    }
  }
  return told.empty() ? ReadAt(c, *x, subs) : ReadTold(c, *x, subs, std::move(told));
}

}  // namespace pullback::lang
