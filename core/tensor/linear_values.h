// What is linear in a number, by induction over a list of instructions: cotangents and tangents, which smul multiplies, so
// that 0 stays 0. (Products of the program are none: infinity times 0 is NaN there.)
#pragma once

#include <optional>
#include <set>

#include "core/ir/ir.h"

namespace pullback::tensor {

class LinearValues {
 public:
  // `zeros`: constants that are 0, which are linear, too.
  LinearValues(ir::Value number, const std::set<ir::Value>& zeros)
      : values_({number}), zeros_(&zeros) {}

  bool Holds(ir::Value v) const {
    return values_.contains(v) || (around_ != nullptr && around_->Holds(v));
  }
  // The instruction's results join if they are linear, or it reads nothing that is. False: it is neither.
  bool Add(const ir::Inst& inst);
  // Something linear, or adds to it.
  bool Reads(const ir::Inst& inst) const;

 private:
  // Of a statement's body.
  explicit LinearValues(const LinearValues* around) : zeros_(around->zeros_), around_(around) {}

  bool IsLinear(const ir::Inst& inst) const;
  bool AddStatement(const ir::Inst& inst);
  bool Fits(ir::Value v) const { return Holds(v) || zeros_->contains(v) || own_zeros_.contains(v); }

  std::set<ir::Value> values_, own_zeros_;
  const std::set<ir::Value>* zeros_;
  const LinearValues* around_ = nullptr;
};

}  // namespace pullback::tensor
