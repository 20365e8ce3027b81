// Random programs that mean something: well typed, over vectors, matrices and index arrays, with
// comprehensions inside each other, brackets, branches, slices, products and calls. Numbers are
// small and whole, so that sums are exact in any order.
#pragma once

#include <cstdint>
#include <string>

namespace pullback::lang {

// Takes x: [n]f64, y: [m]f64, a: [n, m]f64, k: [n]i64, c: f64, p: i64; the entry is `f`.
std::string TypedProgram(uint64_t seed);

}  // namespace pullback::lang
