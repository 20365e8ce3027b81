// Windows of arrays: slices, transposes, columns; elements of arrays of structs.
#include <algorithm>

#include "core/lang/lower_array.h"
#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_sizes.h"

namespace pullback::lang {
namespace {

// A subscript as lowered: an index (stride 0), or lo, lo + stride, ..., or the elements of an array.
struct Slice {
  Affine lo;
  int64_t stride = 0;
  Affine extent;
  ArrayRef gather;
  bool unchecked = false;  // the index, or the slice's end, is looked at where an element is read
};

}  // namespace

// 0 <= lo <= hi <= dim, kIndex.
bool RequireSlice(Context& c, const Affine& lo, const Affine& hi, const Affine& dim) {
  return Require(c, {lo, false}, ir::TrapKind::kIndex, lo, dim) &&
         Require(c, {hi - lo, false}, ir::TrapKind::kIndex, lo, hi) &&
         Require(c, {dim - hi, false}, ir::TrapKind::kIndex, hi, dim);
}

// ceil(length / step), length >= 0.
std::optional<Affine> StridedExtent(Context& c, const Affine& length, int64_t step) {
  if (step == 1) return length;
  const Affine rounded = length + Affine::Const(step - 1);
  if (rounded.IsConst()) return Affine::Const(rounded.constant / step);
  if (!c.IsOuter(rounded)) return std::nullopt;
  AtBlock block(c);
  const Value v = c.b.Make(Op::Div, {c.ToValue(rounded), c.I64(step)});
  c.small.insert(v.id);
  c.sizes.insert(v.id);
  return Affine::Of(v);
}

namespace {

// 0 where a slice ends inside; elsewhere what brings each of its elements to its last place, or behind that: read there they
// trap.
Affine BeyondEnd(Context& c, const Affine& lo, const Affine& hi, const Affine& dim) {
  AtBlock block(c);
  const Value inside = c.b.Make(Op::Le, {c.ToValue(hi), c.ToValue(dim)});
  const Value last = c.ToValue(hi - lo - Affine::Const(1));
  return Affine::Of(c.b.Make(Op::Select, {inside, c.b.I64(0), last}));
}

// `exact`: a read of an element with an index out of range traps by itself. A body looks at one that data give no earlier.
std::optional<Slice> LowerSubscript(Context& c, const Expr& e, const Subscript& s,
                                    const Affine& dim, bool exact) {
  if (!s.is_slice && s.index->type.kind == Type::Kind::kArray) {
    Slice gather;
    PB_TRY(gather.gather, LowerArray(c, *s.index));
    return gather;
  }
  if (!s.is_slice) {
    PB_TRY(const Affine index, LowerInt(c, *s.index));
    c.SetLoc(e.ordinal);
    const bool inside = RequireInside(c, index, dim);
    if (!inside && !exact) return std::nullopt;
    return Slice{index, 0, {}, nullptr, !inside};
  }
  Affine lo = Affine::Const(0), hi = dim;
  if (s.lo) {
    PB_TRY(lo, LowerInt(c, *s.lo));
  }
  if (s.hi) {
    PB_TRY(hi, LowerInt(c, *s.hi));
  }
  c.SetLoc(e.ordinal);
  const int64_t step = s.step ? s.step->int_value : 1;
  PB_TRY(const Affine extent, StridedExtent(c, hi - lo, step));
  if (RequireSlice(c, lo, hi, dim)) return Slice{lo, step, extent, nullptr};
  const bool is_range = IsNeverNegative(c, lo) && IsNeverNegative(c, hi - lo);
  if (!exact || !is_range || !c.IsOuter(lo) || !c.IsOuter(hi) || !c.IsOuter(dim))
    return std::nullopt;
  return Slice{lo + BeyondEnd(c, lo, hi, dim), step, extent, nullptr, true};
}

Axis Compose(const Axis& x, const std::vector<Slice>& slices, const std::vector<int>& places) {
  if (x.axis < 0) return x;
  const Slice& s = slices[static_cast<size_t>(x.axis)];
  Axis out;
  out.offset = x.offset + s.lo * x.stride;
  out.stride = x.stride * s.stride;
  out.axis = places[static_cast<size_t>(x.axis)];
  return out;
}

// Subscripts of x for subscripts of the slice.
Subs ThroughSlices(const std::vector<Slice>& slices, const Subs& subs) {
  Subs out;
  size_t next = 0;
  for (const Slice& s : slices) {
    out.push_back(s.stride == 0 ? s.lo : s.lo + subs[next++] * s.stride);
  }
  return out;
}

// The read of an element that a body has just written is where what asks for it is, not what that is a part of.
void PlaceRead(Context& c, Value element, uint32_t loc) {
  if (!c.InBody() || c.frame().body.empty()) return;
  ir::Inst& read = c.frame().body.back();
  if (read.op == Op::Index && read.results[0] == element) read.loc = loc;
}

// Whether a read beyond the dims of what a body computes, or of a window, traps by itself.
bool TrapsBeyond(Context& c, const Array& a) { return IsExact(c, a) || (a.exact && c.InBody()); }

// x with axes replaced by those of arrays of indices, which are of one shape and stand where the first of
// them does. x stands in memory, so that an index out of range traps where it is read, and so does one that
// nobody has looked at.
ArrayRef MakeGather(Context& c, const ArrayRef& x, const std::vector<Slice>& slices, uint32_t loc) {
  auto out = std::make_shared<Array>();
  out->elem = x->elem;
  out->exact = true;  // where its axes are whole ones of x
  for (size_t axis = 0; axis < slices.size(); ++axis) {
    const Slice& s = slices[axis];
    const bool whole = s.lo == Affine::Const(0) && s.stride == 1 && s.extent == x->dims[axis];
    out->exact &= s.gather ? TrapsBeyond(c, *s.gather) : s.stride == 0 || whole;
  }
  out->cheap = std::none_of(slices.begin(), slices.end(), [](const Slice& s) { return s.gather; });
  size_t shared = 0;  // axes of the arrays of indices, from `first` on
  size_t first = 0;
  for (const Slice& s : slices) {
    if (s.gather && shared == 0) {
      first = out->dims.size();
      shared = s.gather->dims.size();
      out->dims.insert(out->dims.end(), s.gather->dims.begin(), s.gather->dims.end());
    }
    if (s.stride != 0) out->dims.push_back(s.extent);
  }
  Context* context = &c;
  out->at = [context, x, slices, loc, first, shared](const Subs& subs) -> MaybeValue {
    const auto begin = subs.begin() + static_cast<std::ptrdiff_t>(first);
    const Subs at(begin, begin + static_cast<std::ptrdiff_t>(shared));
    Subs of_x;
    size_t next = 0;
    for (const Slice& s : slices) {
      if (next == first) next += shared;
      if (s.gather) {
        PB_TRY(const Value index, ReadAt(*context, *s.gather, at));
        of_x.push_back(context->AffineFor(index));
      } else {
        of_x.push_back(s.stride == 0 ? s.lo : s.lo + subs[next++] * s.stride);
      }
    }
    context->b.SetLoc(loc);
    PB_TRY(const Value element, ReadAt(*context, *x, of_x));
    PlaceRead(*context, element, loc);
    return element;
  };
  return out;
}

bool RequireOneShape(Context& c, const std::vector<Slice>& slices) {
  const Slice* first = nullptr;
  for (const Slice& s : slices) {
    if (!s.gather) continue;
    if (!first) first = &s;
    for (size_t axis = 0; axis < s.gather->dims.size(); ++axis) {
      if (!RequireEqual(c, first->gather->dims[axis], s.gather->dims[axis])) return false;
    }
  }
  return true;
}

ArrayRef MakeSlice(Context& c, const ArrayRef& x, const std::vector<Slice>& slices) {
  auto out = std::make_shared<Array>();
  out->elem = x->elem;
  std::vector<int> places;
  for (const Slice& s : slices) {
    places.push_back(s.stride == 0 ? -1 : static_cast<int>(out->dims.size()));
    if (s.stride != 0) out->dims.push_back(s.extent);
  }
  if (x->base.valid()) {
    out->base = x->base;
    for (const Axis& axis : x->axes) out->axes.push_back(Compose(axis, slices, places));
    return out;
  }
  out->dear = IsDear(*x);
  Context* context = &c;
  out->at = [context, x, slices](const Subs& subs) {
    return ReadAt(*context, *x, ThroughSlices(slices, subs));
  };
  return out;
}

bool AreExact(Context& c, const Leaves& leaves) {
  return std::all_of(leaves.begin(), leaves.end(),
                     [&](const Leaf& leaf) { return IsExact(c, *ArrayOf(c, leaf)); });
}

// The subscripts of an array of structs. An index is not checked where every read of an element does.
std::optional<std::vector<Slice>> StructSubscripts(Context& c, const Expr& e,
                                                   const Leaves& arrays) {
  const std::vector<Affine> dims = ExtentsOf(c, arrays[0]);
  const bool reads = c.InBody() || std::all_of(arrays.begin(), arrays.end(), [&](const Leaf& leaf) {
                       return ExtentsOf(c, leaf).size() == e.subscripts.size();
                     });
  const bool checked = reads && AreExact(c, arrays);
  std::vector<Slice> slices;
  for (size_t i = 0; i < e.subscripts.size(); ++i) {
    const Subscript& s = e.subscripts[i];
    if (checked && !s.is_slice && s.index->type.kind == Type::Kind::kScalar) {
      PB_TRY(const Affine index, LowerInt(c, *s.index));
      slices.push_back({index, 0, {}, nullptr});
    } else {
      PB_TRY(Slice slice, LowerSubscript(c, e, s, dims[i], false));
      slices.push_back(std::move(slice));
    }
  }
  return slices;
}

}  // namespace

std::optional<ArrayRef> LowerSlice(Context& c, const Expr& e) {
  PB_TRY(ArrayRef x, LowerArray(c, *e.operands[0]));
  std::vector<Slice> slices;
  bool gathers = false, unchecked = false;
  for (size_t i = 0; i < e.subscripts.size(); ++i) {
    PB_TRY(const Slice s, LowerSubscript(c, e, e.subscripts[i], x->dims[i], TrapsBeyond(c, *x)));
    slices.push_back(s);
    gathers = gathers || s.gather;
    unchecked = unchecked || s.unchecked;
  }
  if (gathers) {
    c.SetLoc(e.ordinal);
    if (!RequireOneShape(c, slices)) return std::nullopt;
    if (!TrapsBeyond(c, *x)) {
      if (c.InBody()) return std::nullopt;
      Leaf leaf{Value(), x};
      Store(c, leaf);
      x = ArrayOf(c, leaf);
    }
    return MakeGather(c, x, slices, c.b.loc());
  }
  return unchecked ? MakeGather(c, x, slices, c.b.loc()) : MakeSlice(c, x, slices);
}

std::optional<Leaves> LowerStructElement(Context& c, const Expr& e) {
  PB_TRY(Leaves arrays, Lower(c, *e.operands[0]));
  PB_TRY(const std::vector<Slice> slices, StructSubscripts(c, e, arrays));
  const bool gathers =
      std::any_of(slices.begin(), slices.end(), [](const Slice& s) { return s.gather != nullptr; });
  c.SetLoc(e.ordinal);
  if (gathers) {
    if (!RequireOneShape(c, slices)) return std::nullopt;
    if (!AreExact(c, arrays) && c.InBody()) return std::nullopt;
  }
  Leaves out;
  for (Leaf& leaf : arrays) {
    if (gathers && !IsExact(c, *ArrayOf(c, leaf))) Store(c, leaf);
    const ArrayRef x = ArrayOf(c, leaf);
    std::vector<Slice> own = slices;
    while (own.size() < x->dims.size()) {
      own.push_back({Affine::Const(0), 1, x->dims[own.size()], nullptr});
    }
    const ArrayRef chosen = gathers ? MakeGather(c, x, own, c.b.loc()) : MakeSlice(c, x, own);
    if (!chosen->dims.empty()) {
      out.push_back(LeafOf(c, chosen));
      continue;
    }
    PB_TRY(const Value v, ReadAt(c, *chosen, {}));
    out.push_back({v, nullptr});
  }
  return out;
}

ArrayRef Transposed(const ArrayRef& x) {
  auto out = std::make_shared<Array>(*x);
  std::reverse(out->dims.begin(), out->dims.end());
  const int last = static_cast<int>(x->dims.size()) - 1;
  for (Axis& axis : out->axes) axis.axis = axis.axis < 0 ? -1 : last - axis.axis;
  if (x->at) out->at = [x](const Subs& subs) { return x->at(Subs(subs.rbegin(), subs.rend())); };
  if (x->term) {
    out->term = [x](const Subs& subs, const Affine& k) {
      return x->term(Subs(subs.rbegin(), subs.rend()), k);
    };
  }
  return out;
}

ArrayRef AsColumn(const ArrayRef& x) {
  auto out = std::make_shared<Array>(*x);
  out->dims.push_back(Affine::Const(1));
  out->exact = false;  // nobody asks for the column
  if (x->at) out->at = [x](const Subs& subs) { return x->at({subs[0]}); };
  if (x->term) out->term = [x](const Subs& subs, const Affine& k) { return x->term({subs[0]}, k); };
  return out;
}

bool IsExact(Context& c, const Array& a) {
  if (!a.base.valid()) return false;
  const std::vector<Affine>& dims = c.DimsOf(a.base);
  size_t mapped = 0;
  for (size_t i = 0; i < a.axes.size(); ++i) {
    const Axis& x = a.axes[i];
    if (x.axis < 0) continue;
    const bool whole = x.stride == 1 && x.offset == Affine::Const(0) &&
                       a.dims[static_cast<size_t>(x.axis)] == dims[i];
    if (!whole) return false;
    ++mapped;
  }
  return mapped == a.dims.size();
}

}  // namespace pullback::lang
