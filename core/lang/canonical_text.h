// The canonical text of one function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/lang/ast.h"

namespace pullback::lang {

// `self` is the function's canonical number, `number[i]` that of function i of the program. One
// line per statement, every compound expression in brackets; locals are v<index>, functions
// f<number>, and literals and Iverson brackets, whose types follow from what is around them, carry
// their type. Different trees, up to names and positions, give different texts.
std::string CanonicalText(const Function& f, uint32_t self, const std::vector<uint32_t>& number);

}  // namespace pullback::lang
