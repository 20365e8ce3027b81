// What is known of integers as extents of axes, whatever the inputs are.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::ir {

struct KnownExtents {
  std::set<Value>
      of_arrays;  // no more than the extent of an array that is there: that, or surely less
  std::set<Value> made_of_arrays;      // of extents and constants alone, by arithmetic
  std::map<Value, int64_t> constants;  // that an array may have

  void LearnDim(Value result);
  // Of result = op(args), where all that is known of the operands has been learned. Const: `bits`.
  void Learn(Op op, uint64_t bits, ValueSpan args, Value result);
  void LearnAffine(const Affine& a, Value result);

  bool IsZero(Value v) const;
  // Whether `v` is no more than `extent`, which is not negative.
  bool IsWithin(Value v, Value extent) const;

 private:
  std::map<Value, Value> less_;  // what it is less than, or as much as, unless that is negative
  std::map<Value, std::vector<Value>> least_;  // of which it is the least
};

}  // namespace pullback::ir
