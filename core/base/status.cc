#include "core/base/status.h"

#include <cstdio>
#include <cstdlib>

#include "core/base/work.h"

namespace pullback {

const char* CodeName(Code code) {
  switch (code) {
    case Code::kOk: return "OK";
    case Code::kCancelled: return "CANCELLED";
    case Code::kInvalidArgument: return "INVALID_ARGUMENT";
    case Code::kDeadlineExceeded: return "DEADLINE_EXCEEDED";
    case Code::kNotFound: return "NOT_FOUND";
    case Code::kResourceExhausted: return "RESOURCE_EXHAUSTED";
    case Code::kFailedPrecondition: return "FAILED_PRECONDITION";
    case Code::kOutOfRange: return "OUT_OF_RANGE";
    case Code::kUnimplemented: return "UNIMPLEMENTED";
    case Code::kInternal: return "INTERNAL";
    case Code::kUnavailable: return "UNAVAILABLE";
    case Code::kUnauthenticated: return "UNAUTHENTICATED";
  }
  return "UNKNOWN";
}

std::string Status::ToString() const {
  std::string out = CodeName(code_);
  if (!reason_.empty()) out += " [" + reason_ + "]";
  if (!message_.empty()) out += ": " + message_;
  for (const Diagnostic& d : diagnostics_) out += "\n" + FormatDiagnostic(d);
  return out;
}

Status UnimplementedAt(const std::string& what, uint32_t place) {
  return {Code::kUnimplemented, "UNIMPLEMENTED", what + " !" + std::to_string(place)};
}

void CheckFailed(const char* file, int line, const char* what) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, what);
  if (!Work::MayThrow()) std::abort();
  throw WorkEnded{Status(Code::kInternal, "CHECK_FAILED",
                         "a fault of the compiler: " + std::string(what) + " does not hold at " +
                             file + ":" + std::to_string(line))};
}

}  // namespace pullback
