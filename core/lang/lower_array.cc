#include "core/lang/lower_array.h"

#include <algorithm>

#include "core/lang/builtins.h"
#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_list.h"
#include "core/lang/lower_sizes.h"

namespace pullback::lang {
namespace {

bool IsWhole(Context& c, const Array& a) {
  if (!a.base.valid() || a.dims != c.DimsOf(a.base)) return false;
  for (size_t i = 0; i < a.axes.size(); ++i) {
    const Axis& x = a.axes[i];
    const bool same =
        x.axis == static_cast<int>(i) && x.stride == 1 && x.offset == Affine::Const(0);
    if (!same) return false;
  }
  return true;
}

// --- matrix products

Subs Concat(const Subs& a, const Subs& b) {
  Subs all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

// Row subscripts of x, then the reduced axis; the reduced axis, then column subscripts of y.
MaybeValue ProductTerm(Context& c, const ArrayRef& x, const ArrayRef& y, const Subs& subs,
                       const Affine& k) {
  const auto split = subs.begin() + static_cast<std::ptrdiff_t>(x->dims.size() - 1);
  PB_TRY(const Value a, ReadAt(c, *x, Concat(Subs(subs.begin(), split), {k})));
  PB_TRY(const Value b, ReadAt(c, *y, Concat({k}, Subs(split, subs.end()))));
  return Arithmetic(c, BinaryOp::kMul, a, b);
}

struct Product {
  ArrayRef x, y;
  Affine inner;
};

// Operands of `@`; each is read many times, so that what is computed is stored first.
std::optional<Product> LowerProduct(Context& c, const Expr& e) {
  Product p;
  for (ArrayRef* side : {&p.x, &p.y}) {
    PB_TRY(*side, LowerArray(c, *e.operands[side == &p.x ? 0 : 1]));
    if ((*side)->base.valid()) continue;
    c.SetLoc(e.operands[side == &p.x ? 0 : 1]->ordinal);
    if (c.InBody()) {
      PB_TRY(*side, StoreIfDear(c, *side));
      continue;
    }
    Leaf leaf{Value(), *side};
    Store(c, leaf);
    *side = ArrayOf(c, leaf);
  }
  c.SetLoc(e.ordinal);
  if (!RequireEqual(c, p.x->dims.back(), p.y->dims.front())) return std::nullopt;
  p.inner = p.x->dims.back();
  return p;
}

std::optional<ArrayRef> LowerMatMul(Context& c, const Expr& e) {
  PB_TRY(const Product p, LowerProduct(c, e));
  auto out = std::make_shared<Array>();
  out->elem = e.type.elem;
  out->dims.assign(p.x->dims.begin(), p.x->dims.end() - 1);
  out->dims.insert(out->dims.end(), p.y->dims.begin() + 1, p.y->dims.end());
  out->inner = p.inner;
  Context* context = &c;
  out->term = [context, x = p.x, y = p.y](const Subs& subs, const Affine& k) {
    return ProductTerm(*context, x, y, subs, k);
  };
  return out;
}

std::optional<ArrayRef> LeafArray(Context& c, std::optional<Leaves> leaves) {
  if (!leaves) return std::nullopt;
  PB_CHECK(leaves->size() == 1);
  return ArrayOf(c, (*leaves)[0]);
}

}  // namespace

std::vector<Axis> WholeAxes(size_t rank) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < rank; ++i) axes.push_back({Affine::Const(0), 1, static_cast<int>(i)});
  return axes;
}

ArrayRef ArrayOf(Context& c, const Leaf& leaf) {
  if (leaf.array) return leaf.array;
  auto array = std::make_shared<Array>();
  array->elem = c.b.TypeOf(leaf.value).elem;
  array->dims = c.DimsOf(leaf.value);
  array->base = leaf.value;
  array->axes = WholeAxes(array->dims.size());
  return array;
}

Leaf LeafOf(Context& c, const ArrayRef& array) {
  if (IsWhole(c, *array)) return {array->base, nullptr};
  return {Value(), array};
}

namespace {

// Its extents depend on indices, and the subscripts run through it by others.
bool IsRaggedLoop(Context& c, const Array& a, const Subs& subs) {
  const auto is_ragged = [&](const Affine& d) { return !c.IsOuter(d); };
  if (std::none_of(a.dims.begin(), a.dims.end(), is_ragged)) return false;
  return std::any_of(subs.begin(), subs.end(), [&](const Affine& sub) {
    return std::any_of(sub.terms.begin(), sub.terms.end(), [&](const Affine::Term& t) {
      return c.IsIndex(t.value) && std::all_of(a.dims.begin(), a.dims.end(), [&](const Affine& d) {
               return d.Coeff(t.value) == 0;
             });
    });
  });
}

// Whoever asks for a size sees no negative one: the array is made first, and may be made by nobody if nothing
// else is read of it. What a body makes it has checked.
std::optional<Affine> SizeOf(Context& c, const Expr& e, std::vector<Affine> dims, Value base) {
  const size_t axis = static_cast<Builtin>(e.builtin) == Builtin::Len
                          ? 0
                          : static_cast<size_t>(e.operands[1]->int_value);
  Affine size = dims[axis];
  std::optional<AtBlock> block;
  if (c.InBody()) {
    if (!base.valid() || c.OwnerOf(base) != 0) return size;
    dims = c.DimsOf(base);
    block.emplace(c);
  }
  c.SetLoc(e.operands[0]->ordinal);
  if (base.valid()) c.b.SetLoc(c.PlaceOf(base));
  for (const Affine& d : dims) {
    if (!Require(c, {d, false}, ir::TrapKind::kNegativeSize, d, d)) return std::nullopt;
  }
  return size;
}

}  // namespace

MaybeValue ReadAt(Context& c, const Array& a, const Subs& subs) {
  PB_CHECK(subs.size() == a.dims.size());
  if (!c.Work(1)) return std::nullopt;
  const bool computed = a.inner || (a.at && !a.cheap);
  if (c.InBody() && !c.dims_only && computed && IsRaggedLoop(c, a, subs) && ++a.reading_loops > 1) {
    return std::nullopt;
  }
  if (a.inner) {
    return LowerSum(c, *a.inner, [&](const Affine& k) { return a.term(subs, k); });
  }
  if (a.at) return a.at(subs);
  Subs at;
  for (const Axis& x : a.axes) {
    at.push_back(x.axis < 0 ? x.offset : x.offset + subs[static_cast<size_t>(x.axis)] * x.stride);
  }
  return c.b.Index(a.base, std::move(at));
}

const std::vector<Affine>& ExtentsOf(Context& c, const Leaf& leaf) {
  return leaf.array ? leaf.array->dims : c.DimsOf(leaf.value);
}

bool IsArrayLeaf(const Context& c, const Leaf& leaf) {
  return leaf.array || (leaf.value.valid() && c.b.TypeOf(leaf.value).IsArray());
}

void Store(Context& c, Leaf& leaf) {
  if (!leaf.array) return;
  const bool whole = IsWhole(c, *leaf.array);
  leaf.value = whole ? leaf.array->base : StoreArray(c, *leaf.array);
  leaf.array = nullptr;
}

std::optional<ArrayRef> LowerArray(Context& c, const Expr& e) {
  if (std::optional<Leaves> given = c.Given(e)) return LeafArray(c, std::move(given));
  switch (e.kind) {
    case Expr::Kind::kUnary:
    case Expr::Kind::kCast: return LowerElementwise(c, e);
    case Expr::Kind::kBinary:
      return e.binary == BinaryOp::kMatMul ? LowerMatMul(c, e) : LowerElementwise(c, e);
    case Expr::Kind::kIndex:
      if (IsListElement(e)) return LeafArray(c, Lower(c, e));
      return LowerSlice(c, e);
    case Expr::Kind::kTranspose: {
      PB_TRY(const ArrayRef x, LowerArray(c, *e.operands[0]));
      return Transposed(x);
    }
    case Expr::Kind::kArray: return LowerArrayLiteral(c, e);
    case Expr::Kind::kScan: return LowerScan(c, e);
    case Expr::Kind::kComprehension: return LowerArrayComprehension(c, e);
    default: return LeafArray(c, Lower(c, e));
  }
}

MaybeValue LowerDot(Context& c, const Expr& e) {
  PB_TRY(const Product p, LowerProduct(c, e));
  return LowerSum(c, p.inner, [&](const Affine& k) { return ProductTerm(c, p.x, p.y, {}, k); });
}

std::optional<Affine> LowerExtent(Context& c, const Expr& e) {
  if (e.kind != Expr::Kind::kCall || e.builtin < 0) return std::nullopt;
  const Builtin builtin = static_cast<Builtin>(e.builtin);
  if (builtin != Builtin::Len && builtin != Builtin::Dim) return std::nullopt;
  if (e.operands[0]->type.kind == Type::Kind::kList) return LowerListLength(c, *e.operands[0]);
  if (e.operands[0]->type.kind == Type::Kind::kStructArray) {
    PB_TRY(const Leaves leaves, Lower(c, *e.operands[0]));
    return SizeOf(c, e, ExtentsOf(c, leaves[0]), leaves[0].value);
  }
  PB_TRY(const ArrayRef x, LowerArray(c, *e.operands[0]));
  return SizeOf(c, e, x->dims, x->base);
}

}  // namespace pullback::lang
