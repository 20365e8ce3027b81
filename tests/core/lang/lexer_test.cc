#include "core/lang/lexer.h"

#include <catch2/catch.hpp>

#include "core/lang/number.h"

namespace pullback::lang {
namespace {

// Kinds as their names, separated by blanks.
std::string Kinds(const std::string& text) {
  std::string s;
  for (const Token& t : Lex(text, 20).tokens) {
    if (t.kind != Tok::kEnd) s += (s.empty() ? "" : " ") + std::string(TokenName(t.kind));
  }
  return s;
}

Token First(const std::string& text) {
  Lexed lexed = Lex(text, 20);
  INFO(text);
  REQUIRE(lexed.errors.empty());
  REQUIRE(lexed.tokens.size() == 2);
  return lexed.tokens[0];
}

std::string FirstLexError(const std::string& text) {
  Lexed lexed = Lex(text, 20);
  INFO(text);
  REQUIRE_FALSE(lexed.errors.empty());
  return lexed.errors[0].message;
}

TEST_CASE("lexer: integers") {
  CHECK(First("12").int_value == 12);
  CHECK(First("1_000").int_value == 1000);
  CHECK(First("0x1f").int_value == 31);
  CHECK(First("0xFF_ff").int_value == 65535);
  CHECK(First("9223372036854775807").int_value == 9223372036854775807u);
  CHECK(First("007").int_value == 7);
  Token t = First("7i64");
  CHECK(t.has_suffix);
  CHECK(t.suffix == DType::kI64);
}

TEST_CASE("lexer: floats") {
  CHECK(First("1.5").float_value == 1.5);
  CHECK(First("1e-3").float_value == 1e-3);
  CHECK(First("2.5E+10").float_value == 2.5e10);
  CHECK(First("1_0.2_5").float_value == 10.25);
  CHECK(First("0.1f32").float_value == static_cast<double>(0.1f));
  CHECK(First("0.1f32").suffix == DType::kF32);
  CHECK(First("3f64").kind == Tok::kFloat);
  CHECK(First("1e-400").float_value == 0.0);
  CHECK(First("5e-324").float_value == 5e-324);
}

TEST_CASE("lexer: bad numbers say why") {
  CHECK(FirstLexError("9223372036854775809").find("too large for i64") != std::string::npos);
  CHECK(FirstLexError("99999999999999999999999").find("too large for i64") != std::string::npos);
  CHECK(FirstLexError("1e400") == "this number is too large for f64");
  CHECK(FirstLexError("1e39f32") == "this number is too large for f32");
  CHECK(FirstLexError("1.") == "a digit must follow the point: write '1.0'");
  CHECK(FirstLexError("1e+") == "an exponent needs digits");
  CHECK(FirstLexError("0x") == "a hexadecimal integer needs digits after '0x'");
  CHECK(FirstLexError("12abc").find("'abc' cannot follow a number") == 0);
  CHECK(FirstLexError("1.5i64").find("'i64' cannot follow a number") == 0);
  CHECK(FirstLexError("1__0").find("'__0' cannot follow a number") == 0);
}

TEST_CASE("lexer: a number before .. or a field is an integer") {
  CHECK(Kinds("0..n") == "an integer '..' a name");
  CHECK(Kinds("t.0.1") == "a name '.' an integer '.' an integer");
  CHECK(Kinds("1.T") == "an integer '.' a name");
}

TEST_CASE("lexer: the longest operator wins") {
  CHECK(Kinds("**=") == "'**' '='");
  CHECK(Kinds("a<=b") == "a name '<=' a name");
  CHECK(Kinds("->..!=") == "'->' '..' '!='");
}

TEST_CASE("lexer: keywords, names, reserved words") {
  CHECK(Kinds("fn fnord gen sum f64 f65 exists relations") ==
        "'fn' a name 'gen' a name 'f64' a name 'exists' a reserved word");
  CHECK(IsKeyword("struct"));
  CHECK_FALSE(IsKeyword("max"));
}

TEST_CASE("lexer: places and line starts") {
  std::vector<Token> t = Lex("a # x\n  b", 20).tokens;
  REQUIRE(t.size() == 3);
  CHECK_FALSE(t[0].newline_before);
  CHECK(t[1].newline_before);
  CHECK(t[1].span.line == 2);
  CHECK(t[1].span.column == 3);
  CHECK(t[1].span.begin == 8);
  CHECK(t[2].span.column == 4);
}

TEST_CASE("lexer: comments keep text, place and whether they stand alone") {
  std::vector<Comment> c = Lex("# one\r\na # two \t\n#\n", 20).comments;
  REQUIRE(c.size() == 3);
  CHECK(c[0].text == "# one");
  CHECK(c[0].own_line);
  CHECK(c[1].text == "# two");
  CHECK_FALSE(c[1].own_line);
  CHECK(c[1].line == 2);
  CHECK(c[2].text == "#");
}

TEST_CASE("lexer: bad bytes") {
  CHECK(FirstLexError("a $ b") == "unexpected character '$'");
  CHECK(FirstLexError("\xC3\xA9") == "unexpected character '\xC3\xA9'");
  CHECK(FirstLexError("\xFF") == "invalid UTF-8: byte \\xff");
  CHECK(FirstLexError("\xC0\xAF") == "invalid UTF-8: byte \\xc0");
  CHECK(FirstLexError("\xED\xA0\x80") == "invalid UTF-8: byte \\xed");
  CHECK(FirstLexError("\xF4\x90\x80\x80") == "invalid UTF-8: byte \\xf4");
  CHECK(FirstLexError(std::string("\0", 1)) == "unexpected character '\\x00'");
  CHECK(Lex("# \xFF is fine here", 20).errors.empty());
  CHECK(Lex("\xEF\xBB\xBF"
            "a",
            20)
            .errors.empty());
  CHECK(Kinds("a $$$ b") == "a name a bad character a name");
  CHECK(Lex(std::string(100, '$'), 20).errors.size() == 20);
}

TEST_CASE("lexer: shortest spelling of floats") {
  CHECK(SpellFloat(1.0, DType::kF64) == "1.0");
  CHECK(SpellFloat(0.1, DType::kF64) == "0.1");
  CHECK(SpellFloat(static_cast<double>(0.1f), DType::kF32) == "0.1");
  CHECK(SpellFloat(1e300, DType::kF64) == "1e+300");
}

}  // namespace
}  // namespace pullback::lang
