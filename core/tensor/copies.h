// Statements that copy an array.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::tensor {

// Extents of the arrays of a block, as far as values stand for them.
class Extents {
 public:
  // Instructions in order.
  void Learn(const ir::Inst& inst);
  // Whether the array has that extent; sizes that were checked to be equal are one.
  bool Has(ir::Value array, size_t axis, ir::Value extent) const;

 private:
  ir::Value Root(ir::Value v) const;
  void SetAll(ir::Value array, ir::ValueSpan shape);

  std::map<std::pair<uint32_t, uint64_t>, ir::Value> of_;
  std::map<uint32_t, std::pair<ir::Value, ir::Value>> compared_;
  std::map<uint32_t, ir::Value> same_;
};

// The array that the statement is a copy of, or kNoValue.
ir::Value CopiedArray(const ir::Inst& inst, const Extents& extents);

}  // namespace pullback::tensor
