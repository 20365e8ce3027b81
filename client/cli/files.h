// Files by name; "-" is standard input or output.
#pragma once

#include <string>

#include "core/base/status.h"

namespace pullback::cli {

// INVALID_ARGUMENT, UNREADABLE_FILE.
StatusOr<std::string> ReadText(const std::string& path);
// Replaces the file at once, so that nobody sees half of it. INVALID_ARGUMENT, UNWRITABLE_FILE.
Status WriteText(const std::string& path, const std::string& text);

}  // namespace pullback::cli
