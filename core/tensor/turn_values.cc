#include "core/tensor/turn_values.h"

#include <algorithm>

#include "core/ir/block_loops.h"
#include "core/ir/dominance.h"

namespace pullback::tensor {

TurnValues::TurnValues(const ir::Function& f)
    : around_(ir::LoopsAround(f, ir::Dominators(f))), block_of_(f.values.size(), ir::kNoBlock) {
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    for (const ir::Value v : f.blocks[b].params) block_of_[v.id] = b;
    for (const ir::Inst& inst : f.blocks[b].insts) {
      for (const ir::Value v : inst.results) block_of_[v.id] = b;
    }
  }
}

bool TurnValues::Takes(const ir::Affine& row, uint32_t block) const {
  const std::set<uint32_t>& around = around_[block];
  return std::any_of(row.terms.begin(), row.terms.end(), [&](const ir::Affine::Term& t) {
    const uint32_t from = block_of_[t.value.id];
    return from != ir::kNoBlock &&
           !std::includes(around.begin(), around.end(), around_[from].begin(), around_[from].end());
  });
}

}  // namespace pullback::tensor
