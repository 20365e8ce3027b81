#include "proto/values.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace pullback::wire {
namespace {

// DType's numbers are the protocol's.
static_assert(static_cast<int>(DType::kF64) == v1::DTYPE_F64);
static_assert(static_cast<int>(DType::kF32) == v1::DTYPE_F32);
static_assert(static_cast<int>(DType::kI64) == v1::DTYPE_I64);
static_assert(static_cast<int>(DType::kBool) == v1::DTYPE_BOOL);

// Bytes of a tensor; none where a product of extents overflows, even beside an extent of 0.
std::optional<uint64_t> ByteCount(const Tensor& tensor) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  uint64_t bytes = DTypeSize(tensor.dtype);
  bool empty = false;
  for (int64_t extent : tensor.shape) {
    if (extent == 0) {
      empty = true;
    } else if (bytes > kMost / static_cast<uint64_t>(extent)) {
      return std::nullopt;
    } else {
      bytes *= static_cast<uint64_t>(extent);
    }
  }
  return empty ? 0 : bytes;
}

std::optional<Fault> DecodeTensor(const v1::Tensor& message, Tensor* tensor) {
  if (message.dtype() < v1::DTYPE_F64 || message.dtype() > v1::DTYPE_BOOL) {
    return Fault{".dtype", "no such dtype: " + std::to_string(message.dtype())};
  }
  tensor->dtype = static_cast<DType>(message.dtype());
  tensor->shape.assign(message.shape().begin(), message.shape().end());
  for (int64_t extent : tensor->shape) {
    if (extent < 0) return Fault{".shape", "negative extent " + std::to_string(extent)};
  }
  const auto bytes = ByteCount(*tensor);
  if (!bytes) return Fault{".shape", "the extents' product is too large"};
  const std::string& data = message.data();
  if (data.size() != *bytes) {
    return Fault{".data", "expected " + std::to_string(*bytes) +
                              " bytes for this dtype and shape, got " +
                              std::to_string(data.size())};
  }
  const bool is_bool = tensor->dtype == DType::kBool;
  if (is_bool && std::any_of(data.begin(), data.end(), [](char c) { return (c & ~1) != 0; })) {
    return Fault{".data", "a bool is a byte of 0 or 1"};
  }
  tensor->data.assign(data.begin(), data.end());
  return std::nullopt;
}

std::optional<Fault> DecodeTuple(const v1::Tuple& message, ApiValue* value) {
  value->is_tuple = true;
  value->elements.resize(static_cast<size_t>(message.elements_size()));
  for (int i = 0; i < message.elements_size(); ++i) {
    auto fault = DecodeValue(message.elements(i), &value->elements[static_cast<size_t>(i)]);
    if (!fault) continue;
    fault->path.insert(0, ".tuple.elements[" + std::to_string(i) + "]");
    return fault;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Fault> DecodeValue(const v1::Value& message, ApiValue* value) {
  switch (message.kind_case()) {
    case v1::Value::kTuple: return DecodeTuple(message.tuple(), value);
    case v1::Value::kTensor: {
      auto fault = DecodeTensor(message.tensor(), &value->tensor);
      if (fault) fault->path.insert(0, ".tensor");
      return fault;
    }
    case v1::Value::KIND_NOT_SET: break;
  }
  return Fault{"", "neither a tensor nor a tuple"};
}

void EncodeValue(const ApiValue& value, v1::Value* message) {
  if (value.is_tuple) {
    auto* elements = message->mutable_tuple()->mutable_elements();
    elements->Reserve(static_cast<int>(value.elements.size()));
    for (const ApiValue& element : value.elements) EncodeValue(element, elements->Add());
    return;
  }
  v1::Tensor* tensor = message->mutable_tensor();
  tensor->set_dtype(static_cast<v1::DType>(value.tensor.dtype));
  tensor->mutable_shape()->Assign(value.tensor.shape.begin(), value.tensor.shape.end());
  tensor->set_data(value.tensor.data.data(), value.tensor.data.size());
}

void EncodeType(const ApiType& type, v1::Type* message) {
  if (type.is_tuple) {
    v1::TupleType* tuple = message->mutable_tuple();
    for (const ApiType& element : type.elements) EncodeType(element, tuple->add_elements());
    tuple->set_struct_name(type.struct_name);
    for (const std::string& name : type.field_names) tuple->add_field_names(name);
    return;
  }
  v1::TensorType* tensor = message->mutable_tensor();
  tensor->set_dtype(static_cast<v1::DType>(type.dtype));
  for (const std::string& dim : type.dims) tensor->add_dims(dim);
}

ApiType DecodeType(const v1::Type& message) {
  ApiType type;
  type.is_tuple = message.has_tuple();
  for (const v1::Type& element : message.tuple().elements()) {
    type.elements.push_back(DecodeType(element));
  }
  // Whoever reads a struct relies on a name for each field.
  const v1::TupleType& tuple = message.tuple();
  if (!tuple.struct_name().empty() && tuple.field_names_size() == tuple.elements_size()) {
    type.struct_name = tuple.struct_name();
    type.field_names.assign(tuple.field_names().begin(), tuple.field_names().end());
  }
  if (message.has_tensor()) {
    type.dtype = static_cast<DType>(message.tensor().dtype());
    type.dims.assign(message.tensor().dims().begin(), message.tensor().dims().end());
  }
  return type;
}

}  // namespace pullback::wire
