// Random programs whose loops fill arrays a row in each turn, from rows of turns before, and read them row by row behind the loop, or
// as a whole.
#pragma once

#include <cstdint>
#include <string>

namespace pullback::testing {

// Declares f(x: [n, d]f64, w: [d, h]f64, v: [h]f64, t: [n]i64) -> f64. Each t[i] is from 0 to n - 1. Where n is 1 some trap.
std::string RandomStreamsProgram(uint32_t seed);

}  // namespace pullback::testing
