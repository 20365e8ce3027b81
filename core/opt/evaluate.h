#pragma once

#include <optional>

#include "core/opt/definitions.h"

namespace pullback::opt {

// The payload of what a scalar instruction gives, where its operands are constants and it is computed here
// exactly as by the machine.
std::optional<uint64_t> Evaluate(const ir::Function& f, const ir::Inst& inst,
                                 const Definitions& defs);

}  // namespace pullback::opt
