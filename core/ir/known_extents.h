// What is known of integers as extents of axes, whatever the inputs are.
#pragma once

#include <cstdint>
#include <set>

#include "core/ir/ir.h"

namespace pullback::ir {

struct KnownExtents {
  std::set<Value>
      of_arrays;  // no more than the extent of an array that is there: that, or surely less
  std::set<Value> constants;  // that an array may have
  std::set<Value> zeros;      // those of them that are 0

  void LearnDim(Value result) { of_arrays.insert(result); }
  // Of result = op(args), where all that is known of the operands has been learned. Const: `bits`.
  void Learn(Op op, uint64_t bits, ValueSpan args, Value result);
};

}  // namespace pullback::ir
