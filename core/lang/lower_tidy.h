// After lowering: what it wrote and did not need goes away, so that the IR reads like the program.
#pragma once

#include "core/ir/ir.h"

namespace pullback::lang {

// Blocks in reverse postorder without unreachable ones, jumps through empty blocks shortened, pure
// instructions without readers gone (in bodies also element reads), values numbered by definition;
// functions that the entry does not reach gone. The entry is function 0.
void Tidy(ir::Module& module);

}  // namespace pullback::lang
