// Which values turns of loops of blocks give, as seen from the outside.
#pragma once

#include <set>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::tensor {

class TurnValues {
 public:
  explicit TurnValues(const ir::Function& f);

  // Whether a loop of blocks that the block is not in gives what the subscript is made of: turns of it take rows.
  bool Takes(const ir::Affine& row, uint32_t block) const;
  // Arrays of which turns take rows so, and those by whose rows statements make such.
  std::set<ir::Value> ArraysTaken(const ir::Function& f) const;
  // Whether the same loops are around both.
  bool AreInSameLoops(uint32_t a, uint32_t b) const { return around_[a] == around_[b]; }

 private:
  const std::vector<std::set<uint32_t>> around_;  // by block: loops
  std::vector<uint32_t> block_of_;                // by value: that defines it
};

}  // namespace pullback::tensor
