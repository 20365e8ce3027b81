// Program files in their forms, told by their names: .pb is a message, .json one in JSON, all others text.
#pragma once

#include <string>

#include "core/base/status.h"
#include "proto/program/files.h"

namespace pullback::cli {

program::Form FormOf(const std::string& file);

// The file in this form, in the standard layout.
StatusOr<std::string> FormatFile(const std::string& bytes, program::Form from, program::Form to);

// The program's text, as it is or, of a message, canonical.
StatusOr<std::string> ReadProgram(const std::string& file);

// An error about the program of this file, for people: fields of messages and places of canonical text are
// told as such.
Status Explained(const Status& status, const std::string& file);

}  // namespace pullback::cli
