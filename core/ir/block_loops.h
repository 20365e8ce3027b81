// Which loops of blocks a block is in.
#pragma once

#include <set>
#include <vector>

#include "core/ir/dominance.h"

namespace pullback::ir {

// By block: the headers of the natural loops that hold it.
std::vector<std::set<uint32_t>> LoopsAround(const Function& f, const Dominators& dominators);

}  // namespace pullback::ir
