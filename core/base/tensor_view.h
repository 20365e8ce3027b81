// A tensor that lies elsewhere: in a message, in a value.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "core/base/tensor.h"

namespace pullback {

// Valid as long as what it was made of. Shape and data as of Tensor.
struct TensorView {
  DType dtype = DType::kF64;
  std::span<const int64_t> shape;
  std::span<const uint8_t> data;  // aligned for its elements

  TensorView() = default;
  TensorView(const Tensor& t) : dtype(t.dtype), shape(t.shape), data(t.data) {}  // NOLINT

  template <typename T>
  T At(size_t i) const {
    T v;
    std::memcpy(&v, data.data() + i * sizeof(T), sizeof(T));
    return v;
  }
  Tensor Copy() const { return {dtype, {shape.begin(), shape.end()}, {data.begin(), data.end()}}; }
};

}  // namespace pullback
