// Functions that give a result whatever they are given.
#pragma once

#include <cstdint>

#include "core/ir/ir.h"

namespace pullback::ir {

// Whether a call of the function ends, without a trap: no loops, no statements, no effects, few calls inside each other.
bool IsTotal(const Module& m, uint32_t callee);
// ir::MayTrap, but for calls of such functions.
bool MayTrap(const Inst& inst, const Function& f, const Module& m);

}  // namespace pullback::ir
