// Arrays of which every reader takes the diagonal of two axes only are made there alone: the trace of a product, the
// squares of the columns of a matrix as the diagonal of A'A.
//
//   c = gen [i, j]: e(i, j);  … c[a, a] …          c = gen [i]: e(i, i);  … c[a] …
//
// Likewise next to it, c[a, a - 1] where that is there, and of what is made there alone, gen [i, i - 1].
#include <algorithm>

#include "core/analysis/outer_values.h"
#include "core/analysis/predicate.h"
#include "core/ir/statements.h"
#include "core/tensor/array_reads.h"
#include "core/tensor/narrow_arrays.h"
#include "core/tensor/normalise.h"
#include "core/tensor/split_statement.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Value;

class Diagonals {
 public:
  explicit Diagonals(ir::Function& f) : f_(f), reads_(f), outer_(f), narrow_(f) {}

  bool Run() {
    for (ir::Block& b : f_.blocks) {
      std::vector<Inst> made;
      for (Inst& inst : b.insts) {
        for (size_t k = 0; inst.each && k < inst.results.size(); ++k) Visit(inst, k, made);
        made.push_back(std::move(inst));
      }
      b.insts = std::move(made);
    }
    return narrow_.Finish();
  }

 private:
  using At = ArrayReads::AtDiagonal;

  // `before`: what makes the diagonal.
  void Visit(Inst& inst, size_t k, std::vector<Inst>& before) {
    const Value array = inst.results[k];
    const ir::EachResult& r = inst.each->results[k];
    if (!reads_.OnlyByStatements(array) || r.into.valid() || ir::IsScan(r.monoid)) return;
    const auto axes = reads_.Diagonal(array);
    if (!axes || (axes->apart != 0 && !AreThere(array, r.shape[axes->second], *axes))) return;
    Inst one = ResultAlone(inst, k, f_);
    if (!Restrict(*one.each, *axes) && !DropSecond(*one.each, *axes)) return;
    before.push_back(std::move(one));
    narrow_.Narrow(inst, k, axes->second);
  }

  // Whether the second subscript of all reads is one of an axis that long: where it is the first one's it is checked with that.
  bool AreThere(Value array, Value extent, const At& axes) const {
    const std::vector<ArrayReads::Read>& reads = reads_.Of(array);
    return std::all_of(reads.begin(), reads.end(), [&](const ArrayReads::Read& read) {
      return IsThere(*read.statement, read.inst->guard, read.inst->subs[axes.second], extent);
    });
  }
  bool IsThere(const ir::Each& each, Value guard, const Affine& sub, Value extent) const {
    const analysis::Box box = outer_.BoxOf(each);
    const std::vector<ir::Constraint> where = ir::ConstraintsAt(each, guard);
    const auto holds = [&](const Affine& e) {
      analysis::Work work;
      return box.IsTame(e) && analysis::ProvesImplied(where, {e, false}, box, work);
    };
    return holds(sub) && holds(Affine::Of(extent) - sub - Affine::Const(1));
  }

  // The index of the second axis is that of the first, or so much less. Sizes that trap where they are negative stay: the two are one.
  bool Restrict(ir::Each& each, const At& axes) {
    ir::EachResult& r = each.results[0];
    const Value i = r.out[axes.first].AsValue(), j = r.out[axes.second].AsValue();
    const auto at = PlaceOfIndex(each, i), gone = PlaceOfIndex(each, j);
    if (!at || !gone || at == gone || CountNaming(r, j) != 1) return false;
    const Value extent = each.indices[*gone].extent;
    if (r.shape[axes.first] != r.shape[axes.second] || extent != r.shape[axes.second]) return false;
    const Affine second = Affine::Of(i) - Affine::Const(axes.apart);
    Erase(each.indices, *gone);
    SubstituteIndex(each, f_, j, second);
    AddRange(each, second, extent);
    Drop(r, axes.second);
    return true;
  }
  // What is made there alone.
  bool DropSecond(ir::Each& each, const At& axes) const {
    ir::EachResult& r = each.results[0];
    const Affine& second = r.out[axes.second];
    if (r.out[axes.first] - second != Affine::Const(axes.apart) ||
        !PlaceOfIndex(each, r.out[axes.first].AsValue()) ||
        r.shape[axes.first] != r.shape[axes.second] ||
        !IsThere(each, r.guard, second, r.shape[axes.second]))
      return false;
    Drop(r, axes.second);
    return true;
  }
  static void Drop(ir::EachResult& r, size_t axis) {
    Erase(r.out, axis);
    Erase(r.shape, axis);
  }

  ir::Function& f_;
  const ArrayReads reads_;
  const analysis::OuterValues outer_;
  NarrowArrays narrow_;
};

}  // namespace

bool KeepDiagonals(ir::Function& f) { return Diagonals(f).Run(); }

}  // namespace pullback::tensor
