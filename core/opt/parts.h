// What the results of a statement have of its arithmetic: a `gen` of tuples or structs is one statement with a
// result for each part.
#pragma once

#include <vector>

#include "core/ir/ir.h"

namespace pullback::opt {

class Parts {
 public:
  Parts(const ir::Function& f, const ir::Each& each);

  // How many calls and operations on floats the result needs.
  size_t WorkOf(size_t result) const { return work_[result].size(); }
  // The results that need some of what this one needs, or of what such a result needs; itself first.
  std::vector<size_t> Sharing(size_t result) const;

 private:
  std::vector<std::vector<size_t>> work_;  // by result: places in the body, ascending
};

}  // namespace pullback::opt
