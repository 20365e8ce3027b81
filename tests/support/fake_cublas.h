// A cuBLAS without a device, beside the fake driver: it computes on the host, on memory of that driver.
#pragma once

#include "jit/cuda/cublas.h"

namespace pullback::testing {

// NO_BLAS unless TheFakeDriver().cublas.
StatusOr<jit::cuda::Cublas> LoadFakeCublas();
int64_t LiveCublasHandles();

}  // namespace pullback::testing
