// Numbers of values in the order of the text.
#pragma once

#include "core/ir/ir.h"

namespace pullback::ir {

// Numbers the values anew: those that something defines, in the order of the text; of a statement the indices, what
// its body defines, then its results. What passes keep by value lies together again.
void Renumber(Function& f);

}  // namespace pullback::ir
