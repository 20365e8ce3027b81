// In which order statements search, and scan, along an index.
#pragma once

#include <optional>

#include "core/ir/ir.h"

namespace pullback::loops {

// Where no loops become one over rows, a statement that searches along an index for each point of the others runs over
// that index last: the terms of an element come one after the other, in one cell (best.h), and on a device a thread has
// an element. So does a scan over an index, which has one state then, and a thread of its own for each point of the others.
// Nothing: there is none that does not already.
std::optional<ir::Function> SearchInnermost(const ir::Function& f);

}  // namespace pullback::loops
