// An array of which each turn of a loop stores its own element and then reads it is no array but that value.
#pragma once

#include "core/loops/loops.h"

namespace pullback::loops {

// All loads and stores of `array` are in `loop` and of its turn's element. False: one store does not come in front of
// all loads, and nothing has been done. Else nothing but its Alloc and Release is left of it.
bool ForwardElement(const Function& f, Node& loop, Reg array);

}  // namespace pullback::loops
