#include "client/cli/tensors.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "client/cli/scalars.h"

namespace pullback::cli {
namespace {

using Kind = Json::Kind;

// "[0, 2]": where in nested lists.
std::string At(const std::vector<size_t>& path) {
  std::string text;
  for (size_t i : path) text += (text.empty() ? " at [" : ", ") + std::to_string(i);
  return text.empty() ? text : text + "]";
}

// The shape that the first item of each level tells.
StatusOr<std::vector<int64_t>> ShapeOf(const Json& json, const ApiType& type,
                                       const std::string& what) {
  std::vector<int64_t> shape;
  const Json* level = &json;
  for (size_t axis = 0; axis < type.dims.size(); ++axis) {
    if (!level->is(Kind::kArray)) {
      return Mismatch(what, "expected " + type.ToString() + ", as lists nested " +
                                std::to_string(type.dims.size()) + " deep, got " +
                                KindName(*level) + " at depth " + std::to_string(axis));
    }
    shape.push_back(static_cast<int64_t>(level->items.size()));
    if (!level->items.empty()) {
      level = &level->items[0];
    } else if (axis + 1 < type.dims.size()) {
      return Mismatch(what, "an empty list does not tell the other sizes of " + type.ToString() +
                                "; write {\"shape\": [0, …], \"dtype\": \"" +
                                DTypeName(type.dtype) + "\"}");
    }
  }
  return shape;
}

// Fills a tensor whose shape is known from nested lists.
class Filler {
 public:
  Filler(Tensor* tensor, const std::string& what)
      : tensor_(tensor), what_(what), next_(tensor->data.data()) {}

  Status Fill(const Json& json) {
    const size_t axis = path_.size();
    if (axis == tensor_->shape.size()) return Element(json);
    if (!json.is(Kind::kArray)) return Fault("expected a list, got " + KindName(json));
    if (json.items.size() != static_cast<size_t>(tensor_->shape[axis])) {
      return Fault("ragged lists: expected " + std::to_string(tensor_->shape[axis]) +
                   " items as in the first, got " + std::to_string(json.items.size()));
    }
    path_.push_back(0);
    for (const Json& item : json.items) {
      PB_RETURN_IF_ERROR(Fill(item));
      ++path_.back();
    }
    path_.pop_back();
    return {};
  }

 private:
  Status Element(const Json& json) {
    const std::string fault = WriteElement(json, tensor_->dtype, next_);
    next_ += DTypeSize(tensor_->dtype);
    return fault.empty() ? Status() : Fault(fault);
  }
  Status Fault(const std::string& fault) const { return Mismatch(what_ + At(path_), fault); }

  Tensor* const tensor_;
  const std::string& what_;
  uint8_t* next_;
  std::vector<size_t> path_;
};

StatusOr<std::vector<int64_t>> ReadShape(const Json* json, size_t rank, const std::string& what) {
  if (json == nullptr || !json->is(Kind::kArray)) {
    return Mismatch(what, "an object needs \"shape\", a list of sizes");
  }
  if (json->items.size() != rank) {
    return Mismatch(what, "\"shape\" has " + std::to_string(json->items.size()) +
                              " sizes; the type has " + std::to_string(rank) + " axes");
  }
  std::vector<int64_t> shape;
  for (const Json& size : json->items) {
    int64_t value = 0;
    const std::string fault = WriteElement(size, DType::kI64, reinterpret_cast<uint8_t*>(&value));
    if (!fault.empty() || value < 0) return Mismatch(what, "\"shape\" holds " + KindName(size));
    shape.push_back(value);
  }
  return shape;
}

// Whether `shape` has exactly `count` elements; no product is made that might overflow.
bool HasCount(const std::vector<int64_t>& shape, size_t count) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return count == 0;
  for (int64_t size : shape) {
    if (count == 0 || count % static_cast<size_t>(size) != 0) return false;
    count /= static_cast<size_t>(size);
  }
  return count == 1;
}

// {"shape": [2, 0], "dtype": "f64", "data": []}
StatusOr<Tensor> FromObject(const Json& json, const ApiType& type, const std::string& what) {
  for (const std::string& key : json.keys) {
    if (key == "shape" || key == "dtype" || key == "data") continue;
    return Mismatch(what, "unknown key \"" + key + "\"; an array has shape, dtype and data");
  }
  const Json* dtype = json.Find("dtype");
  if (dtype != nullptr && dtype->text != DTypeName(type.dtype)) {
    return Mismatch(what, "\"dtype\" is " + KindName(*dtype) + "; the type is " + type.ToString());
  }
  Tensor tensor{type.dtype, {}, {}};
  PB_ASSIGN_OR_RETURN(tensor.shape, ReadShape(json.Find("shape"), type.dims.size(), what));
  const Json none = Json::Array();
  const Json* data = json.Find("data") == nullptr ? &none : json.Find("data");
  if (!data->is(Kind::kArray) || !HasCount(tensor.shape, data->items.size())) {
    return Mismatch(what, "\"data\" is not a list of as many elements as \"shape\" says");
  }
  Tensor flat{type.dtype, {static_cast<int64_t>(data->items.size())}, {}};
  flat.data.resize(data->items.size() * DTypeSize(type.dtype));
  PB_RETURN_IF_ERROR(Filler(&flat, what).Fill(*data));
  tensor.data = std::move(flat.data);
  return tensor;
}

// Lists lose the sizes behind the first 0.
bool ListsTellShape(const std::vector<int64_t>& shape) {
  const auto zero = std::find(shape.begin(), shape.end(), 0);
  return zero == shape.end() || zero + 1 == shape.end();
}

Json ShapeObject(const Tensor& tensor) {
  Json shape = Json::Array();
  for (int64_t size : tensor.shape) shape.Add(Json::Integer(size));
  Json object = Json::Object();
  object.Add("shape", std::move(shape));
  object.Add("dtype", Json::String(DTypeName(tensor.dtype)));
  return object;
}

// The lists from `axis` on, whose elements begin at *next.
Json Lists(const Tensor& tensor, size_t axis, int64_t* next) {
  if (axis == tensor.shape.size()) return ReadElement(tensor, (*next)++);
  Json list = Json::Array();
  for (int64_t i = 0; i < tensor.shape[axis]; ++i) list.Add(Lists(tensor, axis + 1, next));
  return list;
}

}  // namespace

Status Mismatch(const std::string& what, const std::string& fault) {
  return Status(Code::kInvalidArgument, "TYPE_MISMATCH", what + ": " + fault);
}

StatusOr<Tensor> ToTensor(const Json& json, const ApiType& type, const std::string& what) {
  if (json.is(Kind::kObject)) return FromObject(json, type, what);
  Tensor tensor{type.dtype, {}, {}};
  PB_ASSIGN_OR_RETURN(tensor.shape, ShapeOf(json, type, what));
  tensor.data.resize(static_cast<size_t>(tensor.ElementCount()) * DTypeSize(type.dtype));
  PB_RETURN_IF_ERROR(Filler(&tensor, what).Fill(json));
  return tensor;
}

Json FromTensor(const Tensor& tensor) {
  if (!ListsTellShape(tensor.shape)) return ShapeObject(tensor);
  int64_t next = 0;
  return Lists(tensor, 0, &next);
}

}  // namespace pullback::cli
