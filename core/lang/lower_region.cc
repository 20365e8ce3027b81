// Assigning a part of an array: element after element, so that it takes as long as the part is large, and happens in place.
// What is added at places that data say, a[k] += v, is a statement of its own, which is added up with the array where that
// was made for it, or given with the request: another takes the time of the part.
#include "core/lang/lower_array.h"
#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_place.h"
#include "core/lang/lower_sizes.h"

namespace pullback::lang {
namespace {

class Filling {
 public:
  Filling(Context& c, const Change& change, Value array)
      : c_(c), change_(change), value_(change.value[0].value), dims_(c.DimsOf(array)) {
    array_ = {array};
  }

  Value Run() {
    c_.b.SetLoc(change_.loc);
    FindExtents();
    const bool whole = c_.b.TypeOf(value_).IsArray();
    const std::vector<Affine> of_value = whole ? c_.DimsOf(value_) : Subs();
    const size_t skipped = extents_.size() - of_value.size();
    for (size_t i = 0; i < of_value.size(); ++i)
      follow_.push_back(FollowPart(of_value[i], extents_[skipped + i]));
    if (change_.negates && !whole) value_ = UnaryScalar(c_, UnaryOp::kNeg, value_);
    if (change_.adds && shared_ && RunsOnce()) {
      const Value sum = c_.b.AddArrays(array_[0], Scattered());
      c_.made_at[sum.id] = c_.PlaceOf(array_[0]);
      array_[0] = sum;
    } else {
      Nest(0, 0);
    }
    c_.SetDims(array_[0], dims_);
    return array_[0];
  }

 private:
  void FindExtents() {
    for (size_t i = 0; i < change_.region.size(); ++i) {
      const PartAxis& axis = change_.region[i];
      if (axis.indices.valid()) {
        const std::vector<Affine> dims = c_.DimsOf(axis.indices);
        if (shared_) {
          for (size_t k = 0; k < dims.size(); ++k)
            RequireEqual(c_, extents_[*shared_ + k], dims[k]);
          continue;
        }
        shared_ = extents_.size();
        extents_.insert(extents_.end(), dims.begin(), dims.end());
      } else if (axis.step != 0) {
        const Affine hi = axis.hi.value_or(dims_[i]);
        RequireSlice(c_, axis.lo, hi, dims_[i]);
        extents_.push_back(*StridedExtent(c_, hi - axis.lo, axis.step));
      }
    }
  }

  // How an axis of the value follows the part's, which it has the size of; what is added may be of size 1, as in x[i] + e: 0 then,
  // else 1. kNoValue: it has that size.
  Value FollowPart(const Affine& dim, const Affine& extent) {
    const bool may_expand = change_.adds && !shared_ && (!dim.IsConst() || dim.constant == 1);
    if (dim == extent || !may_expand) {
      RequireEqual(c_, dim, extent);
      return ir::kNoValue;
    }
    const auto is = [&](const Affine& size) {
      return c_.b.Make(Op::Eq, {c_.ToValue(dim), c_.ToValue(size)});
    };
    const Affine one = Affine::Const(1);
    if (dim == one) return c_.b.I64(0);
    RequireValue(
        c_, [&] { return c_.b.Make(Op::Or, {is(extent), is(one)}); }, ir::TrapKind::kSizeMismatch,
        dim, extent);
    return c_.b.Make(Op::Select, {is(one), c_.b.I64(0), c_.b.I64(1)});
  }

  // As often as the array is made, by a statement of this function or by such a sum: what a loop carries is none that is
  // made in it.
  bool RunsOnce() const {
    return c_.made_at.contains(array_[0].id) || c_.given.contains(array_[0].id);
  }

  // What is added, where it is, as a sum over the points of the part.
  Value Scattered() {
    std::vector<Value> extents;
    ir::EachResult r;
    for (const Affine& e : extents_) extents.push_back(c_.ToValue(e));
    for (const Affine& d : dims_) r.shape.push_back(c_.ToValue(d));
    for (Value i : c_.b.BeginEach(extents)) at_.push_back(Affine::Of(i));
    size_t extent = 0;
    for (const PartAxis& a : change_.region) {
      if (a.indices.valid()) {
        const size_t rank = c_.DimsOf(a.indices).size();
        const auto begin = at_.begin() + static_cast<std::ptrdiff_t>(*shared_);
        const Subs at(begin, begin + static_cast<std::ptrdiff_t>(rank));
        r.out.push_back(Affine::Of(c_.b.Index(a.indices, at)));
        if (extent == *shared_) extent += rank;
      } else if (a.step == 0) {
        r.out.push_back(a.lo);
      } else {
        r.out.push_back(a.lo + at_[extent++] * a.step);
      }
    }
    r.monoid = ir::Monoid::kSum;
    r.value = ElementOfValue();
    r.loc = change_.loc;
    at_.clear();
    return c_.b.EndEach({r})[0];
  }

  // `axis` of the array, the extents from `extent` on.
  void Nest(size_t axis, size_t extent) {
    if (axis == change_.region.size()) return Element();
    const PartAxis& a = change_.region[axis];
    if (a.indices.valid()) {
      return Indices(axis, extent, extent == *shared_ ? c_.DimsOf(a.indices).size() : 0);
    }
    if (a.step == 0) {
      subs_.push_back(a.lo);
      Nest(axis + 1, extent);
      subs_.pop_back();
      return;
    }
    Loop(extent, [&](const Affine& i) {
      subs_.push_back(a.lo + i * a.step);
      Nest(axis + 1, extent + 1);
      subs_.pop_back();
    });
  }

  // Loops over the axes of the first array of indices, of which `left` are still to come; the others
  // share them.
  void Indices(size_t axis, size_t extent, size_t left) {
    if (left > 0) {
      return Loop(extent, [&](const Affine&) { Indices(axis, extent + 1, left - 1); });
    }
    const Value indices = change_.region[axis].indices;
    const auto begin = at_.begin() + static_cast<std::ptrdiff_t>(*shared_);
    const auto end = begin + static_cast<std::ptrdiff_t>(c_.DimsOf(indices).size());
    subs_.push_back(c_.AffineFor(c_.b.Index(indices, Subs(begin, end))));
    Nest(axis + 1, extent);
    subs_.pop_back();
  }

  void Loop(size_t extent, const std::function<void(const Affine&)>& body) {
    CountedLoop(c_, {Affine::Const(0), extents_[extent]}, "", array_, [&](Value i) {
      at_.push_back(Affine::Of(i));
      body(at_.back());
      at_.pop_back();
    });
  }

  void Element() {
    const Value v = ElementOfValue();
    c_.b.SetLoc(change_.loc);
    array_[0] = change_.adds ? c_.b.AddAt(array_[0], subs_, v) : c_.b.Update(array_[0], subs_, v);
  }
  // Of what is assigned, at the point where this is.
  Value ElementOfValue() {
    if (!c_.b.TypeOf(value_).IsArray()) return value_;
    Subs at(at_.end() - static_cast<std::ptrdiff_t>(follow_.size()), at_.end());
    for (size_t i = 0; i < at.size(); ++i) {
      if (follow_[i].valid())
        at[i] = Affine::Of(c_.b.Make(Op::Mul, {c_.ToValue(at[i]), follow_[i]}));
    }
    const Value v = c_.b.Index(value_, at);
    return change_.negates ? UnaryScalar(c_, UnaryOp::kNeg, v) : v;
  }

  Context& c_;
  const Change& change_;
  Value value_;
  const std::vector<Affine> dims_;
  std::vector<Affine> extents_;   // of the part
  std::optional<size_t> shared_;  // where those of the arrays of indices begin
  std::vector<Value> follow_;     // by axis of the value
  Subs subs_, at_;                // of the array, of the value
  std::vector<Value> array_;      // carried through the loops
};

}  // namespace

void ChangeRegion(Context& c, Leaf& array, const Change& change) {
  array.value = Filling(c, change, array.value).Run();
}

}  // namespace pullback::lang
