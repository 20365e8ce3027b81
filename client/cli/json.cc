#include "client/cli/json.h"

#include <charconv>
#include <cmath>
#include <utility>

namespace pullback::cli {
namespace {

constexpr size_t kLineWidth = 90;

template <typename T>
Json FloatToJson(T value) {
  if (std::isnan(value)) return Json::String("NaN");
  if (std::isinf(value)) return Json::String(value > 0 ? "Infinity" : "-Infinity");
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  Json json;
  json.kind = Json::Kind::kNumber;
  json.text.assign(buffer, end);
  // A float stays one for its reader, and -0.0 keeps its sign.
  if (json.text.find_first_of(".e") == std::string::npos) json.text += ".0";
  return json;
}

}  // namespace

Json Json::Of(Kind kind) {
  Json json;
  json.kind = kind;
  return json;
}

Json Json::Bool(bool value) {
  Json json = Of(Kind::kBool);
  json.boolean = value;
  return json;
}

Json Json::Number(double value) { return FloatToJson(value); }
Json Json::Number(float value) { return FloatToJson(value); }

Json Json::Integer(int64_t value) {
  Json json = Of(Kind::kNumber);
  json.text = std::to_string(value);
  return json;
}

Json Json::String(std::string value) {
  Json json = Of(Kind::kString);
  json.text = std::move(value);
  return json;
}

void Json::Add(std::string key, Json value) {
  keys.push_back(std::move(key));
  items.push_back(std::move(value));
}

const Json* Json::Find(std::string_view key) const {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == key) return &items[i];
  }
  return nullptr;
}

std::string DumpWrapped(const Json& json, size_t indent) {
  std::string line = Dump(json);
  const bool nested =
      json.is(Json::Kind::kArray) && !json.items.empty() &&
      (json.items[0].is(Json::Kind::kArray) || json.items[0].is(Json::Kind::kObject));
  if (!nested || indent + line.size() <= kLineWidth) return line;
  std::string out = "[";
  for (size_t i = 0; i < json.items.size(); ++i) {
    if (i > 0) out += ",\n" + std::string(indent + 1, ' ');
    out += DumpWrapped(json.items[i], indent + 1);
  }
  return out + "]";
}

std::string KindName(const Json& json) {
  switch (json.kind) {
    case Json::Kind::kNull: return "null";
    case Json::Kind::kBool: return json.boolean ? "true" : "false";
    case Json::Kind::kNumber: return json.text;
    case Json::Kind::kString: return "the string " + Dump(json);
    case Json::Kind::kArray: return "a list of " + std::to_string(json.items.size());
    case Json::Kind::kObject: return "an object";
  }
  return "";
}

}  // namespace pullback::cli
