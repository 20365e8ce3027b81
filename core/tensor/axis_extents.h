// How long the axes of arrays are, as the text of a function says.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::tensor {

// The pairs of integers that the block checks to be equal in front of its first statement.
std::vector<std::pair<ir::Value, ir::Value>> CheckedEqual(const ir::Block& block);

class AxisExtents {
 public:
  explicit AxisExtents(const ir::Function& f);

  // kNoValue: nothing asks for it.
  ir::Value Of(ir::Value array, size_t axis) const;
  // Whether they are one value, or two that the entry checks to be equal, in front of all statements.
  bool AreEqual(ir::Value a, ir::Value b) const;

 private:
  ir::Value Root(ir::Value v) const;

  std::map<std::pair<ir::Value, size_t>, ir::Value> extents_;
  std::map<ir::Value, ir::Value> same_as_;  // an earlier one
};

}  // namespace pullback::tensor
