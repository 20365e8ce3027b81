// What a function's code says of the integers that its tensor statements get from outside.
#pragma once

#include <unordered_map>
#include <vector>

#include "core/analysis/box.h"
#include "core/ir/ir.h"

namespace pullback::analysis {

class OuterValues {
 public:
  // `f` may be still without code, which is then to be learnt as it is written.
  explicit OuterValues(const ir::Function& f);
  // An instruction of f's blocks behind those that it reads from.
  void Learn(const ir::Inst& inst);

  // The statement's index variables in their extents, and the ranges of everything that its constraints
  // speak of. A shape of one of its results is that of an array, since points are visited after arrays
  // are made.
  Box BoxOf(const ir::Each& each) const;
  // What quotients by numbers that are extents, or in conditions, n / 2, say wherever the statement has a point: that n is no less than
  // twice that, nor than one more. `extent`: of an array that it reads, too.
  std::vector<ir::Constraint> QuotientsOf(const ir::Each& each, Box& box,
                                          ir::Value extent = {}) const;
  // v in terms of values whose definition is not affine; `box` learns their ranges, beside what it knows.
  ir::Affine Describe(ir::Value v, Box& box) const;
  // The same for all of a form; of one in a statement, but what that defines itself.
  ir::Affine Describe(const ir::Affine& a, Box& box) const;
  ir::Affine Describe(const ir::Affine& a, const ir::Each& each, Box& box) const;
  // Of an integer: unless its definition says that it is not.
  bool MayBeNegative(ir::Value v) const;

 private:
  struct Known {
    ir::Affine form;  // of values whose definition is not affine
    Interval range;
  };
  struct Quotient {
    ir::Value dividend;
    int64_t by;  // > 0
  };
  void DefineAffine(ir::Value v, const ir::Affine& e);
  ir::Affine FormOf(ir::Value v) const;
  // Of one that is not 0: of max(a, 0) that of a.
  ir::Affine FormOfExtent(ir::Value extent) const;

  const ir::Function& f_;
  std::vector<Known> known_;                         // by value
  std::unordered_map<uint32_t, Quotient> divided_;   // by what it gives
  std::unordered_map<uint32_t, ir::Value> clamped_;  // by it: what it is where it is positive
};

}  // namespace pullback::analysis
