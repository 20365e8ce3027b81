// Sparse blocks of Jacobians and Hessians, as answers carry them: COO, a list of elements.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/tensor.h"

namespace pullback {

// The elements that may be other than 0, in lexicographic order of their coordinates, none twice.
struct SparseTensor {
  std::vector<int64_t> shape;
  std::vector<std::vector<int64_t>> coordinates;  // by axis, by element
  Tensor elements;                                // of rank 1
  int64_t seeds =
      0;  // tangents or cotangents that were run for it: the colours of its columns or rows
};

// A block travels as a tuple of the seeds i64, the shape [axes]i64, a tuple of the coordinates [elements]i64 by
// axis, and the elements. Its type, of the block by a parameter's leaf of a result's leaf:
ApiType SparseApiType(const ApiType& result, const ApiType& parameter);
// Nothing where the value is no such tuple.
std::optional<SparseTensor> SparseFromTuple(const ApiValue& value);
// Row-major, zeros elsewhere.
Tensor DenseFromSparse(const SparseTensor& sparse);

}  // namespace pullback
