// Arrays of random numbers as arguments.
#pragma once

#include <random>
#include <utility>
#include <vector>

#include "tests/jit/engine/fake_backend.h"

namespace pullback::jit {

// Of [-1, 1), the same for every run with this seed.
template <typename T = double>
ApiValue Random(std::vector<int64_t> shape, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<T> number(-1, 1);
  int64_t count = 1;
  for (const int64_t n : shape) count *= n;
  std::vector<T> values(static_cast<size_t>(count));
  for (T& v : values) v = number(random);
  return Leaf(Tensor::Of<T>(sizeof(T) == 8 ? DType::kF64 : DType::kF32, std::move(shape), values));
}

}  // namespace pullback::jit
