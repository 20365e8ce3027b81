#include "jit/canonical_nan.h"

#include <cstring>

namespace pullback::jit {
namespace {

template <typename Float>
Float Load(const uint8_t* data) {
  Float value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

// Whether there is any: the common answer, no, has to be quick.
template <typename Float>
[[gnu::always_inline]] inline bool HasNanIn(const uint8_t* data, size_t n) {
  bool found = false;
  for (size_t i = 0; i < n; ++i) {
    const auto value = Load<Float>(data + i * sizeof(Float));
    found |= value != value;
  }
  return found;
}
#if defined(__x86_64__)
template <typename Float>
[[gnu::target("avx2")]] bool HasNanAvx2(const uint8_t* data, size_t n) {
  return HasNanIn<Float>(data, n);
}
template <typename Float>
bool HasNan(const uint8_t* data, size_t n) {
  static const bool avx2 = __builtin_cpu_supports("avx2") != 0;
  return avx2 ? HasNanAvx2<Float>(data, n) : HasNanIn<Float>(data, n);
}
#else
template <typename Float>
bool HasNan(const uint8_t* data, size_t n) {
  return HasNanIn<Float>(data, n);
}
#endif

template <typename Float, typename Bits>
void CanonicaliseAs(Bits nan, uint8_t* data, size_t bytes) {
  const size_t n = bytes / sizeof(Float);
  if (!HasNan<Float>(data, n)) return;
  for (size_t i = 0; i < n; ++i) {
    uint8_t* const at = data + i * sizeof(Float);
    const auto value = Load<Float>(at);
    if (value != value) std::memcpy(at, &nan, sizeof nan);
  }
}

}  // namespace

void CanonicaliseNans(DType dtype, uint8_t* data, size_t bytes) {
  if (dtype == DType::kF64) CanonicaliseAs<double>(uint64_t{0x7ff8000000000000}, data, bytes);
  if (dtype == DType::kF32) CanonicaliseAs<float>(uint32_t{0x7fc00000}, data, bytes);
}

}  // namespace pullback::jit
