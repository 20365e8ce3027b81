// Syntax errors of the IR's text: place, message and caret.
#include "core/ir/parser.h"

#include <catch2/catch.hpp>

namespace pullback::ir {
namespace {

// "line:column message" of the error in a function's body, whose first line is line 3.
std::string ErrorOf(const std::string& text) {
  const auto m = ParseModule(text);
  REQUIRE_FALSE(m.ok());
  CHECK(m.status().code() == Code::kInvalidArgument);
  CHECK(m.status().reason() == "IR_SYNTAX");
  REQUIRE(m.status().diagnostics().size() == 1);
  const Diagnostic& d = m.status().diagnostics()[0];
  return std::to_string(d.span.line) + ":" + std::to_string(d.span.column) + " " + d.message;
}

std::string ErrorIn(const std::string& body) {
  return ErrorOf("fn @f(%x: f64, %a: [*]f64, %n: i64) -> () {\nb0:\n" + body + "\n  ret\n}\n");
}

TEST_CASE("parser: an error carries the line and a caret") {
  const auto m = ParseModule("fn @f() -> () {\nb0:\n  %y = nope 1\n  ret\n}\n");
  REQUIRE_FALSE(m.ok());
  CHECK(FormatDiagnostic(m.status().diagnostics()[0]) ==
        "3:8: error: expected an operation\n  %y = nope 1\n       ^^^^");
}

TEST_CASE("parser: names") {
  CHECK(ErrorIn("  %y = neg %z") == "3:12 `%z` is not defined");
  CHECK(ErrorIn("  %x = neg %x") == "3:3 `%x` is defined twice");
  CHECK(ErrorIn("  %y = each(x < 2) { } sum []: 1.0").find("`x` is") == std::string::npos);
  CHECK(ErrorIn("  %y = each(n < 2) { } sum []: 1.0") == "3:13 `%n` is defined twice");
  CHECK(ErrorIn("  %y = each(i < 2) { } sum []: 1.0\n  %z = affine %i") ==
        "4:15 `%i` is not defined");
  CHECK(ErrorIn("  %y = call @g()") == "3:13 there is no function `@g`");
  CHECK(ErrorIn("  jump b7\nb1:") == "3:8 there is no block `b7`");
  CHECK(ErrorIn("  jump b0\nb0:") == "4:1 this block is defined twice");
  CHECK(ErrorOf("entry @g\nfn @f() -> () {\nb0: ret }") == "1:7 there is no function `@g`");
  CHECK(ErrorOf("fn @f() -> () { b0: ret }\nfn @f() -> () { b0: ret }") ==
        "2:4 `@f` is defined twice");
}

TEST_CASE("parser: operands and results") {
  CHECK(ErrorIn("  %y = add %x") == "3:12 `add` takes 2 operands");
  CHECK(ErrorIn("  %y, %z = add %x, %x") == "3:12 `add` has 1 result");
  CHECK(ErrorIn("  %y = pop %x : f64") == "3:8 `pop` has 2 results");
  CHECK(ErrorIn("  %y = check true, index") == "3:8 `check` has 0 results");
  CHECK(ErrorIn("  check true, indx") == "3:15 expected a kind of trap such as `index`");
  CHECK(ErrorIn("  %y = neg call(%x)") == "3:12 only scalar operations can be operands");
  CHECK(ErrorIn("  %y = neg add(%x)") == "3:12 wrong number of operands");
  CHECK(ErrorIn("  %y = index %a[%x *]") == "3:20 expected `]`");
  CHECK(ErrorIn("  %y = dim %a, %n") == "3:16 expected a whole number");
  CHECK(ErrorIn("  %y = cast %x") == "4:3 expected `:`");
  CHECK(ErrorIn("  %y = cast %x : f16") ==
        "3:18 expected a type: f64, f32, i64, bool, [*]f64, tape, list<R> or box<R>");
}

TEST_CASE("parser: constants") {
  CHECK(ErrorIn("  %y = const 9223372036854775808") == "3:14 this integer does not fit in 64 bits");
  CHECK(ErrorIn("  %y = const 1e999").find("3:14 expected a value") == 0);
  CHECK(ErrorIn("  %y = const 0x12").find("3:14 expected a value") == 0);
  CHECK(ErrorIn("  %y = const -true") == "3:15 a bool has no sign");
  CHECK(ErrorIn("  %y = const 1.2.3").find("3:14 expected a value") == 0);
}

TEST_CASE("parser: structure") {
  CHECK(ErrorOf("fn f() -> () {}") == "1:4 expected a function name such as `@f`");
  CHECK(ErrorOf("fn @f() {}") == "1:9 expected `->`");
  CHECK(ErrorOf("fn @f() -> () {\nb0(%x: f64): ret }") ==
        "2:3 the parameters of the first block are the function's");
  CHECK(ErrorOf("fn @f() -> () {\nb0:\n  ret") == "3:6 expected a block such as `b1(%x: f64):`");
  CHECK(ErrorOf("fn @f() -> () {\nb0:\n  ret ?\n}") == "3:7 this character means nothing here");
  CHECK(ErrorOf("fn @\"f() -> () {}") == "1:4 this name has no closing quote");
  CHECK(ErrorOf("fn @f(% : f64) -> () {}") == "1:7 a name is missing here");
  CHECK(ErrorOf("nonsense") == "1:1 expected `fn`");
}

TEST_CASE("parser: nesting is bounded") {
  std::string deep = "  %y = ";
  for (int i = 0; i < 10000; ++i) deep += "neg(";
  CHECK(ErrorIn("  %y = neg " + deep.substr(7)).find("operations are nested too deeply") !=
        std::string::npos);
  std::string each = "  %y = ";
  for (int i = 0; i < 10000; ++i) each += "each(i < 1) { %y = ";
  CHECK(ErrorIn(each).find("nested too deeply") != std::string::npos);
}

TEST_CASE("parser: columns count code points") {
  CHECK(ErrorOf("# \xC3\xA9\nfn @\"\xC3\xA9\xC3\xA9\"() -> ?") ==
        "2:15 this character means nothing here");
}

}  // namespace
}  // namespace pullback::ir
