// The log: one line per event on standard output, as text or JSON, with fields. Thread-safe.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace pullback::server::log {

enum class Level { kDebug, kInfo, kWarn, kError };

using Field = std::pair<std::string_view, std::string>;
using Fields = std::initializer_list<Field>;

// level: debug info warn error off; format: text json. Before it is called, text at info.
void Configure(const std::string& level, const std::string& format);

// Whether a line of this level would be written: asked first where its fields cost something.
bool Enabled(Level level);

// text: "2024-05-01T12:00:00.000+00:00 info listening address=127.0.0.1:8001"
// json: {"time":"…","level":"info","message":"listening","address":"127.0.0.1:8001"}
void Write(Level level, std::string_view message, Fields fields = {});

// The two encodings of a line without its time and level; strings may hold any bytes.
std::string FormatText(std::string_view message, Fields fields);
std::string FormatJson(std::string_view message, Fields fields);

}  // namespace pullback::server::log
