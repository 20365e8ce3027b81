// Reads the text of core/ir/printer.h back. Errors carry line, column and a caret excerpt
// (INVALID_ARGUMENT, reason IR_SYNTAX). The result is not verified.
#pragma once

#include <string>

#include "core/base/status.h"
#include "core/ir/ir.h"

namespace pullback::ir {

StatusOr<Module> ParseModule(const std::string& text);

}  // namespace pullback::ir
