// Programs in files: text, or the message pullback.v1.Program as bytes or as protobuf's JSON.
#pragma once

#include <string>

#include "core/base/status.h"
#include "core/lang/lang.h"
#include "pullback/v1/program.pb.h"

namespace pullback::program {

enum class Form : uint8_t { kText, kMessage, kJson };

// INVALID_ARGUMENT, INVALID_PROGRAM: the bytes are no such message.
StatusOr<v1::Program> FromFile(const std::string& bytes, Form form);

// The file of the program in this form, the same for all files that say the same: text in the standard
// layout with its comments, messages as tables. Errors as Format (proto/program/tables.h).
StatusOr<std::string> ToFile(const v1::Program& program, Form form,
                             const lang::Limits& limits = {});

}  // namespace pullback::program
