#include "jit/trap.h"

#include <charconv>

#include "jit/interrupt.h"
#include "jit/watchdog.h"

namespace pullback::jit {
namespace {

using ir::TrapKind;

std::string Message(const Trap& trap) {
  const std::string a = std::to_string(trap.a);
  const std::string b = std::to_string(trap.b);
  switch (trap.kind) {
    case TrapKind::kIndex: return "index " + a + " is out of range for an axis of size " + b;
    case TrapKind::kDivideByZero: return "integer division by zero";
    case TrapKind::kNegativeSize: return "a size of " + a + " is negative";
    case TrapKind::kSizeMismatch: return "sizes " + a + " and " + b + " differ";
    case TrapKind::kDepth:
      return "calls are nested deeper than the recursion limit" +
             (trap.a > 0 ? " of " + a : std::string());
    case TrapKind::kMemory:
      return "asked for " +
             (trap.a == INT64_MAX ? "more bytes than can be counted" : a + " bytes") +
             (trap.b > 0 ? ", over the memory budget of " + b : std::string());
    case TrapKind::kStopped: break;
  }
  return {};
}

struct Kind {
  Code code;
  const char* reason;
};

Kind KindOf(TrapKind kind) {
  switch (kind) {
    case TrapKind::kIndex: return {Code::kOutOfRange, "INDEX_OUT_OF_RANGE"};
    case TrapKind::kDivideByZero: return {Code::kFailedPrecondition, "DIVISION_BY_ZERO"};
    case TrapKind::kNegativeSize: return {Code::kFailedPrecondition, "NEGATIVE_SIZE"};
    case TrapKind::kSizeMismatch: return {Code::kFailedPrecondition, "SIZE_MISMATCH"};
    case TrapKind::kDepth: return {Code::kResourceExhausted, "RECURSION_LIMIT"};
    case TrapKind::kMemory: return {Code::kResourceExhausted, "MEMORY_BUDGET"};
    case TrapKind::kStopped: break;
  }
  return {Code::kInternal, "UNKNOWN_TRAP"};
}

// The diagnostic of a message at an ordinal; none where the ordinal says nothing.
std::vector<Diagnostic> At(uint32_t loc, const std::string& message, const Places& places) {
  if (loc == 0 || loc >= places.places.size()) return {};
  const lang::Place& place = places.places[loc];
  Diagnostic d{Severity::kError, place.span, message, {}};
  if (place.span.line == 0) {
    d.message += " (in '" + place.function + "' of the prelude)";
  } else {
    d.excerpt = MakeExcerpt(places.text, place.span);
  }
  return {std::move(d)};
}

}  // namespace

Status TrapStatus(const Trap& trap, const Places& places) {
  if (trap.kind == TrapKind::kStopped) {
    return trap.a == kStopCancelled ? Cancelled() : DeadlineExceeded();
  }
  const auto [code, reason] = KindOf(trap.kind);
  const std::string message = Message(trap);
  return {code, reason, message, At(trap.loc, message, places)};
}

Status PlaceStatus(const Status& status, const Places& places) {
  const std::string& message = status.message();
  const size_t mark = message.rfind(" !");
  if (mark == std::string::npos) return status;
  uint32_t ordinal = 0;
  const char* const end = message.data() + message.size();
  const auto [stop, error] = std::from_chars(message.data() + mark + 2, end, ordinal);
  if (error != std::errc() || stop != end) return status;
  const std::string rest = message.substr(0, mark);
  std::vector<Diagnostic> diagnostics = status.diagnostics();
  for (Diagnostic& d : At(ordinal, rest, places)) diagnostics.push_back(std::move(d));
  return {status.code(), status.reason(), rest, std::move(diagnostics)};
}

}  // namespace pullback::jit
