// Random control flow over arrays and tapes, for the counting of references.
#pragma once

#include "tests/core/loops/random_statement.h"

namespace pullback::loops {

// Blocks that hand arrays to each other, change them, push and pop them and pass them to a function.
// Ends without a trap. Equal seeds give equal programs.
RandomProgram MakeRandomBlocks(uint64_t seed);

}  // namespace pullback::loops
