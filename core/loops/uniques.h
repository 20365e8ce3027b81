// An array that was made here and never retained has one reference: %b = unique %a is %a.
#pragma once

#include "core/loops/loops.h"

namespace pullback::loops {

// Of arrays that the function makes.
void DropUniques(Function& f);

}  // namespace pullback::loops
