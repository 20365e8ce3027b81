// Elements that are clipped, select(x <= 0, 0, x), and such as are only asked whether they are positive.
#pragma once

#include "core/ir/ir.h"
#include "core/tensor/block_values.h"

namespace pullback::tensor {

class SignTests {
 public:
  explicit SignTests(const ir::Function& f) : values_(f) {}

  // What makes the value that `clip`, of the statement's body, clips; nullptr: it clips none, or under a condition.
  const ir::Inst* ClippedBy(const ir::Each& each, const ir::Inst& clip) const;
  // Whether the value is nothing but compared with 0 from above.
  bool AsksForSign(const ir::Each& each, ir::Value v) const;
  const BlockValues& values() const { return values_; }

 private:
  bool IsZero(const ir::Each& each, ir::Value v) const;

  const BlockValues values_;
};

}  // namespace pullback::tensor
