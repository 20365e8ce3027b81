// Elements of arrays. A body makes no checks, so that of an array that it computes where it is read, as in
//
//   sum i < n { log_softmax(o[i])[y[i]] }
//
// the element at a subscript that data give is taken where a read inside it traps for the same subscripts: the o[i, y[i]]
// that the body of log_softmax reads. An array with a name is stored where nothing tells, so that reading it traps.
#include <algorithm>
#include <set>

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

// Arithmetic and functions of floats, of which no pass makes a value that does not need the operands.
bool NeedsOperands(const Context& c, const ir::Inst& inst) {
  if (inst.guard.valid() || !c.b.TypeOf(inst.results[0]).IsFloat()) return false;
  switch (inst.op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
    case Op::Neg:
    case Op::Sqrt: return true;
    default: return inst.args.size() == 1 && (ir::Info(inst.op).flags & ir::kLibm) != 0;
  }
}

// Whether the element needs what the instruction gives.
bool IsNeeded(const Context& c, const std::vector<ir::Inst>& body, size_t at, Value element) {
  std::set<Value> needed = {element};
  for (size_t k = body.size(); k-- > at;) {
    if (body[k].results.empty() || needed.count(body[k].results[0]) == 0) continue;
    if (k == at) return true;
    if (NeedsOperands(c, body[k])) needed.insert(body[k].args.begin(), body[k].args.end());
  }
  return false;
}

// The read goes by this subscript along an axis of the array that is as long.
bool Tells(Context& c, const ir::Inst& read, const Affine& sub, const Affine& extent) {
  const std::vector<Affine>& dims = c.DimsOf(read.args[0]);
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (read.subs[axis] == sub && dims[axis] == extent) return true;
  }
  return false;
}

// The element of an array that a body computes, where a read in it, before which nothing traps, tells that the
// subscripts of these axes are inside; its place becomes that of the element.
MaybeValue ReadTold(Context& c, const Array& x, const Subs& subs, std::vector<size_t> axes) {
  const uint32_t place = c.b.loc();
  const size_t frame = c.frames.size(), undone = c.frame().undo.size();
  const size_t first = c.frame().body.size();
  c.telling = true;
  const MaybeValue read = ReadAt(c, x, subs);
  c.telling = false;
  PB_TRY(const Value element, read);
  if (c.frames.size() != frame || c.frame().undo.size() != undone) return std::nullopt;
  std::vector<ir::Inst>& body = c.frame().body;
  for (size_t k = first; k < body.size() && !axes.empty(); ++k) {
    if ((ir::Info(body[k].op).flags & ir::kPure) != 0 || CannotTrap(c, body[k])) continue;
    if (body[k].op != Op::Index || body[k].guard.valid() || !IsNeeded(c, body, k, element))
      return std::nullopt;
    const size_t told = std::erase_if(
        axes, [&](size_t axis) { return Tells(c, body[k], subs[axis], x.dims[axis]); });
    if (told == 0) return std::nullopt;
    body[k].loc = place;
  }
  return axes.empty() ? MaybeValue(element) : std::nullopt;
}

// An array that is read by another that is read so, or that is made outside of the loop that reads it, would have its
// elements computed again and again. What has a name is stored, as it would be outside of a body.
// `by_data`: of the subscripts that are not known to be inside, data give one.
MaybeValue ReadAtData(Context& c, const Expr& e, const ArrayRef& x, const Subs& subs,
                      std::vector<size_t> axes, bool by_data) {
  if (x->at && x->made_within == c.CountIndices() && !c.telling) {
    Mark mark(c);
    if (MaybeValue element = ReadTold(c, *x, subs, std::move(axes))) return element;
    mark.Rollback();
  }
  if (e.operands[0]->kind != Expr::Kind::kName) return std::nullopt;
  const uint32_t place = c.b.loc();
  PB_TRY(const ArrayRef stored, StoreInBody(c, x, by_data));
  c.b.SetLoc(place);
  return ReadAt(c, *stored, subs);
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
  std::vector<size_t> data;
  bool by_data = false;
  for (size_t i = 0; i < subs.size(); ++i) {
    const bool is_data = c.InBody() && !c.dims_only && IsData(c, subs[i]);
    by_data = by_data || is_data;
    if (!is_data && RequireInside(c, subs[i], x->dims[i])) continue;
    if (!c.InBody()) return std::nullopt;
    data.push_back(i);
  }
  return data.empty() ? ReadAt(c, *x, subs) : ReadAtData(c, e, x, subs, std::move(data), by_data);
}

}  // namespace pullback::lang
