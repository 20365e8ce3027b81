// Integers that a function is given for what it could ask of its arrays: captured sizes.
#pragma once

#include "core/ir/ir.h"

namespace pullback::pipeline {

// In `copy`, a copy of function f of the module: a parameter that every call gives the extent of an array beside
// it is read from that array.
void ReadExtentParams(const ir::Module& module, uint32_t f, ir::Function& copy);

}  // namespace pullback::pipeline
