#include "client/cli/values.h"

#include <algorithm>
#include <utility>

#include "client/cli/tensors.h"

namespace pullback::cli {
namespace {

using Kind = Json::Kind;

Status Mismatch(const std::string& what, const std::string& fault) {
  return Status(Code::kInvalidArgument, "TYPE_MISMATCH", what + ": " + fault);
}

bool IsFloat(DType dtype) { return dtype == DType::kF64 || dtype == DType::kF32; }
bool IsStruct(const ApiType& type) { return !type.struct_name.empty(); }

// What stands in an object for a field, by the field's place.
StatusOr<std::vector<const Json*>> Fields(const Json& json, const ApiType& type,
                                          const std::string& what) {
  const std::vector<std::string>& names = type.field_names;
  for (const std::string& key : json.keys) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    return Mismatch(what, type.ToString() + " has no field '" + key + "'; it has: " + all);
  }
  std::vector<const Json*> parts;
  for (size_t i = 0; i < names.size(); ++i) {
    parts.push_back(json.Find(names[i]));
    if (parts.back() != nullptr) continue;
    return Mismatch(
        what, "the field '" + names[i] + "' is missing; it is " + type.elements[i].ToString());
  }
  return parts;
}

// The JSON of each element of a tuple or struct.
StatusOr<std::vector<const Json*>> Parts(const Json& json, const ApiType& type,
                                         const std::string& what) {
  if (IsStruct(type) && json.is(Kind::kObject)) return Fields(json, type, what);
  if (!json.is(Kind::kArray) || json.items.size() != type.elements.size()) {
    const std::string object = IsStruct(type) ? " as an object, or" : "";
    return Mismatch(what, "expected " + type.ToString() + object + " as a list of " +
                              std::to_string(type.elements.size()) + ", got " + KindName(json));
  }
  std::vector<const Json*> parts;
  for (const Json& item : json.items) parts.push_back(&item);
  return parts;
}

StatusOr<ApiValue> Convert(const Json& json, const ApiType& type, bool derivative,
                           const std::string& what) {
  ApiValue value;
  if (!type.is_tuple && derivative && !IsFloat(type.dtype)) {
    value.is_tuple = true;
    if (json.is(Kind::kNull) || (json.is(Kind::kArray) && json.items.empty())) return value;
    return Mismatch(what, type.ToString() + " has no derivative: write null");
  }
  if (!type.is_tuple) {
    PB_ASSIGN_OR_RETURN(value.tensor, ToTensor(json, type, what));
    return value;
  }
  PB_ASSIGN_OR_RETURN(const std::vector<const Json*> parts, Parts(json, type, what));
  value.is_tuple = true;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string part =
        what + "." + (IsStruct(type) ? type.field_names[i] : std::to_string(i));
    PB_ASSIGN_OR_RETURN(ApiValue element, Convert(*parts[i], type.elements[i], derivative, part));
    value.elements.push_back(std::move(element));
  }
  return value;
}

// A derivative has an empty tuple where there are no floats.
Json Write(const ApiValue& value, const ApiType& type) {
  if (!type.is_tuple) return value.is_tuple ? Json() : FromTensor(value.tensor);
  Json json = IsStruct(type) ? Json::Object() : Json::Array();
  json.keys = type.field_names;
  for (size_t i = 0; i < type.elements.size(); ++i) {
    json.Add(Write(value.elements.at(i), type.elements[i]));
  }
  return json;
}

}  // namespace

StatusOr<ApiValue> ToValue(const Json& json, const ApiType& type, const std::string& what) {
  return Convert(json, type, false, what);
}

StatusOr<ApiValue> ToDerivative(const Json& json, const ApiType& type, const std::string& what) {
  return Convert(json, type, true, what);
}

Json FromValue(const ApiValue& value, const ApiType& type) { return Write(value, type); }

}  // namespace pullback::cli
