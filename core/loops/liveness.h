// Where arrays and tapes of a function are used for the last time. Everything that counts
// references follows from it.
#pragma once

#include <algorithm>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::loops {

// By number, each once.
using SortedValues = std::vector<ir::Value>;
inline bool Contains(const SortedValues& values, ir::Value v) {
  return std::binary_search(values.begin(), values.end(), v);
}

struct BlockLiveness {
  SortedValues in;                     // live at the start, parameters excepted
  std::vector<ir::Value> dead_params;  // never used
  std::vector<SortedValues> dies;      // per instruction: operands last used here, and results
                                       // never used
  SortedValues at_end;                 // owned when the terminator runs
};

// Whether values of this type hold references.
inline bool IsCounted(ir::Type t) { return t.IsArray() || t.IsTape() || t.IsList(); }

std::vector<BlockLiveness> FindLiveness(const ir::Function& f);

}  // namespace pullback::loops
