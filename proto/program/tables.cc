#include "proto/program/tables.h"

#include "core/base/sha256.h"
#include "proto/program/read.h"

namespace pullback::program {
namespace {

constexpr char kInCanonicalText[] = " (line and column of the program's canonical text)";

}  // namespace

StatusOr<lang::Program> ToTree(const v1::ProgramTables& tables, const lang::Limits& limits) {
  return Reader(tables, limits).Run();
}

StatusOr<std::string> ToText(const v1::ProgramTables& tables, const lang::Limits& limits) {
  PB_ASSIGN_OR_RETURN(const lang::Program program, ToTree(tables, limits));
  return lang::Format(program);
}

StatusOr<std::string> TextOf(const v1::Program& program, const lang::Limits& limits) {
  switch (program.form_case()) {
    case v1::Program::kText: return program.text();
    case v1::Program::kTables: return ToText(program.tables(), limits);
    case v1::Program::FORM_NOT_SET: break;
  }
  return Status(Code::kInvalidArgument, "INVALID_REQUEST", "program: neither text nor tables",
                {Diagnostic{Severity::kError, Span{}, "neither text nor tables", "program"}});
}

StatusOr<Forms> Format(const v1::Program& program, const lang::Limits& limits) {
  PB_ASSIGN_OR_RETURN(const std::string text, TextOf(program, limits));
  const StatusOr<lang::Program> parsed = lang::Parse(text, limits);
  if (!parsed.ok()) {
    return program.has_tables() ? InCanonicalText(parsed.status()) : parsed.status();
  }
  Forms forms;
  forms.tables = ToTables(*parsed);
  if (program.has_tables()) {
    forms.text = forms.canonical_text = text;
  } else {
    forms.text = lang::Format(*parsed);
    // It may be longer than what it came from.
    lang::Limits unbounded = limits;
    unbounded.max_source_bytes = SIZE_MAX;
    PB_ASSIGN_OR_RETURN(forms.canonical_text, ToText(forms.tables, unbounded));
  }
  forms.hash = Sha256Hex(forms.canonical_text);
  return forms;
}

Status InCanonicalText(const Status& status) {
  std::vector<Diagnostic> diagnostics = status.diagnostics();
  bool placed = false;
  for (Diagnostic& d : diagnostics) {
    if (d.span.line == 0 || d.message.ends_with(kInCanonicalText)) continue;
    d.message += kInCanonicalText;
    placed = true;
  }
  if (!placed) return status;
  return Status(status.code(), status.reason(), status.message() + kInCanonicalText,
                std::move(diagnostics));
}

}  // namespace pullback::program
