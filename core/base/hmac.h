// HMAC-SHA-256: 32 bytes that only who has the key can make.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pullback {

inline constexpr size_t kHmacBytes = 32;

std::string HmacSha256(std::string_view key, std::string_view bytes);
// In time that does not tell where they differ.
bool SameMac(std::string_view a, std::string_view b);
// Bytes that nobody can guess.
std::string RandomBytes(size_t count);

}  // namespace pullback
