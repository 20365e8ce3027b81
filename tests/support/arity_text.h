// A function of so many arrays, for tests and benchmarks of mixed mode.
#pragma once

#include <string>

namespace pullback::testing {

// f of `arity` arrays [m, n] and of s, which says for every element, or (uniform) for every row, which of three arms
// is taken. Without arguments: benchmarks have their own.
std::string ArityText(int arity, bool uniform, const std::string& dtype);

}  // namespace pullback::testing
