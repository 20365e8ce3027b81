// Inputs of a call, checked against a text's signature and flattened.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "core/base/relation.h"
#include "core/base/status.h"
#include "core/base/tensor_view.h"
#include "jit/engine.h"
#include "jit/key.h"
#include "jit/list_input.h"

namespace pullback::jit {

// Leaves in the order of the kernel's slots. They point into the inputs.
struct InputLeaves {
  std::vector<TensorView> params;
  std::vector<TensorView> seeds;
  std::deque<RelationLeaves> relations;  // what relations were made into
  int64_t relation_bytes = 0;            // what they took
  std::vector<ListInput> lists;  // by slot; among params and seeds stands a tensor in their place
};

// Checks structure, dtypes, ranks, bytes, bools and sizes. Errors as Engine::Run; relations may take
// `memory_bytes`, and have no arrays among the parameters that the code does not read (`reads`, by leaf;
// empty: it reads all). Keeps the capacity of
// `leaves`, so that a warm call allocates nothing.
Status CollectInputs(const TextView& view, const Derivation& derivation, const Inputs& inputs,
                     const std::vector<bool>& reads, int64_t memory_bytes, InputLeaves* leaves);
// The same of a kernel that RunsOnTensors.
Status CollectInputs(const TextView& view, const Derivation& derivation, const TensorInputs& inputs,
                     InputLeaves* leaves);

// Sizes inside structs and lists of the result are known after the run only, and those that divide by zero where
// the program does not: whether the seed of a vjp, as collected, has the shape of the `value` that came out.
// SIZE_MISMATCH.
Status CheckCotangent(const TextView& view, const ApiValue& seed, const ApiValue& value);
Status CheckCotangent(const TextView& view, const TensorView& seed, std::span<const int64_t> shape);

}  // namespace pullback::jit
