// How operators and comprehensions are written.
#pragma once

#include <string_view>

#include "core/lang/ast.h"

namespace pullback::lang {

std::string_view Spelling(BinaryOp op);
std::string_view Spelling(Comprehension c);

// How tightly an operator binds: 0 `or` … 5 `*`, 6 unary minus, 7 `**`, 8 what needs no brackets.
inline constexpr int kOrBinding = 0, kNotBinding = 2, kCompareBinding = 3, kSumBinding = 4;
inline constexpr int kUnaryBinding = 6, kPowerBinding = 7, kPrimaryBinding = 8;
int Binding(BinaryOp op);

}  // namespace pullback::lang
