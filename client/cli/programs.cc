#include "client/cli/programs.h"

#include "client/cli/files.h"
#include "proto/program/tables.h"

namespace pullback::cli {

using program::Form;

Form FormOf(const std::string& file) {
  if (file.ends_with(".json")) return Form::kJson;
  return file.ends_with(".pb") ? Form::kMessage : Form::kText;
}

StatusOr<std::string> FormatFile(const std::string& bytes, Form from, Form to) {
  PB_ASSIGN_OR_RETURN(const auto program, program::FromFile(bytes, from));
  return program::ToFile(program, to);
}

StatusOr<std::string> ReadProgram(const std::string& file) {
  PB_ASSIGN_OR_RETURN(std::string bytes, ReadText(file));
  const Form form = FormOf(file);
  if (form == Form::kText) return bytes;
  PB_ASSIGN_OR_RETURN(const auto program, program::FromFile(bytes, form));
  return program::TextOf(program);
}

Status Explained(const Status& status, const std::string& file) {
  Status placed = FormOf(file) == Form::kText ? status : program::InCanonicalText(status);
  std::vector<Diagnostic> diagnostics = placed.diagnostics();
  for (Diagnostic& d : diagnostics) {
    if (d.span.line > 0 || !d.excerpt.starts_with("program")) continue;
    d.message = d.excerpt + ": " + d.message;
    d.excerpt.clear();
  }
  if (diagnostics.empty()) return placed;
  return Status(placed.code(), placed.reason(), placed.message(), std::move(diagnostics));
}

}  // namespace pullback::cli
