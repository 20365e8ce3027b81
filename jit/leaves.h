// Leaves of the API's types: tuples are flattened in order.
#pragma once

#include <cstddef>

#include "core/base/tensor.h"

namespace pullback::jit {

inline bool IsFloat(DType t) { return t == DType::kF64 || t == DType::kF32; }

template <typename Fn>
void ForEachLeaf(const ApiType& type, const Fn& fn) {
  if (!type.is_tuple) return fn(type);
  for (const ApiType& element : type.elements) ForEachLeaf(element, fn);
}

inline size_t LeafCount(const ApiType& type) {
  size_t count = 0;
  ForEachLeaf(type, [&](const ApiType&) { ++count; });
  return count;
}

inline bool HasFloatLeaf(const ApiType& type) {
  bool found = false;
  ForEachLeaf(type, [&](const ApiType& leaf) { found |= IsFloat(leaf.dtype); });
  return found;
}

}  // namespace pullback::jit
