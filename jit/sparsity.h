// The pattern of each block of a Jacobian or a Hessian, as JSON.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/pipeline/pipeline.h"

namespace pullback::jit {

// A row for each block: its result and parameter (names of the program's), whether it is dense, and where
// it is not, which elements may be other than 0:
//
//     {"result": 0, "parameter": "x", "dense": false,
//      "elements": "[%i, %i]", "points": "%i < %n", "where": ["..."]}
//
// Where a block is no single statement, or one that adds into an array, it is what can be told of it
// (core/ad/symbolic_pattern.h), which may be several such "pieces" (jit/pattern_text.h). Else `dense` is null if a
// sparse request finds its pattern when it runs (docs/api.md), or true: all elements are given.
// `elements` are visited for the `points` of a box; of these the ones that one of `where` holds for may be
// other than 0. INVALID_ARGUMENT, reason NO_SPARSITY, for other transforms.
// With `counts`, one for each block, a row has them too: "seeds": 3, "count": 28.
struct BlockCount {
  int64_t seeds, elements;
};
StatusOr<std::string> DescribeSparsity(const pipeline::Staged& staged,
                                       pipeline::Transform transform, const std::vector<bool>& wrt,
                                       const std::vector<BlockCount>& counts = {});

// Of what a sparse kernel gives, from number `first` of its results on.
std::vector<BlockCount> CountBlocks(const std::vector<Tensor>& results, size_t first);

}  // namespace pullback::jit
