// What is known of integers as extents of axes, whatever the inputs are.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::ir {

// What may be longer than any array's axis, and is nothing beside one: a constant no larger than this.
inline constexpr int64_t kShortExtent = 16;

struct KnownExtents {
  std::set<Value>
      of_arrays;  // no more than the extent of an array that is there: that, or surely less
  std::set<Value> made_of_arrays;      // of extents and constants alone, by arithmetic
  std::map<Value, int64_t> constants;  // that an array may have
  // Of a loop that starts at what is surely not negative: so are its turns, and what is added to them.
  void LearnTurn(Value first, Value turn);
  void LearnDim(Value result);
  // Of result = op(args), where all that is known of the operands has been learned. Const: `bits`.
  void Learn(Op op, uint64_t bits, ValueSpan args, Value result);
  void LearnAffine(const Affine& a, Value result);

  bool IsDim(Value v) const { return dims_.contains(v); }  // the extent of an array itself
  // Whether it is a sum of a few extents and constants, so that it did not wrap, nor would if a few more were added.
  bool IsSum(Value v) const { return summands_.contains(v); }
  bool IsZero(Value v) const;
  bool IsShort(Value v) const;  // a constant, no more than kShortExtent
  // Whether it is surely not negative, as the start of a loop.
  bool IsStart(Value v) const { return constants.contains(v) || starts_.contains(v); }
  // Whether `v` is no more than `extent`, which is not negative.
  bool IsWithin(Value v, Value extent) const;

 private:
  // What it is no more than, itself too, or less than; unless that is negative.
  std::vector<Value> AtMost(Value v) const;
  std::vector<Value> Below(Value v) const;
  void LearnBounds(Op op, ValueSpan args, Value result);

  void LearnSum(Op op, ValueSpan args, Value result);
  void LearnNear(Value v, int64_t more, Value result);
  // Of (v + c) / k: what v is no more than, where c is less than k.
  std::vector<Value> AtMostAround(Value v, int64_t by) const;

  struct Near {  // the extent of an array and a few more, or less
    Value dim;
    int64_t more;
  };
  std::set<Value> dims_, quotients_;  // the latter of those, or of such
  std::map<Value, int> summands_;     // how many
  std::set<Value>
      turns_;  // with a constant added, so few that nobody gets to where that would wrap
  std::set<Value> starts_;  // these, and what is no less than a start
  std::map<Value, std::vector<Value>> at_most_, below_;
  std::map<Value, Near> near_;
};

// Of the integers that blocks compute.
KnownExtents FindKnownExtents(const Function& f);

}  // namespace pullback::ir
