#include "client/errors.h"

#include <charconv>
#include <string_view>

#include "google/rpc/error_details.pb.h"

namespace pullback::client {
namespace {

constexpr std::string_view kPlacePrefix = "program.text:";

Code ToCode(int number) {
  switch (number) {
    case 0:
    case 1:
    case 3:
    case 4:
    case 5:
    case 8:
    case 9:
    case 11:
    case 12:
    case 13:
    case 14:
    case 16: return static_cast<Code>(number);
    default: return Code::kInternal;
  }
}

// "program.text:3:14" -> line 3, column 14. False for a field of the request.
bool ParsePlace(std::string_view field, Span* span) {
  if (!field.starts_with(kPlacePrefix)) return false;
  const char* const end = field.data() + field.size();
  const auto line = std::from_chars(field.data() + kPlacePrefix.size(), end, span->line);
  if (line.ec != std::errc() || line.ptr == end || *line.ptr != ':') return false;
  const auto column = std::from_chars(line.ptr + 1, end, span->column);
  return column.ec == std::errc() && column.ptr == end;
}

Diagnostic ToDiagnostic(const google::rpc::BadRequest::FieldViolation& violation) {
  Diagnostic d;
  const std::string& text = violation.description();
  const size_t first_line = text.find('\n');
  if (!ParsePlace(violation.field(), &d.span)) {
    d.message = violation.field() + ": " + text;
    return d;
  }
  d.message = text.substr(0, first_line);
  if (first_line != std::string::npos) d.excerpt = text.substr(first_line + 1);
  return d;
}

}  // namespace

Status FromRpc(const google::rpc::Status& status) {
  if (status.code() == 0) return {};
  const Code code = ToCode(status.code());
  std::string reason = CodeName(code);
  std::vector<Diagnostic> diagnostics;
  for (const google::protobuf::Any& detail : status.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::BadRequest bad;
    if (detail.UnpackTo(&info)) reason = info.reason();
    if (!detail.UnpackTo(&bad)) continue;
    for (const auto& violation : bad.field_violations()) {
      diagnostics.push_back(ToDiagnostic(violation));
    }
  }
  return Status(code, std::move(reason), status.message(), std::move(diagnostics));
}

Status FromGrpc(const grpc::Status& status) {
  google::rpc::Status rpc;
  if (status.error_details().empty() || !rpc.ParseFromString(status.error_details())) rpc.Clear();
  rpc.set_code(status.error_code());
  rpc.set_message(status.error_message());
  return FromRpc(rpc);
}

}  // namespace pullback::client
