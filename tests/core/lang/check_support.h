// What the tests of the checker share.
#pragma once

#include <string>

#include "core/lang/lang.h"

namespace pullback::lang {

// Parses and checks; the tests give texts that parse.
inline Status CheckText(const std::string& text, const Limits& limits = {}) {
  StatusOr<Program> program = Parse(text);
  return program.ok() ? Check(*program, limits) : program.status();
}

// "line:column message" for every diagnostic, one a line; the reason first where it is not TYPE_ERROR.
inline std::string Messages(const std::string& text, const Limits& limits = {}) {
  Status status = CheckText(text, limits);
  std::string out;
  if (!status.ok() && status.reason() != "TYPE_ERROR") out = status.reason() + "\n";
  for (const Diagnostic& d : status.diagnostics()) {
    out +=
        std::to_string(d.span.line) + ":" + std::to_string(d.span.column) + " " + d.message + "\n";
  }
  return out;
}

inline Program Checked(const std::string& text) {
  StatusOr<Program> program = Parse(text);
  PB_CHECK(program.ok());
  Status status = Check(*program);
  if (!status.ok()) CheckFailed(__FILE__, __LINE__, status.ToString().c_str());
  return std::move(*program);
}

}  // namespace pullback::lang
