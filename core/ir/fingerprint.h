// Whether a pass has changed anything, found out by looking: it costs one walk over the text, where verifying or
// simplifying again what did not change costs a dozen. Collisions are as likely as 64 bits make them, so nothing may
// depend on it that has to hold; hints for the printer are left out.
#pragma once

#include <cstdint>

#include "core/ir/ir.h"

namespace pullback::ir {

// Of blocks, types and rules.
uint64_t Fingerprint(const Function& f);
// Of all functions, of records, and of which is the entry.
uint64_t Fingerprint(const Module& m);

}  // namespace pullback::ir
