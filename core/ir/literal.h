// Scalar constants as text: `2.0` f64, `2.0f` f32, `2` i64, `true`. A NaN other than the canonical
// one prints as its bits, `0x7ff8000000000001` or `0x7fc00001f`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/ir/ir.h"

namespace pullback::ir {

struct Literal {
  DType type = DType::kI64;
  uint64_t bits = 0;  // as Inst::bits of a Const
};

// The payload of a float constant of that type.
uint64_t FloatBits(DType type, double value);

std::string LiteralText(Literal c);
// An unsigned literal (the sign is a token of its own); nullopt when `text` is not one.
std::optional<Literal> ParseLiteral(std::string_view text);
Literal Negate(Literal c);  // flips the sign bit of a float; wraps an integer

}  // namespace pullback::ir
