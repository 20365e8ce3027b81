// Compiled with -mavx512f; called on CPUs that have it.
#include "jit/runtime/vector_sincos.h"

PB_VECTOR_SINCOS(f64, double, 8, d8_u10avx512f)
PB_VECTOR_SINCOS(f32, float, 16, f16_u10avx512f)
