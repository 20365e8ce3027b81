// The shape of one node of the loop IR: how many operands and results it has, and of which types.
#pragma once

#include "core/loops/loops.h"

namespace pullback::loops {

// What is wrong; nullptr: nothing. Registers, blocks and functions that it names are there.
const char* WrongShape(const Module& module, const Function& f, const Node& node);

}  // namespace pullback::loops
