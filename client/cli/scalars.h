// One JSON scalar to one element, and back.
#pragma once

#include <cstdint>
#include <string>

#include "client/cli/json.h"
#include "core/base/tensor.h"

namespace pullback::cli {

// Writes the element's bytes to `out`. What is wrong, or an empty string.
std::string WriteElement(const Json& json, DType dtype, uint8_t* out);

Json ReadElement(const Tensor& tensor, int64_t index);

}  // namespace pullback::cli
