// Leaves of the API's types: tuples are flattened in order; a list is one leaf.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/base/lists.h"
#include "core/base/relation.h"
#include "core/base/tensor.h"
#include "core/ir/ir.h"

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

// Of a list, one of any record.
inline ir::Type ToIrType(const ApiType& leaf) {
  if (leaf.is_list) return ir::Type::List(0);
  const int rank = static_cast<int>(leaf.dims.size());
  return rank == 0 ? ir::Type::Scalar(leaf.dtype) : ir::Type::Array(leaf.dtype, rank);
}

inline bool IsTensor(const ApiType& type) { return !type.is_tuple && !type.is_list; }

inline bool HoldsRelation(const ApiType& type) {
  return IsRelation(type) || std::any_of(type.elements.begin(), type.elements.end(), HoldsRelation);
}

// Whether a leaf has a derivative.
inline bool IsActive(const ApiType& leaf, const ApiStructs& structs) {
  return leaf.is_list ? HoldsFloats(leaf, structs) : IsFloat(leaf.dtype);
}

}  // namespace pullback::jit
