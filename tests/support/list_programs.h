// IR programs with lists inside and plain arguments: for every tier and mode.
#pragma once

#include <string>
#include <vector>

#include "core/base/tensor.h"

namespace pullback::testing {

struct ListProgram {
  const char* name;
  std::string text;  // the records, then `fn @f` and what it calls
  std::vector<Tensor> args;
};

const std::vector<ListProgram>& ListPrograms();
// Likewise with boxes.
const std::vector<ListProgram>& BoxPrograms();

}  // namespace pullback::testing
