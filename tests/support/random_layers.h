// Random losses of layers over the rows of a matrix, each row of which is needed where it is made or next to that alone: a
// program that keeps no more than a few rows is always there.
#pragma once

#include <cstdint>
#include <string>

namespace pullback::testing {

// Declares f(x: [n, d]f64, w: [d, h]f64, a: [h, k]f64, b: [k, h]f64, v: [h]f64, u: [3]f64, y: [n]f64) -> f64. None of these is
// as large as a layer's rows, [n, h], where n and h are large.
std::string RandomLayersProgram(uint32_t seed);

}  // namespace pullback::testing
