// An array of which each turn of a loop uses its own row, and nothing else does, becomes a row.
#pragma once

#include <vector>

#include "core/ir/known_extents.h"
#include "core/loops/loops.h"

namespace pullback::loops {

// `alloc` makes the array; of one axis, it becomes an element. All loads and stores of it are in `loop` and of its
// turn's row (Node::rows). `known`: of the function. What has to come in front of `alloc` is returned.
std::vector<Node> ShrinkToRow(Function& f, Node& alloc, Node& loop, const ir::KnownExtents& known);

}  // namespace pullback::loops
