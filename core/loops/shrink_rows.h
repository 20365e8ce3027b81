// An array of which each turn of a loop uses its own row, and nothing else does, becomes a row.
#pragma once

#include <set>
#include <vector>

#include "core/loops/loops.h"

namespace pullback::loops {

// `alloc` makes the array; of one axis, it becomes an element. All loads and stores of it are in `loop` and of its
// turn's row (Node::rows). `zeros`: registers that are 0. What has to come in front of `alloc` is returned.
std::vector<Node> ShrinkToRow(Function& f, Node& alloc, Node& loop, const std::set<Reg>& zeros);

}  // namespace pullback::loops
