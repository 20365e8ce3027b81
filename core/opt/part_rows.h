// Arrays whose rows two loops take, each its own part of them, as two arrays (part_rows.cc).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::opt {

struct PartedRows {
  uint32_t first_loop;  // its header
  ir::Value first;      // that its turns take rows of
  uint32_t second_loop;
  ir::Value second;
};

// What was one is two now; one a block at most. Of use only where both loops make their rows: `before` becomes what the function was
// if it is changed.
std::vector<PartedRows> PartRows(ir::Function& f, std::optional<ir::Function>& before);

}  // namespace pullback::opt
