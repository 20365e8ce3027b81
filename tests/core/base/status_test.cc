#include "core/base/status.h"

#include <catch2/catch.hpp>

namespace pullback {
namespace {

Span At(uint32_t begin, uint32_t end) { return {begin, end, 1, begin + 1}; }

TEST_CASE("an excerpt marks the span with carets") {
  CHECK(MakeExcerpt("let x = 1\nlet yy = 2\n", {14, 16, 2, 5}) == "let yy = 2\n    ^^");
}

TEST_CASE("an excerpt has a caret where the span is empty, also at the end of the text") {
  CHECK(MakeExcerpt("ab", At(1, 1)) == "ab\n ^");
  CHECK(MakeExcerpt("ab", At(2, 2)) == "ab\n  ^");
  CHECK(MakeExcerpt("ab", At(7, 9)) == "ab\n  ^");
  CHECK(MakeExcerpt("", At(0, 0)) == "\n^");
}

TEST_CASE("an excerpt keeps tabs and counts code points") {
  CHECK(MakeExcerpt("\tx = \xC3\xA9 + y", At(9, 10)) == "\tx = \xC3\xA9 + y\n\t       ^");
}

TEST_CASE("an excerpt replaces what is not UTF-8, since protobuf strings must be") {
  CHECK(MakeExcerpt("a\xFFz", At(2, 3)) == "a\xEF\xBF\xBDz\n  ^");
  CHECK(MakeExcerpt("a\xC3", At(0, 1)) == "a\xEF\xBF\xBD\n^");
  CHECK(MakeExcerpt(std::string("a\0b\r", 4), At(2, 3)) == "a b \n  ^");
}

TEST_CASE("a span over several lines is marked to the end of its first") {
  CHECK(MakeExcerpt("f(a,\n  b)", At(1, 9)) == "f(a,\n ^^^");
}

TEST_CASE("a long line is shortened around the span") {
  const std::string line = std::string(300, 'a') + "X" + std::string(300, 'b');
  const std::string excerpt = MakeExcerpt(line, At(300, 301));
  const size_t newline = excerpt.find('\n');
  CHECK(newline == 106);
  CHECK(excerpt.substr(0, 3) == "...");
  CHECK(excerpt.find('X') == excerpt.size() - 1 - (newline + 1));
}

TEST_CASE("a diagnostic names place, severity and excerpt") {
  const Diagnostic d{Severity::kWarning, {0, 1, 3, 7}, "unused", "x\n^"};
  CHECK(FormatDiagnostic(d) == "3:7: warning: unused\nx\n^");
  CHECK(FormatDiagnostic({Severity::kError, {}, "no place", ""}) == "error: no place");
}

TEST_CASE("a status prints its code, reason, message and diagnostics") {
  const Status s(Code::kInvalidArgument, "TYPE_ERROR", "bad",
                 {{Severity::kNote, {}, "see here", ""}});
  CHECK(s.ToString() == "INVALID_ARGUMENT [TYPE_ERROR]: bad\nnote: see here");
  CHECK(Status().ToString() == "OK");
  CHECK(Status().ok());
}

StatusOr<int> Half(int n) {
  if (n % 2) return Status(Code::kOutOfRange, "ODD", "odd");
  return n / 2;
}

StatusOr<int> Quarter(int n) {
  PB_ASSIGN_OR_RETURN(const int half, Half(n));
  return Half(half);
}

TEST_CASE("StatusOr carries a value or passes a status on") {
  CHECK(*Quarter(12) == 3);
  CHECK(Quarter(6).status().reason() == "ODD");
  CHECK_FALSE(Quarter(5).ok());
}

}  // namespace
}  // namespace pullback
