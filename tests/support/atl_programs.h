// The examples of Bernstein et al. (sections 1, 2 and their prototype), as programs of one size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/tensor.h"

namespace pullback::testing {

struct AtlProgram {
  std::string name;
  std::string text;  // the entry is @f, with a scalar result
  std::vector<bool> wrt;
  std::vector<Tensor> (*arguments)(int64_t n);
  int order = 1;  // of the value's time and of its arguments, in n
};

const std::vector<AtlProgram>& AtlPrograms();

}  // namespace pullback::testing
