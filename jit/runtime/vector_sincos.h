// sin and cos on vectors as the parts of SLEEF's sincos, as the scalar ones are (core/base/math.cc). For the
// two files that are compiled for the CPUs that have such vectors: how a vector is passed depends on
// that. They include nothing else, so that no other code is made for such a CPU.
#pragma once

#define PB_VECTOR_SINCOS(type, element, lanes, suffix)                           \
  using Vector_##suffix [[gnu::vector_size(lanes * sizeof(element))]] = element; \
  struct Pair_##suffix {                                                         \
    Vector_##suffix sin, cos;                                                    \
  };                                                                             \
  extern "C" Pair_##suffix Sleef_finz_sincos##suffix(Vector_##suffix);           \
  extern "C" Vector_##suffix pb_vector_sin_##type##_##lanes(Vector_##suffix x) { \
    return Sleef_finz_sincos##suffix(x).sin;                                     \
  }                                                                              \
  extern "C" Vector_##suffix pb_vector_cos_##type##_##lanes(Vector_##suffix x) { \
    return Sleef_finz_sincos##suffix(x).cos;                                     \
  }
