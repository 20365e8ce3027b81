// Random IR programs over lists that never trap.
#pragma once

#include <cstdint>
#include <string>

namespace pullback::testing {

// A program @f(x: f64, a: [*]f64) -> (f64, [*]f64), `a` of two elements, with a loop whose turns keep every
// list at the length that it has. The records come first, then `fn @f`.
std::string RandomListProgram(uint32_t seed);

}  // namespace pullback::testing
