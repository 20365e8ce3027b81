#include "client/cli/report.h"

#include <cstdio>
#include <string_view>
#include <utility>

#include "client/cli/programs.h"

namespace pullback::cli {
namespace {

// Reasons that tell more than their code about whose fault it is.
constexpr std::pair<std::string_view, ExitCode> kByReason[] = {
    {"INVALID_JSON", kExitUsage}, {"UNREADABLE_FILE", kExitUsage}, {"UNWRITABLE_FILE", kExitUsage},
    {"USAGE", kExitUsage},        {"UNKNOWN_STAGE", kExitUsage},   {"INVALID_OPTION", kExitUsage},
    {"MEMORY_BUDGET", kExitRun},  {"RECURSION_LIMIT", kExitRun},
};

ExitCode ByCode(Code code) {
  switch (code) {
    case Code::kOk: return kExitOk;
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kUnimplemented: return kExitProgram;
    case Code::kOutOfRange:
    case Code::kFailedPrecondition:
    case Code::kDeadlineExceeded:
    case Code::kCancelled: return kExitRun;
    case Code::kResourceExhausted:  // a full queue, a message too large
    case Code::kInternal:
    case Code::kUnauthenticated:
    case Code::kUnavailable: return kExitServer;
  }
  return kExitServer;
}

const char* SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kError: return "error";
    case Severity::kWarning: return "warning";
    case Severity::kNote: return "note";
  }
  return "";
}

Json ErrorJson(const Status& status) {
  Json diagnostics = Json::Array();
  for (const Diagnostic& d : status.diagnostics()) diagnostics.Add(ToJson(d));
  Json error = Json::Object();
  error.Add("code", Json::String(CodeName(status.code())));
  error.Add("reason", Json::String(status.reason()));
  error.Add("message", Json::String(status.message()));
  error.Add("diagnostics", std::move(diagnostics));
  Json json = Json::Object();
  json.Add("error", std::move(error));
  return json;
}

// The line under the diagnostics, which does not say again what they said.
std::string Summary(const Status& status) {
  const std::vector<Diagnostic>& diagnostics = status.diagnostics();
  if (ExitCodeOf(status) == kExitUsage) return status.message();
  const std::string kind = std::string(CodeName(status.code())) + " [" + status.reason() + "]";
  if (diagnostics.size() > 1) return kind + ": " + std::to_string(diagnostics.size()) + " messages";
  const bool said = !diagnostics.empty() && status.message().ends_with(diagnostics[0].message);
  return said ? kind : kind + ": " + status.message();
}

}  // namespace

ExitCode ExitCodeOf(const Status& status) {
  for (const auto& [reason, code] : kByReason) {
    if (status.reason() == reason) return code;
  }
  return ByCode(status.code());
}

int Fail(const Status& error, const std::string& file, bool json) {
  const Status status = Explained(error, file);
  for (const Diagnostic& d : status.diagnostics()) {
    const char* between = d.span.line > 0 ? ":" : ": ";
    std::fprintf(stderr, "%s%s%s\n", file.c_str(), between, FormatDiagnostic(d).c_str());
  }
  std::fprintf(stderr, "pullback: %s\n", Summary(status).c_str());
  if (json) std::printf("%s\n", Dump(ErrorJson(status)).c_str());
  return ExitCodeOf(status);
}

Json ToJson(const Diagnostic& d) {
  Json json = Json::Object();
  json.Add("severity", Json::String(SeverityName(d.severity)));
  json.Add("line", Json::Integer(d.span.line));
  json.Add("column", Json::Integer(d.span.column));
  json.Add("message", Json::String(d.message));
  json.Add("excerpt", Json::String(d.excerpt));
  return json;
}

}  // namespace pullback::cli
