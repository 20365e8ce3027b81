// What is read at a place that is known outside is computed there once more, where the array is larger than any of the
// program's own: what an extremum takes is needed behind it, all that it chose from in front, and no array has to last
// from one to the other. So is a row that the text names, %a[0, j], of the first axis, of what is read row by row.
//
//   %a = each(i < %m, j < %n) { … } sum [%i] of (%m): …
//   … each() where (0 <= %k and %k < %m) { %u = index %a[%k] … }
//
//   %a = each(i < %m, j < %n) { … } sum [%i] of (%m): …                 for other readers
//   %r = each(j < %n) where (0 <= %k and %k < %m) { … } sum []: …       of the one %i that is %k
//   … each() where (0 <= %k and %k < %m) { … %r … }
#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ir/own_arrays.h"
#include "core/tensor/array_reads.h"
#include "core/tensor/large_arrays.h"
#include "core/tensor/made_rows.h"
#include "core/tensor/narrow_arrays.h"
#include "core/tensor/normalise.h"
#include "core/tensor/read_ranges.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/sum_statements.h"

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
  explicit Recomputing(ir::Function& f) : f_(f), large_(f), own_(f), ranges_(f) {}

  bool Run() {
    const bool any = std::any_of(f_.blocks.begin(), f_.blocks.end(), [&](const ir::Block& b) {
      return std::any_of(b.insts.begin(), b.insts.end(), [&](const Inst& inst) {
        return inst.each && std::any_of(inst.each->results.begin(), inst.each->results.end(),
                                        [&](const EachResult& r) { return IsLarge(r); });
      });
    });
    if (!any) return false;
    std::vector<SumStatements> sums;
    for (ir::Block& b : f_.blocks)
      sums.emplace_back(f_, b.insts, [](const ir::Values&) { return true; });
    for (Value v : f_.params()) block_of_[v.id] = 0;
    for (block_ = 0; block_ < f_.blocks.size(); ++block_) Visit(f_.blocks[block_]);
    for (size_t k = 0; k < sums.size(); ++k)
      sums[k].PutBack(f_.blocks[k].insts, [](const Inst&) { return false; });
    return changed_;
  }

 private:
  // Which row of which array.
  struct Row {
    Value array;
    size_t axis;
    Affine at;
    bool operator==(const Row&) const = default;
  };
  struct Made {
    size_t block, at, result;  // of what has been visited
  };

  void Visit(ir::Block& b) {
    out_.clear();
    for (Inst& inst : b.insts) {
      if (inst.each) ReadRows(inst);
      Append(std::move(inst), block_);
    }
    b.insts = std::move(out_);
  }
  void Append(Inst inst, size_t block) {
    std::vector<Inst>& out = InstsOf(block);
    for (size_t k = 0; k < inst.results.size(); ++k) {
      block_of_[inst.results[k].id] = block;
      if (inst.each) made_[inst.results[k].id] = {block, out.size(), k};
    }
    out.push_back(std::move(inst));
  }
  std::vector<Inst>& InstsOf(size_t block) {
    return block == block_ ? out_ : f_.blocks[block].insts;
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
  std::optional<Row> RowOf(const ir::Each& each, const Inst& read) {
    const auto made = made_.find(read.args[0].id);
    if (made == made_.end()) return std::nullopt;
    const EachResult& r = ResultOf(made->second);
    if (!IsLarge(r)) return std::nullopt;
    const size_t block = made->second.block;
    for (size_t axis = 0; axis < read.subs.size(); ++axis) {
      const Affine& at = read.subs[axis];
      if (!IsOutside(each, at) || !IsThere(at, block)) continue;
      if ((at.AsValue().valid() && IsWithin(each, read.guard, at, r.shape[axis])) ||
          (axis == 0 && read.subs.size() > 1 && !many_.contains(read.args[0]) &&
           ranges_.IsInRange(each, read.guard, at, r.shape[axis])))
        return Row{read.args[0], axis, at};
    }
    return std::nullopt;
  }
  static bool IsOutside(const ir::Each& each, const Affine& at) {
    return std::none_of(at.terms.begin(), at.terms.end(), [&](const Affine::Term& t) {
      return PlaceOfIndex(each, t.value) || FindDef(each, t.value);
    });
  }
  // Whether the block where the array is made has it: the row is made there, for all blocks behind it.
  bool IsThere(const Affine& at, size_t block) const {
    return block == block_ || std::all_of(at.terms.begin(), at.terms.end(), [&](const auto& t) {
             const auto of = block_of_.find(t.value.id);
             return of != block_of_.end() && (of->second == 0 || of->second == block);
           });
  }
  const Inst& StatementOf(const Made& made) { return InstsOf(made.block)[made.at]; }
  const EachResult& ResultOf(const Made& made) {
    return StatementOf(made).each->results[made.result];
  }

  std::optional<Value> RowAt(const Row& row) {
    const auto known =
        std::find_if(rows_.begin(), rows_.end(), [&](const auto& one) { return one.first == row; });
    if (known != rows_.end()) return known->second;
    const Made made = made_.at(row.array.id);
    if (count_[row.array.id] == kMostRows || !MayRestrict(StatementOf(made), made.result, row.axis))
      return std::nullopt;
    ++count_[row.array.id];
    rows_.emplace_back(row, Compute(made, row));
    return rows_.back().second;
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

  // In front of what is visited, or at the end of a block in front of it.
  Value Compute(const Made& made, const Row& row) {
    const Value extent = ResultOf(made).shape[row.axis];
    Inst inst = RowAlone(StatementOf(made), made.result, row.axis, row.at, f_);
    if (!large_.IsSmall(extent)) CheckSize(extent, inst.loc, f_, InstsOf(made.block));
    ReadRows(inst);
    const Value array = inst.results[0];
    Append(std::move(inst), made.block);
    return array;
  }

  ir::Function& f_;
  const LargeArrays large_;
  const ir::OwnArrays own_;
  const ReadRanges ranges_;
  const std::set<Value> many_ = ArraysOfManyRows(f_);
  bool changed_ = false;
  size_t block_ = 0;  // that is visited
  std::vector<Inst> out_;
  std::unordered_map<uint32_t, size_t> block_of_;
  std::unordered_map<uint32_t, Made> made_;
  std::vector<std::pair<Row, Value>> rows_;
  std::unordered_map<uint32_t, size_t> count_;
};

}  // namespace

bool RecomputeRows(ir::Function& f) { return Recomputing(f).Run(); }

}  // namespace pullback::tensor
