// JSON as a tree that keeps numbers as they were written, so that an f32, an f64 and an i64 each read
// their own digits. Parsing is nlohmann::json's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace pullback::cli {

struct Json {
  enum class Kind : uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  bool boolean = false;
  std::string text;               // kNumber: its literal; kString
  std::vector<std::string> keys;  // kObject: of the items, in order
  std::vector<Json> items;        // kArray, kObject

  static Json Bool(bool value);
  static Json Number(double value);  // shortest text that reads back; NaN and infinities as strings
  static Json Number(float value);
  static Json Integer(int64_t value);
  static Json String(std::string value);
  static Json Array() { return Of(Kind::kArray); }
  static Json Object() { return Of(Kind::kObject); }

  bool is(Kind k) const { return kind == k; }
  void Add(std::string key, Json value);
  void Add(Json value) { items.push_back(std::move(value)); }
  const Json* Find(std::string_view key) const;  // nullptr when absent

 private:
  static Json Of(Kind kind);
};

// INVALID_ARGUMENT, INVALID_JSON: not JSON, a key twice, or nested deeper than 1000.
StatusOr<Json> ParseJson(std::string_view text);

// On one line.
std::string Dump(const Json& json);
// The same, but arrays of arrays or objects that are longer than a line are broken between their items, which
// then begin in column `indent`.
std::string DumpWrapped(const Json& json, size_t indent);

// "a number", "a list", …: for messages.
std::string KindName(const Json& json);

}  // namespace pullback::cli
