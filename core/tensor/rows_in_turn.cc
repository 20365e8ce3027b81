// What is made of one row of each set of a large array, which row the text names, is made where the set's rows are: its statement runs
// over all of them, and has its points at that one.
//
//   %t = each(s < b, l < h) { %u = index %a[s, 0, l] … } sum [l] of (h): …                  a: (b, n, h)
//
//   %t = each(s < b, i < n, l < h) { %c = holds (i == 0) %u = index %a[s, i, l] if %c … } sum [l] of (h): … if %c
//
// So no set's rows are kept for it. (Of rows of the first axis recompute_rows.cc makes the row once more; sets are often so small that
// this would take as long as all rows.) Comes where nothing is normalised any more, which would pin the index; and a condition in `where` would be the loop's range, another one than that of the set's rows.
#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "core/ir/own_arrays.h"
#include "core/tensor/array_reads.h"
#include "core/tensor/normalise.h"
#include "core/tensor/read_ranges.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Monoid;
using ir::Op;
using ir::Value;

constexpr size_t kAxis = 1;  // of a set's rows

class RowsInTurn {
 public:
  explicit RowsInTurn(ir::Function& f)
      : f_(f), own_(f), ranges_(f), many_(ArraysOfManyRows(f, kAxis)) {}

  bool Run() {
    bool changed = false;
    for (ir::Block& b : f_.blocks) {
      large_.clear();
      for (Inst& inst : b.insts) {
        if (!inst.each) continue;
        if (const std::optional<Row> row = RowOf(*inst.each)) {
          RunOver(*inst.each, *row);
          changed = true;
        }
        for (size_t k = 0; k < inst.results.size(); ++k) {
          const ir::Values shape = inst.each->results[k].shape;
          if (shape.size() > 2 && !own_.IsNoLarger(shape)) large_[inst.results[k].id] = shape;
        }
      }
    }
    return changed;
  }

 private:
  struct Row {
    Affine at;
    Value extent;
    bool operator==(const Row&) const = default;
  };

  // Which all that it reads of large arrays have.
  std::optional<Row> RowOf(const Each& each) const {
    const bool sums = std::all_of(each.results.begin(), each.results.end(), [&](const auto& r) {
      return (r.monoid == Monoid::kSum || r.monoid == Monoid::kGen) && !r.into.valid() &&
             !r.guard.valid() && f_.TypeOf(r.value).IsFloat();
    });
    std::optional<Row> row;
    for (const Inst& read : each.body) {
      const auto shape = read.op == Op::Index ? large_.find(read.args[0].id) : large_.end();
      if (shape == large_.end()) continue;
      const std::optional<Row> own = RowOf(each, read, shape->second);
      if (!sums || !own || (row && row != own) || many_.contains(read.args[0])) return std::nullopt;
      row = own;
    }
    return row;
  }
  // Nothing: it is no set of its own for each of the first index.
  std::optional<Row> RowOf(const Each& each, const Inst& read, const ir::Values& shape) const {
    if (each.indices.empty() || read.subs[0].AsValue() != each.indices[0].var) return std::nullopt;
    const Affine& at = read.subs[kAxis];
    const bool outside = std::none_of(at.terms.begin(), at.terms.end(), [&](const auto& t) {
      return PlaceOfIndex(each, t.value) || FindDef(each, t.value);
    });
    if (!outside || !ranges_.IsInRange(each, read.guard, at, shape[kAxis])) return std::nullopt;
    return Row{at, shape[kAxis]};
  }

  void RunOver(Each& each, const Row& row) {
    const Value index = f_.NewLike(f_, each.indices[0].var);
    for (Inst& read : each.body) {
      if (read.op == Op::Index && large_.contains(read.args[0].id))
        read.subs[kAxis] = Affine::Of(index);
    }
    each.indices.insert(each.indices.begin() + static_cast<std::ptrdiff_t>(kAxis),
                        {index, row.extent});
    Inst is_it;
    is_it.op = Op::Holds;
    is_it.constraints = {{Affine::Of(index) - row.at, true}};
    is_it.results = {f_.NewValue(ir::Type::Bool())};
    for (Inst& inst : each.body) {
      if (!inst.guard.valid()) inst.guard = is_it.results[0];
    }
    for (EachResult& r : each.results) {
      r.monoid = Monoid::kSum;
      r.guard = is_it.results[0];
    }
    each.body.insert(each.body.begin(), std::move(is_it));
  }

  ir::Function& f_;
  const ir::OwnArrays own_;
  const ReadRanges ranges_;
  const std::set<Value> many_;
  std::unordered_map<uint32_t, ir::Values> large_;  // of the block so far, of three axes and more
};

}  // namespace

bool MakeRowsInTurn(ir::Function& f) { return RowsInTurn(f).Run(); }

}  // namespace pullback::tensor
