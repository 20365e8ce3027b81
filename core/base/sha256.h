// SHA-256 as lowercase hex.
#pragma once

#include <string>
#include <string_view>

namespace pullback {

std::string Sha256Hex(std::string_view bytes);

}  // namespace pullback
