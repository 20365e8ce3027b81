// Finding the function that a request names.
#pragma once

#include <string>

#include "core/base/status.h"
#include "core/lang/ast.h"

namespace pullback::lang {

// Index of the user's function `entry`; NOT_FOUND, reason ENTRY_NOT_FOUND, names those there are.
StatusOr<uint32_t> FindEntry(const Program& program, const std::string& entry);

}  // namespace pullback::lang
