// How long a program is.
#pragma once

#include <cstddef>

#include "core/ir/ir.h"

namespace pullback::ir {

// Instructions, with those of statements' bodies; without terminators.
size_t CountInsts(const Function& f);
size_t CountInsts(const Module& m);

}  // namespace pullback::ir
