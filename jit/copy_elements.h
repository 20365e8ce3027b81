// Elements out of a run: charged to it, stopped with it, their NaNs canonical.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/tensor.h"
#include "jit/canonical_nan.h"
#include "jit/copy_budget.h"
#include "jit/runtime/context.h"

namespace pullback::jit {

// Copied between two looks at `stop`, and still in the cache when its NaNs are looked at.
inline constexpr size_t kCopySlice = size_t{256} << 10;

inline uint8_t* Append(std::vector<uint8_t>* to, const uint8_t* from, size_t size) {
  to->insert(to->end(), from, from + size);
  return to->data() + to->size() - size;
}
inline uint8_t* Append(std::string* to, const uint8_t* from, size_t size) {
  to->append(reinterpret_cast<const char*>(from), size);
  return reinterpret_cast<uint8_t*>(to->data()) + to->size() - size;
}

// A result slot. Slots are little-endian words: what is narrower lies in the low bytes.
template <typename Bytes>
void CopyScalar(DType dtype, uint64_t slot, Bytes* to) {
  Append(to, reinterpret_cast<const uint8_t*>(&slot), DTypeSize(dtype));
}

// The elements of an array that the budget was charged for.
template <typename Bytes>
void CopyElements(CopyBudget& budget, DType dtype, const Array& a, Bytes* to) {
  const auto* from = static_cast<const uint8_t*>(a.data);
  const auto size = static_cast<size_t>(a.bytes);
  to->reserve(size);
  for (size_t at = 0; at < size && budget.Live(); at += kCopySlice) {
    const size_t n = std::min(kCopySlice, size - at);
    CanonicaliseNans(dtype, Append(to, from + at, n), n);
  }
}

// Inputs that are results are pinned, and never the run's to free.
inline void ReleaseResult(RunContext* context, Array* a) {
  if (--a->refs == 0) pb_free(context, a);
}

}  // namespace pullback::jit
