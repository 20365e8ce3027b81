// What is read at a place that is known outside is computed there once more, where the array is larger than any of the
// program's own: what an extremum takes is needed behind it, all that it chose from in front, and no array has to last
// from one to the other.
//
//   %a = each(i < %m, j < %n) { … } sum [%i] of (%m): …
//   … each() where (0 <= %k and %k < %m) { %u = index %a[%k] … }
//
//   %a = each(i < %m, j < %n) { … } sum [%i] of (%m): …                 for other readers
//   %r = each(j < %n) where (0 <= %k and %k < %m) { … } sum []: …       of the one %i that is %k
//   … each() where (0 <= %k and %k < %m) { … %r … }
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ir/own_arrays.h"
#include "core/tensor/large_arrays.h"
#include "core/tensor/narrow_arrays.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kMostRows = 4;  // of one array

class Recomputing {
 public:
  explicit Recomputing(ir::Function& f) : f_(f), large_(f), own_(f) {}

  bool Run() {
    for (ir::Block& b : f_.blocks) {
      const bool any = std::any_of(b.insts.begin(), b.insts.end(), [&](const Inst& inst) {
        return inst.each && std::any_of(inst.each->results.begin(), inst.each->results.end(),
                                        [&](const EachResult& r) { return IsLarge(r); });
      });
      if (any) Visit(b);
    }
    return changed_;
  }

 private:
  // Which row of which array.
  struct Row {
    Value array;
    size_t axis;
    Value at;
    auto operator<=>(const Row&) const = default;
  };
  struct Made {
    size_t at, result;  // of what has been visited
  };

  void Visit(ir::Block& b) {
    made_.clear();
    rows_.clear();
    out_.clear();
    for (Inst& inst : b.insts) {
      if (inst.each) ReadRows(inst);
      for (size_t k = 0; inst.each && k < inst.results.size(); ++k)
        made_[inst.results[k].id] = {out_.size(), k};
      out_.push_back(std::move(inst));
    }
    b.insts = std::move(out_);
  }

  void ReadRows(Inst& inst) {
    ir::Each& each = *inst.each;
    std::unordered_map<uint32_t, Value> numbers;
    for (Inst& read : each.body) {
      const std::optional<Row> row = read.op == Op::Index ? RowOf(each, read) : std::nullopt;
      const std::optional<Value> made = row ? RowAt(*row) : std::nullopt;
      if (!made) continue;
      changed_ = true;
      if (f_.TypeOf(*made).IsArray()) {
        ir::Affines subs(read.subs.begin(), read.subs.end());
        Erase(subs, row->axis);
        read.subs = ir::AffineSpan(subs);
        read.args = {*made};
      } else {
        numbers[read.results[0].id] = *made;
      }
    }
    ReadNumbers(inst, numbers);
  }
  // Larger than the function's own, or a product of two of their axes.
  bool IsLarge(const EachResult& r) const {
    return large_.Is(r) || (r.shape.size() > 1 && !own_.IsNoLarger(r.shape));
  }

  // The axis at which the subscript is known outside and in range.
  std::optional<Row> RowOf(const ir::Each& each, const Inst& read) const {
    const auto made = made_.find(read.args[0].id);
    if (made == made_.end()) return std::nullopt;
    const EachResult& r = ResultOf(made->second);
    if (!IsLarge(r)) return std::nullopt;
    for (size_t axis = 0; axis < read.subs.size(); ++axis) {
      const Value v = read.subs[axis].AsValue();
      const bool outside = v.valid() && !PlaceOfIndex(each, v) && !FindDef(each, v);
      if (outside && IsWithin(each, read.guard, read.subs[axis], r.shape[axis]))
        return Row{read.args[0], axis, v};
    }
    return std::nullopt;
  }
  const EachResult& ResultOf(const Made& made) const {
    return out_[made.at].each->results[made.result];
  }

  std::optional<Value> RowAt(const Row& row) {
    if (const auto known = rows_.find(row); known != rows_.end()) return known->second;
    const Made made = made_.at(row.array.id);
    if (count_[row.array.id] == kMostRows || !MayRestrict(out_[made.at], made.result, row.axis))
      return std::nullopt;
    ++count_[row.array.id];
    return rows_[row] = Compute(made, row);
  }

  // Whether the axis has an index of its own, over all of it, which no scan runs along.
  static bool MayRestrict(const Inst& inst, size_t result, size_t axis) {
    const ir::Each& each = *inst.each;
    const EachResult& r = each.results[result];
    const auto place = PlaceOfIndex(each, r.out[axis].AsValue());
    return place && each.indices[*place].extent == r.shape[axis] && !r.into.valid() &&
           CountNaming(r, r.out[axis].AsValue()) == 1 &&
           (!ir::IsScan(r.monoid) || *place < r.outer);
  }

  Value Compute(const Made& made, const Row& row) {
    Inst inst = CopyWithResult(out_[made.at], made.result, f_).inst;
    ir::Each& each = *inst.each;
    EachResult& r = each.results[0];
    const Value index = r.out[row.axis].AsValue(), extent = r.shape[row.axis];
    const size_t place = *PlaceOfIndex(each, index);
    Erase(r.out, row.axis);
    Erase(r.shape, row.axis);
    if (ir::IsScan(r.monoid)) --r.outer;
    SubstituteIndex(each, f_, index, Affine::Of(row.at));
    each.indices.erase(each.indices.begin() + static_cast<long>(place));
    AddRange(each, Affine::Of(row.at), extent);
    PruneBody(each);
    const ir::Type t = f_.TypeOf(row.array);
    const ir::Type narrow = t.rank == 1 ? t.Element() : ir::Type::Array(t.elem, t.rank - 1);
    inst.results = {f_.NewValue(narrow, f_.names[row.array.id])};
    if (!large_.IsSmall(extent)) CheckSize(extent, inst.loc, f_, out_);
    made_[inst.results[0].id] = {out_.size(), 0};
    out_.push_back(std::move(inst));
    return out_.back().results[0];
  }

  ir::Function& f_;
  const LargeArrays large_;
  const ir::OwnArrays own_;
  bool changed_ = false;
  std::vector<Inst> out_;  // of the block that is visited
  std::unordered_map<uint32_t, Made> made_;
  std::map<Row, Value> rows_;
  std::unordered_map<uint32_t, size_t> count_;
};

}  // namespace

bool RecomputeRows(ir::Function& f) { return Recomputing(f).Run(); }

}  // namespace pullback::tensor
