#include "core/base/sparse.h"

#include <utility>

namespace pullback {
namespace {

ApiType ArrayType(DType dtype, std::vector<std::string> dims) {
  ApiType type;
  type.dtype = dtype;
  type.dims = std::move(dims);
  return type;
}

bool IsVector(const ApiValue& v, DType dtype) {
  return !v.is_tuple && !v.list && v.tensor.dtype == dtype && v.tensor.shape.size() == 1;
}

std::vector<int64_t> Integers(const Tensor& t) {
  std::vector<int64_t> out(static_cast<size_t>(t.ElementCount()));
  if (!out.empty()) std::memcpy(out.data(), t.data.data(), t.data.size());
  return out;
}

}  // namespace

ApiType SparseApiType(const ApiType& result, const ApiType& parameter) {
  ApiType type, coordinates;
  coordinates.is_tuple = type.is_tuple = true;
  coordinates.elements.assign(result.dims.size() + parameter.dims.size(),
                              ArrayType(DType::kI64, {"elements"}));
  type.elements = {ArrayType(DType::kI64, {}), ArrayType(DType::kI64, {"axes"}), coordinates,
                   ArrayType(parameter.dtype, {"elements"})};
  type.struct_name = "Sparse";
  type.field_names = {"seeds", "shape", "coordinates", "elements"};
  return type;
}

std::optional<SparseTensor> SparseFromTuple(const ApiValue& value) {
  const std::vector<ApiValue>& parts = value.elements;
  if (!value.is_tuple || parts.size() != 4 || !IsVector(parts[1], DType::kI64) ||
      !parts[2].is_tuple)
    return std::nullopt;
  const Tensor& seeds = parts[0].tensor;
  const auto rank = static_cast<size_t>(parts[1].tensor.ElementCount());
  if (parts[0].is_tuple || seeds.dtype != DType::kI64 || !seeds.shape.empty() ||
      parts[2].elements.size() != rank || !IsVector(parts[3], parts[3].tensor.dtype))
    return std::nullopt;
  SparseTensor sparse{Integers(parts[1].tensor), {}, parts[3].tensor, seeds.At<int64_t>(0)};
  for (const ApiValue& axis : parts[2].elements) {
    if (!IsVector(axis, DType::kI64) || axis.tensor.shape != sparse.elements.shape)
      return std::nullopt;
    sparse.coordinates.push_back(Integers(axis.tensor));
  }
  return sparse;
}

Tensor DenseFromSparse(const SparseTensor& sparse) {
  Tensor dense{sparse.elements.dtype, sparse.shape, {}};
  const size_t size = DTypeSize(dense.dtype);
  dense.data.resize(static_cast<size_t>(dense.ElementCount()) * size);
  for (size_t e = 0; e < static_cast<size_t>(sparse.elements.ElementCount()); ++e) {
    int64_t flat = 0;
    for (size_t axis = 0; axis < sparse.shape.size(); ++axis)
      flat = flat * sparse.shape[axis] + sparse.coordinates[axis][e];
    std::memcpy(dense.data.data() + static_cast<size_t>(flat) * size,
                sparse.elements.data.data() + e * size, size);
  }
  return dense;
}

}  // namespace pullback
