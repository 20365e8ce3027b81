// Rows that a statement stores some rows away, beside another result, are made by a statement of their own, which runs over these
// rows: it becomes part of its readers then, which take the rows where they are made. The cotangents of
// `gen i < n + 1 { if i == 0 { t } else { x[i - 1] @ w } }`:
//
//   y, t = each(i < N, l < h) { %v = index a[i, l] … } gen [i - 1, l] of (n, h): %v if 1 <= i, sum [l] of (h): %v if i == 0
//
//   y = each(i < n, l < h) where (0 <= i + 1, i + 1 < N) { %v = index a[i + 1, l] … } gen [i, l] of (n, h): %v
//   t = each(i < N, l < h) { %v = index a[i, l] … } sum [l] of (h): %v if i == 0
//
// Of large arrays (core/ir/own_arrays.h) that take little more than a read.
#include <algorithm>
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
        for (size_t k = inst.each ? inst.results.size() : 0; k-- > 0 && inst.results.size() > 1;) {
          if (!IsAway(*inst.each, inst.each->results[k]) || !IsCheap(*inst.each)) continue;
          out.push_back(Alone(inst, k));
          changed = true;
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
  // Whether rows of a large array are read where they are, and stored some rows away, whole.
  bool IsAway(const Each& each, const EachResult& r) const {
    if (r.monoid != ir::Monoid::kGen || r.into.valid() || r.out.size() < 2 ||
        r.out.size() != each.indices.size() || own_.IsNoLarger(r.shape))
      return false;
    const Affine& row = r.out[0];
    if (row.constant == 0 || row.terms.size() != 1 || row.terms[0].coeff != 1) return false;
    const Value index = row.terms[0].value;
    const bool reads_rows = std::any_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
      return inst.op == Op::Index && large_.contains(inst.args[0]) &&
             inst.subs[0].AsValue() == index;
    });
    return reads_rows && PlaceOfIndex(each, index) &&
           std::all_of(r.out.begin() + 1, r.out.end(), [&](const Affine& a) {
             return PlaceOfIndex(each, a.AsValue()) && CountNaming(r, a.AsValue()) == 1;
           });
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
  Inst Alone(Inst& inst, size_t k) {
    Inst alone = ResultAlone(inst, k, f_);
    Each& each = *alone.each;
    EachResult& r = each.results[0];
    const Value old = r.out[0].terms[0].value, row = f_.NewLike(f_, old);
    ir::IndexVar& index = each.indices[*PlaceOfIndex(each, old)];
    const Value rows = index.extent;
    const Affine at = Affine::Of(row) - Affine::Const(r.out[0].constant);
    index = {row, r.shape[0]};
    r.out[0] = Affine::Of(row);
    SubstituteIndex(each, f_, old, at);
    AddRange(each, at, rows);
    Erase(inst.results, k);
    Erase(inst.each->results, k);
    PruneBody(*inst.each);
    return alone;
  }

  ir::Function& f_;
  const ir::OwnArrays own_;
  std::set<Value> large_;  // of the block so far, of several axes
};

}  // namespace

bool MakeRowsAlone(ir::Function& f) { return RowsAlone(f).Run(); }

}  // namespace pullback::tensor
