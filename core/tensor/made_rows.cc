#include "core/tensor/made_rows.h"

#include <algorithm>

#include "core/ir/op_weight.h"

namespace pullback::tensor {

bool MakesLargeRows(const ir::Inst& inst, const ir::OwnArrays& own) {
  if (!inst.each || inst.results.size() != 1) return false;
  const ir::EachResult& r = inst.each->results[0];
  if (r.into.valid() || r.shape.size() < 2 || ir::IsScan(r.monoid) || own.IsNoLarger(r.shape))
    return false;
  return r.monoid != ir::Monoid::kGen ||
         std::any_of(inst.each->body.begin(), inst.each->body.end(), ir::IsDear);
}

}  // namespace pullback::tensor
