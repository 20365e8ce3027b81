// Batching of lists over an axis of seeds (batch_blocks.h): a list as long, in whose elements every field that
// carries a tangent has the axis behind its own. As ever an array without elements is a zero of any shape there.
#pragma once

#include <cstdint>
#include <map>

#include "core/ad/batch_insts.h"
#include "core/ir/builder.h"

namespace pullback::ad {

class BatchedLists {
 public:
  explicit BatchedLists(ir::Module& module) : module_(module) {}

  // With one axis more; of a tape itself.
  ir::Type TypeOf(ir::Type t);
  // Whether arrays in the list, and in lists in it, may have the axis; there are no boxes.
  bool Fits(ir::Type list) const;
  // A scalar, an array or a list that is the same for all `count` seeds, for each of them.
  ir::Value Spread(ir::Builder& b, ir::Value v, ir::Value count);

 private:
  uint32_t SpreadFunction(ir::Type list);

  ir::Module& module_;
  std::map<uint32_t, uint32_t> records_;  // to that with the axis
  std::map<uint32_t, uint32_t> spread_;   // by record: (list, count) -> list
};

bool IsOnLists(ir::Op op);

// One instruction on lists, of which an operand is batched; binds its results. False where the axis would have to be
// in what carries no tangent.
bool VisitListOp(ir::Builder& b, InstBatcher& insts, BatchedLists& lists, const ir::Inst& inst,
                 ir::Value count);

}  // namespace pullback::ad
