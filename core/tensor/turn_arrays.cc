// Arrays that are made by rows and read by columns, with the column's index in front of the reader's others: made by
// columns, a turn of that index needs what one turn makes (core/loops/fuse_rows.h).
//
//   v = each(i < n, j < m): gen [i, j] of (n, m): e       v = each(j < m, i < n): gen [j, i] of (m, n): e
//   s = each(j < m, i < n): sum [j]: f(v[i, j])           s = each(j < m, i < n): sum [j]: f(v[j, i])
//
// No element and no order of terms is another. Contractions stay, unless the array may be larger than any of the function's own
// and their factors are read along rows in either order: one at a time they are dot products.
#include <algorithm>
#include <unordered_map>

#include "core/ir/own_arrays.h"
#include "core/ir/statements.h"
#include "core/tensor/array_reads.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

class Turner {
 public:
  explicit Turner(ir::Function& f) : f_(f), own_(f) {}

  bool Run() {
    const ArrayReads reads(f_);
    // Readers first: the statement of one that is turned runs by another index first.
    for (auto b = f_.blocks.rbegin(); b != f_.blocks.rend(); ++b) {
      for (auto inst = b->insts.rbegin(); inst != b->insts.rend(); ++inst) {
        if (inst->each && inst->results.size() == 1) Visit(*inst, reads);
      }
    }
    if (turned_.empty()) return false;
    for (ir::Block& b : f_.blocks) {
      for (Inst& inst : b.insts) {
        if (inst.each) TurnReads(*inst.each);
      }
    }
    return true;
  }

 private:
  void Visit(Inst& inst, const ArrayReads& reads) {
    const Value array = inst.results[0];
    if (f_.TypeOf(array).rank < 2 || !reads.OnlyByStatements(array)) return;
    const std::optional<size_t> axis = reads.FirstIndexAxis(array);
    if (!axis || *axis == 0 || !Turn(*inst.each, *axis)) return;
    turned_[array.id] = *axis;
  }

  bool Turn(Each& each, size_t axis) const {
    EachResult& r = each.results[0];
    if (r.into.valid() || ir::IsScan(r.monoid) || ir::IsArg(r.monoid)) return false;
    if (!ir::IsPrefixForm(each, r)) return false;
    if (IsContraction(each) &&
        (own_.IsNoLarger(r.shape) || WalksAcrossRows(each, /*with_results=*/false)))
      return false;
    ir::BringToFront(each.indices, axis);
    ir::BringToFront(r.out, axis);
    ir::BringToFront(r.shape, axis);
    return true;
  }

  static bool IsContraction(const Each& each) {
    const EachResult& r = each.results[0];
    if (r.monoid != ir::Monoid::kSum || r.out.size() == each.indices.size()) return false;
    const Inst* def = FindDef(each, r.value);
    return def && def->op == Op::Mul;
  }

  void TurnReads(Each& each) const {
    for (Inst& inst : each.body) {
      if (inst.op != Op::Index) continue;
      const auto it = turned_.find(inst.args[0].id);
      if (it != turned_.end()) ir::BringToFront(inst.subs, it->second);
    }
  }

  ir::Function& f_;
  const ir::OwnArrays own_;
  std::unordered_map<uint32_t, size_t> turned_;  // by array: the axis that came to the front
};

}  // namespace

bool TurnArrays(ir::Function& f) { return Turner(f).Run(); }

}  // namespace pullback::tensor
