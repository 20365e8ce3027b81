// Arrays of which every reader takes the diagonal of two axes only are made there alone: the trace of a product, the
// squares of the columns of a matrix as the diagonal of A'A.
//
//   c = gen [i, j]: e(i, j);  … c[a, a] …          c = gen [i]: e(i, i);  … c[a] …
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
  explicit Diagonals(ir::Function& f) : f_(f), reads_(f), narrow_(f) {}

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
  // `before`: what makes the diagonal.
  void Visit(Inst& inst, size_t k, std::vector<Inst>& before) {
    const Value array = inst.results[k];
    const ir::EachResult& r = inst.each->results[k];
    if (!reads_.OnlyByStatements(array) || r.into.valid() || ir::IsScan(r.monoid)) return;
    const auto axes = reads_.Diagonal(array);
    if (!axes) return;
    Inst one = ResultAlone(inst, k, f_);
    if (!Restrict(*one.each, axes->first, axes->second)) return;
    before.push_back(std::move(one));
    narrow_.Narrow(inst, k, axes->second);
  }

  // The index of the second axis is that of the first. Sizes that trap where they are negative stay: the two are one.
  bool Restrict(ir::Each& each, size_t first, size_t second) {
    ir::EachResult& r = each.results[0];
    const Value i = r.out[first].AsValue(), j = r.out[second].AsValue();
    const auto at = PlaceOfIndex(each, i), gone = PlaceOfIndex(each, j);
    if (!at || !gone || at == gone || CountNaming(r, j) != 1) return false;
    const Value extent = each.indices[*gone].extent;
    if (r.shape[first] != r.shape[second] || extent != r.shape[second]) return false;
    Erase(each.indices, *gone);
    SubstituteIndex(each, f_, j, Affine::Of(i));
    AddRange(each, Affine::Of(i), extent);
    Erase(r.out, second);
    Erase(r.shape, second);
    return true;
  }

  ir::Function& f_;
  const ArrayReads reads_;
  NarrowArrays narrow_;
};

}  // namespace

bool KeepDiagonals(ir::Function& f) { return Diagonals(f).Run(); }

}  // namespace pullback::tensor
