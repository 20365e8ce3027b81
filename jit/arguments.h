// Inputs of a call, checked against a text's signature and flattened.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/status.h"
#include "core/base/tensor.h"
#include "jit/engine.h"
#include "jit/key.h"

namespace pullback::jit {

// Leaves in the order of the kernel's slots. They point into the inputs.
struct InputLeaves {
  std::vector<const Tensor*> params;
  std::vector<const Tensor*> seeds;
  std::vector<size_t> first;  // of each parameter: its first leaf in params
};

// Checks structure, dtypes, ranks, bytes, bools and sizes. Errors as Engine::Run. Keeps the capacity of
// `leaves`, so that a warm call allocates nothing.
Status CollectInputs(const TextView& view, const Derivation& derivation, const Inputs& inputs,
                     InputLeaves* leaves);

// A size inside a struct of the result is known after the run only: whether the seed of a vjp has the
// shape of the `value` that came out. SIZE_MISMATCH.
Status CheckCotangent(const TextView& view, const InputLeaves& leaves, const ApiValue& value);

}  // namespace pullback::jit
