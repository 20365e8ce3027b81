// An array that nothing but its loads and stores knows is the only reference to itself: %b = unique %a is %a.
#pragma once

#include "core/loops/loops.h"

namespace pullback::loops {

// Of arrays that the function makes.
void DropUniques(Function& f);

}  // namespace pullback::loops
