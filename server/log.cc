#include "server/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <cstdio>
#include <memory>

namespace pullback::server::log {
namespace {

constexpr const char* kTextPattern = "%Y-%m-%dT%H:%M:%S.%e%z %l %v";
constexpr const char* kJsonPattern = R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})";

std::atomic<bool> json{false};
std::atomic<bool> every_request{false};

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>("pullbackd",
                                                 std::make_shared<spdlog::sinks::stdout_sink_mt>());
    made->set_pattern(kTextPattern);
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return *logger;
}

spdlog::level::level_enum ToSpdlog(Level level) {
  switch (level) {
    case Level::kDebug: return spdlog::level::debug;
    case Level::kInfo: return spdlog::level::info;
    case Level::kWarn: return spdlog::level::warn;
    case Level::kError: return spdlog::level::err;
  }
  return spdlog::level::err;
}

// Control characters, which could forge lines, and what JSON reserves. Bytes above 127 stay: they are
// UTF-8 wherever a client is held to it, and metadata is checked to be ASCII.
void AppendEscaped(std::string_view text, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      *out += {'\\', c};
    } else if (c == '\n') {
      *out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      *out += "\\u00";
      *out += {kHex[byte >> 4], kHex[byte & 15]};
    } else {
      *out += c;
    }
  }
}

void AppendQuoted(std::string_view text, std::string* out) {
  *out += '"';
  AppendEscaped(text, out);
  *out += '"';
}

bool NeedsQuotes(std::string_view text) {
  for (char c : text) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == '"' || c == '\\' || c == '=') return true;
  }
  return text.empty();
}

}  // namespace

Field::Field(std::string_view field_key, double number_value) : key(field_key), number(true) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number_value);
  value = text;
}

void Configure(const std::string& level, const std::string& format, bool requests) {
  json = format == "json";
  every_request = requests;
  Logger().set_pattern(json ? kJsonPattern : kTextPattern);
  Logger().set_level(spdlog::level::from_str(level));
}

Level RequestLevel() { return every_request ? Level::kInfo : Level::kDebug; }

bool Enabled(Level level) { return Logger().should_log(ToSpdlog(level)); }

void Write(Level level, std::string_view message, Fields fields) {
  if (!Enabled(level)) return;
  const std::string line = json ? FormatJson(message, fields) : FormatText(message, fields);
  Logger().log(ToSpdlog(level), spdlog::string_view_t(line.data(), line.size()));
}

std::string FormatText(std::string_view message, Fields fields) {
  std::string line;
  AppendEscaped(message, &line);
  for (const auto& [key, value, number] : fields) {
    line.append(" ").append(key).append("=");
    NeedsQuotes(value) ? AppendQuoted(value, &line) : AppendEscaped(value, &line);
  }
  return line;
}

std::string FormatJson(std::string_view message, Fields fields) {
  std::string line = "\"message\":";
  AppendQuoted(message, &line);
  for (const auto& [key, value, number] : fields) {
    line.append(",");
    AppendQuoted(key, &line);
    line.append(":");
    number ? void(line.append(value)) : AppendQuoted(value, &line);
  }
  return line;
}

}  // namespace pullback::server::log
