// Compiled with -mavx2 -mfma; called on CPUs that have both.
#include "jit/runtime/vector_sincos.h"

PB_VECTOR_SINCOS(f64, double, 2, d2_u10avx2128)
PB_VECTOR_SINCOS(f64, double, 4, d4_u10avx2)
PB_VECTOR_SINCOS(f32, float, 4, f4_u10avx2128)
PB_VECTOR_SINCOS(f32, float, 8, f8_u10avx2)
