// Values and types between protobuf and core/base/tensor.h; the server and the client share it.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/base/tensor_view.h"
#include "pullback/v1/tensor.pb.h"

namespace pullback::wire {

// What is wrong with a message, and where in it: ".tuple.elements[1].tensor.data".
struct Fault {
  std::string path;
  std::string what;
};

// Checks everything that native code relies on: a known dtype, extents whose product does not overflow,
// as many bytes as they ask for, bools of 0 or 1; lists that are sound (FaultOf in core/base/lists.h). Takes
// about as much memory as the message. Walks at most as deep as protobuf parsed.
std::optional<Fault> DecodeValue(const v1::Value& message, ApiValue* value);

// The same of one that is a tensor, which is not copied.
std::optional<Fault> ViewTensor(const v1::Value& message, TensorView* tensor);

void EncodeValue(const ApiValue& value, v1::Value* message);
// All but the elements: an empty string, for them.
std::string* BeginTensor(DType dtype, std::span<const int64_t> shape, v1::Tensor* message);

void EncodeType(const ApiType& type, v1::Type* message);
// `structs`: Signature.structs. A type that names none of them is an empty tuple's.
ApiType DecodeType(const v1::Type& message,
                   const google::protobuf::RepeatedPtrField<v1::Type>& structs);

}  // namespace pullback::wire
