// Any bytes as a value from the wire: what decodes has as many bytes as its shape asks for, and goes
// back and forth unchanged.
#include <algorithm>

#include <google/protobuf/stubs/logging.h>

#include "proto/values.h"
#include "tests/fuzz/fuzz.h"

namespace pullback::fuzz {
namespace {

bool Same(const ApiValue& a, const ApiValue& b) {
  if (a.is_tuple != b.is_tuple) return false;
  if (a.is_tuple) {
    return std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(), b.elements.end(),
                      Same);
  }
  return a.tensor.dtype == b.tensor.dtype && a.tensor.shape == b.tensor.shape &&
         a.tensor.data == b.tensor.data;
}

void CheckTensors(const ApiValue& value) {
  for (const ApiValue& e : value.elements) CheckTensors(e);
  if (value.is_tuple) return;
  const Tensor& t = value.tensor;
  size_t count = 1;
  for (int64_t extent : t.shape) count *= static_cast<size_t>(extent);
  Require(t.data.size() == count * DTypeSize(t.dtype), "data and shape agree");
}

void CheckValue(const v1::Value& message) {
  ApiValue value;
  if (wire::DecodeValue(message, &value)) return;
  CheckTensors(value);
  v1::Value encoded;
  wire::EncodeValue(value, &encoded);
  ApiValue again;
  Require(!wire::DecodeValue(encoded, &again), "what was encoded decodes");
  Require(Same(value, again), "a value goes back and forth unchanged");
}

void CheckType(const v1::Type& message) {
  v1::Type encoded, twice;
  wire::EncodeType(wire::DecodeType(message), &encoded);
  wire::EncodeType(wire::DecodeType(encoded), &twice);
  Require(encoded.SerializeAsString() == twice.SerializeAsString(),
          "a type goes back and forth unchanged");
}

}  // namespace
}  // namespace pullback::fuzz

// Protocol Buffers logs every string that is not UTF-8.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int n = static_cast<int>(size);
  pullback::v1::Value value;
  if (value.ParseFromArray(data, n)) pullback::fuzz::CheckValue(value);
  pullback::v1::Type type;
  if (type.ParseFromArray(data, n)) pullback::fuzz::CheckType(type);
  return 0;
}
