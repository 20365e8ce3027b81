// Random programs of nested loops that fill arrays: some whose turns are apart, some whose turns need each other.
#pragma once

#include <cstdint>
#include <string>

namespace pullback::testing {

// Declares f(x: [n, d]f64, w: [d, h]f64, v: [h]f64, t: [n]i64) -> f64. Each t[i] is from 0 to n - 1. No turn traps.
std::string RandomFillsProgram(uint32_t seed);

}  // namespace pullback::testing
