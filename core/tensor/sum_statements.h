// Sums of two arrays as statements, as long as a pass looks at a block: how they are read is seen then, and what makes
// their terms can become part of them.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::tensor {

class SumStatements {
 public:
  using ShapeTest = std::function<bool(const ir::Values&)>;
  using StatementTest = std::function<bool(const ir::Inst&)>;

  // Of arrays of several axes that statements of the block make of one shape, if that is `wanted`.
  SumStatements(ir::Function& f, std::vector<ir::Inst>& insts, const ShapeTest& wanted);
  bool Has(ir::Value sum) const { return sums_.contains(sum); }
  // Those that shall not stay statements become add_arrays again, as they were.
  void PutBack(std::vector<ir::Inst>& insts, const StatementTest& stays);

 private:
  std::map<ir::Value, ir::Inst> sums_;  // by what they make
};

}  // namespace pullback::tensor
