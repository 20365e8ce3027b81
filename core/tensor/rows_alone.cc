// Rows that a statement stores some rows away, or beside what it makes of a few, are made by a statement that runs over these rows, and makes
// nothing else: it becomes part of its readers, or runs with them, where the rows are made that it reads. The cotangents of
// `gen i < n + 1 { if i == 0 { t } else { x[i - 1] @ w } }`:
//
//   y, t = each(i < N, l < h) { %v = index a[i, l] … } gen [i - 1, l] of (n, h): %v if 1 <= i, sum [l] of (h): %v if i == 0
//
//   y = each(i < n, l < h) where (0 <= i + 1, i + 1 < N) { %v = index a[i + 1, l] … } gen [i, l] of (n, h): %v
//   t = each(i < N, l < h) { %v = index a[i, l] … } sum [l] of (h): %v if i == 0
//
// Of large arrays (core/ir/own_arrays.h); beside other results those that take little more than a read, or have few points.
#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "core/ir/own_arrays.h"
#include "core/tensor/narrow_arrays.h"
#include "core/tensor/normalise.h"
#include "core/tensor/split_statement.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

class RowsAlone {
 public:
  explicit RowsAlone(ir::Function& f) : f_(f), own_(f) {}

  bool Run() {
    bool changed = false;
    for (ir::Block& b : f_.blocks) {
      std::vector<Inst> out;
      large_.clear();
      for (Inst& inst : b.insts) {
        for (size_t k = inst.each ? inst.results.size() : 0; k-- > 0;) {
          const std::optional<size_t> axis = AxisOf(*inst.each, k);
          if (!axis) continue;
          Inst alone = Alone(inst, k, *axis);
          changed = true;
          if (inst.results.empty()) {
            inst = std::move(alone);
          } else {
            out.push_back(std::move(alone));
          }
        }
        for (size_t k = 0; inst.each && k < inst.results.size(); ++k) {
          const EachResult& r = inst.each->results[k];
          if (r.shape.size() > 1 && !own_.IsNoLarger(r.shape)) large_.insert(inst.results[k]);
        }
        out.push_back(std::move(inst));
      }
      b.insts = std::move(out);
    }
    return changed;
  }

 private:
  // The axis, not the last one, along which result k, which may be parted from the others, stores rows of a large array, some rows away
  // from where they are read; or the first one, where the others have the points of a few rows.
  std::optional<size_t> AxisOf(const Each& each, size_t k) const {
    const EachResult& r = each.results[k];
    if (r.monoid != ir::Monoid::kGen || r.into.valid() || r.out.size() < 2 ||
        r.out.size() != each.indices.size() || own_.IsNoLarger(r.shape))
      return std::nullopt;
    std::optional<size_t> away;
    for (size_t axis = 0; axis < r.out.size(); ++axis) {
      const Affine& a = r.out[axis];
      if (a.terms.size() != 1 || a.terms[0].coeff != 1) return std::nullopt;
      const Value index = a.terms[0].value;
      if (!PlaceOfIndex(each, index) || CountNaming(r, index) != 1) return std::nullopt;
      if (a.constant == 0) continue;
      if (away || axis + 1 == r.out.size() || !ReadsLarge(each, axis, index)) return std::nullopt;
      away = axis;
    }
    if (each.results.size() == 1) return away;
    const bool few = HaveFewPoints(each, k);
    if (!few && !IsCheap(each)) return std::nullopt;
    return !away && few && ReadsLarge(each, 0, r.out[0].AsValue()) ? 0 : away;
  }
  bool ReadsLarge(const Each& each, size_t axis, Value index) const {
    return std::any_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
      return inst.op == Op::Index && large_.contains(inst.args[0]) && axis < inst.subs.size() &&
             inst.subs[axis].AsValue() == index;
    });
  }

  // Whether the other results have a few rows' points alone.
  static bool HaveFewPoints(const Each& each, size_t k) {
    for (size_t other = 0; other < each.results.size(); ++other) {
      const Value guard = each.results[other].guard;
      const Inst* def = guard.valid() ? FindDef(each, guard) : nullptr;
      const bool few = def && def->op == Op::Holds &&
                       std::any_of(def->constraints.begin(), def->constraints.end(),
                                   [](const ir::Constraint& c) { return c.equality; });
      if (other != k && !few) return false;
    }
    return true;
  }
  // Whether its points are worth another loop: they read, and choose.
  static bool IsCheap(const Each& each) {
    return std::all_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
      switch (inst.op) {
        case Op::Index:
        case Op::Const:
        case Op::AffineOf:
        case Op::Holds:
        case Op::Not:
        case Op::And:
        case Op::Select:
        case Op::Neg: return true;
        default: return false;
      }
    });
  }

  // `inst` has that result no more.
  Inst Alone(Inst& inst, size_t k, size_t axis) {
    Inst alone = ResultAlone(inst, k, f_);
    Each& each = *alone.each;
    EachResult& r = each.results[0];
    const Value old = r.out[axis].terms[0].value, row = f_.NewLike(f_, old);
    ir::IndexVar& index = each.indices[*PlaceOfIndex(each, old)];
    const Value rows = index.extent;
    const Affine at = Affine::Of(row) - Affine::Const(r.out[axis].constant);
    index = {row, r.shape[axis]};
    r.out[axis] = Affine::Of(row);
    SubstituteIndex(each, f_, old, at);
    AddRange(each, at, rows);
    Erase(inst.results, k);
    Erase(inst.each->results, k);
    if (!inst.results.empty()) PruneBody(*inst.each);
    return alone;
  }

  ir::Function& f_;
  const ir::OwnArrays own_;
  std::set<Value> large_;  // of the block so far, of several axes
};

}  // namespace

bool MakeRowsAlone(ir::Function& f) { return RowsAlone(f).Run(); }

}  // namespace pullback::tensor
