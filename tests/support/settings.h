// Numbers that the environment gives a test.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace pullback::testing {

inline uint32_t Setting(const char* name, uint32_t otherwise) {
  const char* value = std::getenv(name);
  return value ? static_cast<uint32_t>(std::strtoul(value, nullptr, 10)) : otherwise;
}

}  // namespace pullback::testing
