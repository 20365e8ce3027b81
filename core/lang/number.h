// Number literals: scanning and the shortest spelling that reads back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/tensor.h"

namespace pullback::lang {

struct Number {
  size_t length = 0;
  bool is_float = false;
  bool has_suffix = false;
  DType suffix = DType::kF64;
  uint64_t int_value = 0;  // at most 2^63
  double float_value = 0;  // already rounded to f32 where the suffix says so
  std::string error;       // empty if the literal is good
};
// The literal at the start of `text`, which starts with a digit. `plain`: digits only.
Number ScanNumber(std::string_view text, bool plain);

// "1.0", "1e-9", "0.1": the shortest that reads back as this value of type f64 or f32; always with
// a point or an exponent.
std::string SpellFloat(double value, DType type);

}  // namespace pullback::lang
