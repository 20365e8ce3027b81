// The one NaN that leaves a run: quiet, positive, without payload.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/tensor.h"

namespace pullback::jit {

// Every NaN among `bytes` bytes of elements, little-endian and at any alignment, becomes the canonical one.
// Other elements, and other types than floats, stay as they are.
void CanonicaliseNans(DType dtype, uint8_t* data, size_t bytes);

}  // namespace pullback::jit
