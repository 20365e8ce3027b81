// Numbers that the environment gives a test.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace pullback::testing {

inline uint32_t Setting(const char* name, uint32_t otherwise) {
  const char* value = std::getenv(name);
  return value ? static_cast<uint32_t>(std::strtoul(value, nullptr, 10)) : otherwise;
}

// How many random programs a test takes of the `count` that a plain build takes: sanitized code, eight times as slow,
// looks for what every fourth shows.
constexpr uint32_t RandomCount(uint32_t count) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  count = (count + 3) / 4;
#endif
#endif
  return count;
}

}  // namespace pullback::testing
