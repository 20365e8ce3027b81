// Arrays that may be larger than any of the function's own.
#pragma once

#include <set>

#include "core/ir/ir.h"

namespace pullback::tensor {

class LargeArrays {
 public:
  explicit LargeArrays(const ir::Function& f);

  // Whether the result's array has more axes than those that the function gets, or one that is neither an extent of an
  // array nor short.
  bool Is(const ir::EachResult& r) const;
  // Of an array, or short; not negative.
  bool IsSmall(ir::Value extent) const { return small_.contains(extent); }

 private:
  int own_rank_ = 0;
  std::set<ir::Value> small_;  // extents of arrays, and short ones
};

}  // namespace pullback::tensor
