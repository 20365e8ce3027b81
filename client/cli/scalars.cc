#include "client/cli/scalars.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>

namespace pullback::cli {
namespace {

constexpr int64_t kExactInDouble = int64_t{1} << 53;

double ReadFloat(const char* text, double) { return std::strtod(text, nullptr); }
float ReadFloat(const char* text, float) { return std::strtof(text, nullptr); }

template <typename T>
std::optional<T> SpecialFloat(const std::string& text) {
  if (text == "NaN") return std::numeric_limits<T>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<T>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<T>::infinity();
  return std::nullopt;
}

template <typename T>
std::string Store(T value, uint8_t* out) {
  std::memcpy(out, &value, sizeof value);
  return "";
}

// Correctly rounded from the literal's own digits; what is too small becomes 0 or subnormal.
template <typename T>
std::string WriteFloat(const Json& json, DType dtype, uint8_t* out) {
  const auto special = json.is(Json::Kind::kString) ? SpecialFloat<T>(json.text) : std::nullopt;
  if (special) return Store(*special, out);
  if (!json.is(Json::Kind::kNumber)) {
    return "expected a number for " + std::string(DTypeName(dtype)) + ", got " + KindName(json);
  }
  const T value = ReadFloat(json.text.c_str(), T{});
  if (!std::isinf(value)) return Store(value, out);
  return json.text + " is out of range for " + DTypeName(dtype) + "; infinity is \"Infinity\"";
}

std::string WriteInteger(const Json& json, uint8_t* out) {
  const bool literal = json.is(Json::Kind::kNumber) || json.is(Json::Kind::kString);
  int64_t value = 0;
  const char* const end = json.text.data() + json.text.size();
  const auto read = std::from_chars(json.text.data(), end, value);
  if (!literal || read.ptr != end || read.ec == std::errc::invalid_argument) {
    return "expected an integer for i64, got " + KindName(json);
  }
  if (read.ec != std::errc()) return json.text + " is out of range for i64";
  return Store(value, out);
}

}  // namespace

std::string WriteElement(const Json& json, DType dtype, uint8_t* out) {
  switch (dtype) {
    case DType::kF64: return WriteFloat<double>(json, dtype, out);
    case DType::kF32: return WriteFloat<float>(json, dtype, out);
    case DType::kI64: return WriteInteger(json, out);
    case DType::kBool: break;
  }
  if (json.is(Json::Kind::kBool)) return Store<uint8_t>(json.boolean ? 1 : 0, out);
  return "expected true or false for bool, got " + KindName(json);
}

Json ReadElement(const Tensor& tensor, int64_t index) {
  switch (tensor.dtype) {
    case DType::kF64: return Json::Number(tensor.At<double>(index));
    case DType::kF32: return Json::Number(tensor.At<float>(index));
    case DType::kBool: return Json::Bool(tensor.At<uint8_t>(index) != 0);
    case DType::kI64: break;
  }
  const auto value = tensor.At<int64_t>(index);
  const bool exact = -kExactInDouble <= value && value <= kExactInDouble;
  return exact ? Json::Integer(value) : Json::String(std::to_string(value));
}

}  // namespace pullback::cli
