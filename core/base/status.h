// Status and StatusOr with a machine-readable reason and source positions.
//
// A user's mistake is a Status (it reaches the client); a broken invariant of ours is PB_CHECK,
// which ends the compile that met it (core/base/work.h) with INTERNAL, CHECK_FAILED, and elsewhere the
// process. What points into a Status or StatusOr is lifetimebound: the compiler refuses a range-for over
// a temporary's diagnostics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pullback {

// Half-open byte range in the program text with the 1-based line and column of its start.
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t line = 0;  // 0: no position
  uint32_t column = 0;
};

enum class Severity : uint8_t { kError, kWarning, kNote };

// One message about a program. `excerpt` is the source line with a caret line under it.
struct Diagnostic {
  Severity severity = Severity::kError;
  Span span;
  std::string message;
  std::string excerpt;
};

// "line:column: error: message\n<excerpt>"
std::string FormatDiagnostic(const Diagnostic& d);
// Cuts the line of `span` out of `text` and draws carets under the span (tabs kept, UTF-8 counted by
// code point, long lines shortened around the span).
std::string MakeExcerpt(const std::string& text, const Span& span);

// The gRPC canonical codes that we use; numbers are gRPC's.
enum class Code : uint8_t {
  kOk = 0,
  kCancelled = 1,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kUnauthenticated = 16,
};
const char* CodeName(Code code);  // "INVALID_ARGUMENT"

class [[nodiscard]] Status {
 public:
  Status() = default;
  // `reason` is UPPER_SNAKE and stable, e.g. "TYPE_ERROR", "INDEX_OUT_OF_RANGE".
  Status(Code code, std::string reason, std::string message,
         std::vector<Diagnostic> diagnostics = {})
      : code_(code),
        reason_(std::move(reason)),
        message_(std::move(message)),
        diagnostics_(std::move(diagnostics)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& reason() const [[clang::lifetimebound]] { return reason_; }
  const std::string& message() const [[clang::lifetimebound]] { return message_; }
  const std::vector<Diagnostic>& diagnostics() const [[clang::lifetimebound]] {
    return diagnostics_;
  }
  // Code, message and every diagnostic with its excerpt, for people.
  std::string ToString() const;

 private:
  Code code_ = Code::kOk;
  std::string reason_;
  std::string message_;
  std::vector<Diagnostic> diagnostics_;
};

// UNIMPLEMENTED; the message ends in " !place", an ordinal of the canonical program, 0 where it is not
// known. The engine makes it a place of the text that was sent.
Status UnimplementedAt(const std::string& what, uint32_t place);

[[noreturn]] void CheckFailed(const char* file, int line, const char* what);
#define PB_CHECK(cond) \
  ((cond) ? static_cast<void>(0) : ::pullback::CheckFailed(__FILE__, __LINE__, #cond))

template <typename T>
class [[nodiscard]] StatusOr {
 public:
  StatusOr(Status status) : status_(std::move(status)) { PB_CHECK(!status_.ok()); }  // NOLINT
  StatusOr(T value) : value_(std::move(value)) {}                                    // NOLINT

  bool ok() const { return value_.has_value(); }
  const Status& status() const [[clang::lifetimebound]] { return status_; }
  T& value() & [[clang::lifetimebound]] {
    PB_CHECK(ok());
    return *value_;
  }
  const T& value() const& [[clang::lifetimebound]] {
    PB_CHECK(ok());
    return *value_;
  }
  T&& value() && [[clang::lifetimebound]] {
    PB_CHECK(ok());
    return std::move(*value_);
  }
  T& operator*() & [[clang::lifetimebound]] { return value(); }
  const T& operator*() const& [[clang::lifetimebound]] { return value(); }
  T&& operator*() && [[clang::lifetimebound]] { return std::move(*this).value(); }
  T* operator->() [[clang::lifetimebound]] { return &value(); }
  const T* operator->() const [[clang::lifetimebound]] { return &value(); }

 private:
  Status status_;
  std::optional<T> value_;
};

#define PB_CONCAT_INNER(a, b) a##b
#define PB_CONCAT(a, b) PB_CONCAT_INNER(a, b)
#define PB_RETURN_IF_ERROR(expr)                                   \
  do {                                                             \
    if (::pullback::Status pb_s = (expr); !pb_s.ok()) return pb_s; \
  } while (false)
#define PB_ASSIGN_OR_RETURN(lhs, expr) PB_ASSIGN_IMPL(PB_CONCAT(pb_or_, __LINE__), lhs, expr)
#define PB_ASSIGN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                   \
  if (!tmp.ok()) return tmp.status();  \
  lhs = std::move(tmp).value()

}  // namespace pullback
