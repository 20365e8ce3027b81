// The log: one line per event on standard output, as text or JSON, with fields. Thread-safe.
#pragma once

#include <absl/types/span.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace pullback::server::log {

enum class Level { kDebug, kInfo, kWarn, kError };

struct Field {
  Field(std::string_view field_key, std::string text) : key(field_key), value(std::move(text)) {}
  Field(std::string_view field_key, double number);

  std::string_view key;
  std::string value;
  bool number = false;  // in JSON without quotes
};
using Fields = absl::Span<const Field>;
using FieldList = std::initializer_list<Field>;

// level: debug info warn error off; format: text json. Before it is called, text at info. requests: whether
// answered requests are logged at info; otherwise they are at debug.
void Configure(const std::string& level, const std::string& format, bool requests = false);
Level RequestLevel();

// Whether a line of this level would be written: asked first where its fields cost something.
bool Enabled(Level level);

// text: "2024-05-01T12:00:00.000+00:00 info listening address=127.0.0.1:8001"
// json: {"time":"…","level":"info","message":"listening","address":"127.0.0.1:8001"}
void Write(Level level, std::string_view message, Fields fields);
inline void Write(Level level, std::string_view message, FieldList fields = {}) {
  Write(level, message, Fields(fields));
}

// The two encodings of a line without its time and level; strings may hold any bytes.
std::string FormatText(std::string_view message, Fields fields);
std::string FormatJson(std::string_view message, Fields fields);
inline std::string FormatText(std::string_view message, FieldList fields) {
  return FormatText(message, Fields(fields));
}
inline std::string FormatJson(std::string_view message, FieldList fields) {
  return FormatJson(message, Fields(fields));
}

}  // namespace pullback::server::log
