// How operators and comprehensions are written.
#pragma once

#include <string_view>

#include "core/lang/ast.h"

namespace pullback::lang {

std::string_view Spelling(BinaryOp op);
std::string_view Spelling(Comprehension c);

// How tightly an operator binds: -2 what is bracketed as any operand (`if`, lambdas), -1 `with`, 0 `or` … 5 `*`, 6 unary
// minus, 7 `**`, 8 literals, 9 what a postfix may follow.
inline constexpr int kAnyBinding = -2, kWithBinding = -1;
inline constexpr int kOrBinding = 0, kNotBinding = 2, kCompareBinding = 3, kSumBinding = 4;
inline constexpr int kUnaryBinding = 6, kPowerBinding = 7, kPrimaryBinding = 8, kPostfixBinding = 9;
int Binding(BinaryOp op);

}  // namespace pullback::lang
