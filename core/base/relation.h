// Relations: which tuples of indices are related, as requests bring them and as kernels take them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/base/tensor.h"

namespace pullback {

// The arrays, all i64, that a relation of this arity is to a kernel, in order:
//   Domain        [n, m, …, 0], which has no elements: its extents are the relation's sizes
//   Coordinate(k) index k of every tuple; tuples in lexicographic order, none twice
//   Start(k)      [size of k + 1]: where the tuples with a given index k begin, when ordered by it
//   Order(k)      for k > 0: the numbers of the tuples, ordered by index k
struct RelationLayout {
  size_t arity;
  size_t Count() const { return 3 * arity; }
  size_t Domain() const { return 0; }
  size_t Coordinate(size_t axis) const { return 1 + axis; }
  size_t Start(size_t axis) const { return 1 + arity + axis; }
  size_t Order(size_t axis) const { return 2 * arity + axis; }
};

// A type of the API that is a relation: a tuple that has sizes.
inline bool IsRelation(const ApiType& t) { return t.is_tuple && !t.dims.empty(); }
ApiType RelationApiType(std::vector<std::string> sizes);

// A value of such a type: a tuple of the sizes [arity]i64 and the coordinates [tuples]i64, axis by axis,
// tuples in any order.
ApiValue RelationFromCoo(const std::vector<int64_t>& sizes,
                         const std::vector<std::vector<int64_t>>& coordinates);
// Of arity 2: row i is related to columns[row_starts[i]], …, up to row_starts[i + 1].
StatusOr<ApiValue> RelationFromCsr(const std::vector<int64_t>& sizes,
                                   const std::vector<int64_t>& row_starts,
                                   const std::vector<int64_t>& columns);

// What is wrong with the value, "" where nothing is; the first tuple with an index out of range is named.
std::string FaultOfRelation(size_t arity, const ApiValue& value);

// The arrays in the order of RelationLayout. They point into the value where its tuples are in order
// already, otherwise at `made`; what is not needed is an array without elements.
struct RelationLeaves {
  std::vector<Tensor> made;
  std::vector<const Tensor*> all;
};
// Of a value without fault. `needed`: by array; empty: all of them. O(tuples + sizes) time.
RelationLeaves MakeRelationLeaves(const ApiValue& value, const std::vector<bool>& needed = {});
// Bytes that this takes at most.
int64_t RelationBytes(const ApiValue& value, const std::vector<bool>& needed = {});
// Copies of the arrays.
std::vector<Tensor> RelationArrays(const ApiValue& value);

}  // namespace pullback
