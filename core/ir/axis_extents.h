// How long the axes of arrays are, as the text of a function says.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::ir {

// The pairs of integers that the block checks to be equal in front of its first statement.
std::vector<std::pair<Value, Value>> CheckedEqual(const Block& block);

class AxisExtents {
 public:
  explicit AxisExtents(const Function& f);

  // kNoValue: nothing asks for it.
  Value Of(Value array, size_t axis) const;
  // Whether they are one value, or two that the entry checks to be equal, in front of all statements.
  bool AreEqual(Value a, Value b) const;
  // The first of the values that are equal to it in this way.
  Value First(Value v) const;

 private:
  std::map<std::pair<Value, size_t>, Value> extents_;
  std::map<Value, Value> same_as_;  // an earlier one
};

}  // namespace pullback::ir
