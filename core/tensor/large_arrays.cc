#include "core/tensor/large_arrays.h"

#include <algorithm>

#include "core/ir/known_extents.h"

namespace pullback::tensor {

LargeArrays::LargeArrays(const ir::Function& f) {
  for (ir::Value v : f.blocks[0].params) own_rank_ = std::max<int>(own_rank_, f.TypeOf(v).rank);
  for (const ir::Block& b : f.blocks) {
    for (const ir::Inst& inst : b.insts) {
      const auto value = static_cast<int64_t>(inst.bits);
      const bool is_short = inst.op == ir::Op::Const && value >= 0 && value <= ir::kShortExtent;
      if (inst.op == ir::Op::Dim || is_short) small_.insert(inst.results[0]);
    }
  }
}

bool LargeArrays::Is(const ir::EachResult& r) const {
  return static_cast<int>(r.shape.size()) > own_rank_ ||
         std::any_of(r.shape.begin(), r.shape.end(),
                     [&](ir::Value extent) { return !IsSmall(extent); });
}

}  // namespace pullback::tensor
