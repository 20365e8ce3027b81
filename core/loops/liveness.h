// Where arrays and tapes of a function are used for the last time. Everything that counts
// references follows from it.
#pragma once

#include <set>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::loops {

struct BlockLiveness {
  std::set<ir::Value> in;                 // live at the start, parameters excepted
  std::set<ir::Value> out;                // live at the start of some successor
  std::vector<ir::Value> dead_params;     // never used
  std::vector<std::set<ir::Value>> dies;  // per instruction: operands last used here, and results
                                          // never used
  std::set<ir::Value> at_end;             // owned when the terminator runs
};

// Whether values of this type hold references.
inline bool IsCounted(ir::Type t) { return t.IsArray() || t.IsTape() || t.IsList(); }

std::vector<BlockLiveness> FindLiveness(const ir::Function& f);

}  // namespace pullback::loops
