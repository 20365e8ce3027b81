// What of a function a kernel can run at all (offload.h).
#pragma once

#include <string>

#include "core/loops/loops.h"

namespace pullback::loops {

// What is not for a kernel; empty: nothing. `depth`: of calls.
std::string UnfitNode(const Module& module, const Node& n, int depth);
// Whether a kernel may call it.
bool IsFitFunction(const Module& module, uint32_t function, int depth);
bool MayTrap(const Module& module, const Node& n);

}  // namespace pullback::loops
