#include <catch2/catch.hpp>

#include "core/lang/lang.h"
#include "tests/core/lang/shape.h"
#include "tests/support/repeat.h"

namespace pullback::lang {
namespace {

using testing::Repeat;

std::string Body(const std::string& statements) { return "fn f() {\n" + statements + "\n}"; }

std::string ShapeOfBody(const std::string& statements) {
  StatusOr<Program> p = Parse(Body(statements));
  INFO(p.status().ToString());
  REQUIRE(p.ok());
  return Shape(*p);
}

// Messages of all errors and notes, a line each, as "line:column: message".
std::string AllErrors(const std::string& text) {
  StatusOr<Program> p = Parse(text);
  REQUIRE_FALSE(p.ok());
  std::string out;
  for (const Diagnostic& d : p.status().diagnostics()) {
    out +=
        std::to_string(d.span.line) + ":" + std::to_string(d.span.column) + ": " + d.message + "\n";
  }
  return out;
}

bool Has(const std::string& s, const std::string& part) {
  return s.find(part) != std::string::npos;
}

TEST_CASE("parser: precedence") {
  CHECK(ShapeOf("a + b * c") == "(+ a (* b c))");
  CHECK(ShapeOf("a - b - c") == "(- (- a b) c)");
  CHECK(ShapeOf("a / b @ c % d") == "(% (@ (/ a b) c) d)");
  CHECK(ShapeOf("-x ** 2") == "(neg (** x 2))");
  CHECK(ShapeOf("2.0 ** -k ** 3") == "(** 2.0 (neg (** k 3)))");
  CHECK(ShapeOf("a ** b ** c") == "(** a (** b c))");
  CHECK(ShapeOf("-a * b") == "(* (neg a) b)");
  CHECK(ShapeOf("- -a") == "(neg (neg a))");
  CHECK(ShapeOf("not a == b and c or d") == "(or (and (not (== a b)) c) d)");
  CHECK(ShapeOf("!a && b || !!c") == "(or (and (not a) b) (not (not c)))");
  CHECK(ShapeOf("(a + b) * c") == "(* (+ a b) c)");
}

TEST_CASE("parser: comparison chains are conjunctions") {
  CHECK(ShapeOf("a < b") == "(< a b)");
  CHECK(ShapeOf("0 <= i < n") == "(and~ (<= 0 i) (< i n))");
  CHECK(ShapeOf("a < b == c > d") == "(and~ (and~ (< a b) (== b c)) (> c d))");
  CHECK(ShapeOf("(a < b) < c") == "(< (< a b) c)");
  CHECK(ShapeOf("0 <= (sum i < n { x[i] }) < 2") ==
        "(and~ (<= 0 (sum (i _ n) { (at x i) })) (< (sum (i _ n) { (at x i) }) 2))");
}

TEST_CASE("parser: postfix") {
  CHECK(ShapeOf("x[i, j + 1]") == "(at x i (+ j 1))");
  CHECK(ShapeOf("x[:, 1:, :n, a:b, ::2, 1:2:3]") ==
        "(at x (: _ _ _) (: 1 _ _) (: _ n _) (: a b _) (: _ _ 2) (: 1 2 3))");
  CHECK(ShapeOf("x.T[0].T") == "(T (at (T x) 0))");
  CHECK(ShapeOf("t.0.1") == "(field 1 (field 0 t))");
  CHECK(ShapeOf("f(a, g(b),)") == "(call f a (call g b))");
  CHECK(ShapeOf("f.(a, b)") == "(each f a b)");
  CHECK(ShapeOf("sum(x) + max(a, b)") == "(+ (call sum x) (call max a b))");
  CHECK(ShapeOf("f64(k) * i64(true)") == "(* (cast f64 k) (cast i64 true))");
  CHECK(ShapeOf("f().0") == "(field 0 (call f))");
}

TEST_CASE("parser: brackets, arrays, tuples") {
  CHECK(ShapeOf("[i == j] * x") == "(* (bracket (== i j)) x)");
  CHECK(ShapeOf("[e,]") == "(array e)");
  CHECK(ShapeOf("[[1, 0], [0, 1]]") == "(array (array 1 0) (array 0 1))");
  CHECK(ShapeOf("[1, 2,]") == "(array 1 2)");
  CHECK(ShapeOf("(a, (b, c),)") == "(tuple a (tuple b c))");
  CHECK(ShapeOf("((a))") == "a");
}

TEST_CASE("parser: comprehensions") {
  CHECK(ShapeOf("gen i < n, j in 1..m + 1 { x[i] * y[j] }") ==
        "(gen (i _ n) (j 1 (+ m 1)) { (* (at x i) (at y j)) })");
  CHECK(ShapeOf("max i < n { let y = x[i]; y * y } - 1") ==
        "(- (max (i _ n) { (let <y> (at x i)) (* y y) }) 1)");
  CHECK(ShapeOf("gen i < n { x[i] }[0]") == "(at (gen (i _ n) { (at x i) }) 0)");
  CHECK(ShapeOf("sum i < n { if p { 1 } else { 2 } }") ==
        "(sum (i _ n) { (if (p { 1 }) (_ { 2 })) })");
}

TEST_CASE("parser: words of comprehensions are names too") {
  CHECK(ShapeOfBody("var sum = 0\nsum = sum + x\nlet y = sum\nx = y") ==
        "(fn f { (var <sum> 0) (set <sum> (+ sum x)) (let <y> sum) (set <x> y) })\n");
}

TEST_CASE("parser: if as a value") {
  CHECK(ShapeOf("if a { 1 } else if b { 2 } else { 3 }") == "(if (a { 1 }) (b { 2 }) (_ { 3 }))");
  CHECK(ShapeOf("gen i < n { if a { let z = 1; z } else { if b { 2 } else { 3 } } }") ==
        "(gen (i _ n) { (if (a { (let <z> 1) z }) (_ { (if (b { 2 }) (_ { 3 })) })) })");
  CHECK(ShapeOf("gen i < n { if a { x = 1 } \n 3 }") ==
        "(gen (i _ n) { (if (a { (set <x> 1) })) 3 })");
  CHECK(Has(FirstError(Body("let y = if a { 1 }")), "needs an 'else'"));
  CHECK(Has(FirstError(Body("let y = if a { 1 } else { }")), "this block needs a value"));
  CHECK(Has(FirstError(Body("let y = gen i < n { if a { 1 } }")), "needs an 'else'"));
  CHECK(Has(FirstError(Body("let y = gen i < n { if a { 1 } else { } }")), "needs a value"));
  CHECK(Has(FirstError(Body("let y = gen i < n { if a { 1 } else { 2 }\n 3 }")), "is not used"));
}

TEST_CASE("parser: statements") {
  CHECK(ShapeOfBody("let x = 1; var y: [n]f64 = z") ==
        "(fn f { (let <x> 1) (var <y>:(array f64 n) z) })\n");
  CHECK(ShapeOfBody("let (a, b) = t; let c, d = 1, 2; var e, g = t") ==
        "(fn f { (let <a> <b> t) (let <c> <d> (tuple 1 2)) (var <e> <g> t) })\n");
  CHECK(ShapeOfBody("a, b = b, a; x[i, j], y = t") ==
        "(fn f { (set <a> <b> (tuple b a)) (set <x i j> <y> t) })\n");
  CHECK(ShapeOfBody("x += 1; x[i] *= a - b") ==
        "(fn f { (set! <x> (+ x 1)) (set! <x i> (* (at x i) (- a b))) })\n");
  CHECK(
      ShapeOfBody("while a { break; continue }\nfor i < n { }\nfor i in a..b { return }") ==
      "(fn f { (while a { (break) (continue) }) (for (i _ n) { }) (for (i a b) { (return) }) })\n");
  CHECK(ShapeOfBody("if a { return 1 } return 2") ==
        "(fn f { (if (a { (return 1) })) (return 2) })\n");
  CHECK(ShapeOfBody("if a { x = 1 }\nelse if b { x = 2 }\nelse { x = 3 }") ==
        "(fn f { (if (a { (set <x> 1) }) (b { (set <x> 2) }) (_ { (set <x> 3) })) })\n");
}

TEST_CASE("parser: functions and types") {
  StatusOr<Program> p = Parse(
      "fn f(x: f64, a: [n, 2 * m]f32, t: (i64, [n]bool),) -> (f64) { return x }\n"
      "fn g() { }");
  REQUIRE(p.ok());
  CHECK(Shape(*p) ==
        "(fn f x:f64 a:(array f32 n (* 2 m)) t:(types i64 (array bool n)) -> f64 { (return x) })\n"
        "(fn g { })\n");
  CHECK(p->user_functions == 2);
  CHECK(p->functions[1]->span.line == 2);
}

TEST_CASE("parser: where lines end statements") {
  CHECK(ShapeOfBody("let a = x +\n  y\nlet b = (x\n + y)\nlet c = f(\nx,\ny\n)") ==
        "(fn f { (let <a> (+ x y)) (let <b> (+ x y)) (let <c> (call f x y)) })\n");
  CHECK(ShapeOfBody("let a =\n  x\nlet b,\n c = t") == "(fn f { (let <a> x) (let <b> <c> t) })\n");
  CHECK(ShapeOf("(gen i < n {\n let a = x\n a\n})") == "(gen (i _ n) { (let <a> x) a })");
  CHECK(ShapeOfBody("return\nx = 1") == "(fn f { (return) (set <x> 1) })\n");
  CHECK(Has(FirstError(Body("let a = x\n  - y")), "an expression ends with its line"));
  CHECK(Has(FirstError(Body("let a = f\n(x)")),
            "3:2: the value of this expression is not used; an expression"));
  CHECK(Has(FirstError(Body("let a = (gen i < n {\n x\n + y })")),
            "3:2: the value of this expression is not used; an"));
  CHECK(Has(FirstError(Body("let a = x\n  + y")), "found '+'; an expression ends with its line"));
  CHECK(Has(FirstError(Body("let a = 1 let b = 2")), "expected the end of the statement"));
}

TEST_CASE("parser: the least integer") {
  CHECK(ShapeOf("-9223372036854775808") == "-9223372036854775808");
  CHECK(ShapeOf("1 - -9223372036854775808") == "(- 1 -9223372036854775808)");
  CHECK(Has(FirstError(Body("return 9223372036854775808")), "too large for i64"));
  CHECK(Has(FirstError(Body("return -9223372036854775808 ** 2")), "too large for i64"));
}

TEST_CASE("parser: errors say what was expected and what was found") {
  CHECK(FirstError(Body("let a = *")) == "2:9: expected an expression, found '*'");
  CHECK(FirstError("fn f(") == "1:6: expected a parameter name, found the end of the text");
  CHECK(FirstError("fn f(x) { }") ==
        "1:7: expected ':' and a type after the parameter's name, found ')'");
  CHECK(Has(FirstError("fn f(x: 3) { }"), "expected a type such as f64"));
  CHECK(Has(FirstError("fn f(x: []f64) { }"), "an array type names its sizes"));
  CHECK(Has(FirstError("fn f(x: [n][m]f64) { }"), "all axes in one pair of brackets"));
  CHECK(Has(FirstError("fn f(x: f64): f64 { }"), "after '->'"));
  CHECK(Has(FirstError("let x = 1"), "expected 'fn'"));
  CHECK(Has(FirstError(""), "at least one function"));
  CHECK(Has(FirstError("# nothing\n"), "at least one function"));
  CHECK(Has(FirstError(Body("x == 1")), "'==' compares, '=' assigns"));
  CHECK(Has(FirstError("fn f() -> f64 { 1.0 }"), "'return' makes it the result"));
  CHECK(Has(FirstError(Body("f(x) = 1")), "only a variable"));
  CHECK(Has(FirstError(Body("let y = x[a:b:0]")), "positive integer literal"));
  CHECK(Has(FirstError(Body("let y = x[a:b:k]")), "positive integer literal"));
  CHECK(Has(FirstError(Body("let y = ()")), "found ')'"));
  CHECK(Has(FirstError(Body("let y = []")), "at least one element"));
  CHECK(Has(FirstError(Body("let y = (a,)")), "at least two elements"));
  CHECK(Has(FirstError(Body("let y = a == not b")), "in brackets"));
  CHECK(Has(FirstError(Body("let a = sum i in n { 1 }")), "expected '..' between the bounds"));
  CHECK(Has(FirstError(Body("for i <= n { }")), "expected '< n' or 'in lo..hi'"));
  CHECK(Has(FirstError(Body("return a, b")), "return (a, b)"));
  CHECK(Has(FirstError(Body("let y = 1, 2")), "write a tuple"));
  CHECK(Has(FirstError(Body("let struct = 1")), "found the reserved word 'struct'"));
  CHECK(Has(FirstError(Body("let y = x.+")), "expected a field, 'T'"));
}

TEST_CASE("parser: unclosed brackets note where they were opened") {
  std::string errors = AllErrors("fn f() {\n  let a = (1 + [2\n}\nfn g() { }");
  CHECK(Has(errors, "3:1: expected ']', found '}'"));
  CHECK(Has(errors, "2:16: '[' was opened here"));
  errors = AllErrors("fn f() {\n  if a {\n}\nfn g() { }");
  CHECK(errors == "4:1: expected '}', found 'fn'\n1:8: '{' was opened here\n");
}

TEST_CASE("parser: one error a statement, many statements") {
  std::string errors = AllErrors(
      "fn f(x: f64) -> f64 {\n"
      "  let a = x +* 2 $ 3\n"
      "  let b = (x + 1\n"
      "  let c = 3 $ 4\n"
      "  while x +/ 3 { let q = ) }\n"
      "  return a b\n"
      "}\n"
      "fn g(x: ) { let y = 1 }\n"
      "fn h() { let z = ] }\n");
  CHECK(errors ==
        "2:14: expected an expression, found '*'\n"
        "2:18: unexpected character '$'\n"
        "4:3: expected ')', found 'let'\n"
        "3:11: '(' was opened here\n"
        "4:13: unexpected character '$'\n"
        "5:12: expected an expression, found '/'\n"
        "6:12: expected the end of the statement (a new line or ';'), found 'b'\n"
        "8:9: expected a type such as f64, [n]f64 or (f64, i64), found ')'\n"
        "9:18: expected an expression, found ']'\n");
}

TEST_CASE("parser: errors are capped") {
  StatusOr<Program> p = Parse(Body(Repeat("let a = *\n", 100)));
  REQUIRE_FALSE(p.ok());
  CHECK(p.status().code() == Code::kInvalidArgument);
  CHECK(p.status().reason() == "SYNTAX_ERROR");
  CHECK(p.status().diagnostics().size() == 20);
}

TEST_CASE("parser: errors carry an excerpt") {
  StatusOr<Program> p = Parse("fn f() {\n  let abc = 1 +\n}");
  REQUIRE_FALSE(p.ok());
  CHECK(Has(p.status().diagnostics()[0].excerpt, "}\n^"));
}

TEST_CASE("parser: what is not there yet is UNIMPLEMENTED, with its place") {
  for (const char* e : {"relations"}) {
    StatusOr<Program> p = Parse(Body(std::string("let y = ") + e));
    INFO(e);
    REQUIRE_FALSE(p.ok());
    CHECK(p.status().code() == Code::kUnimplemented);
    CHECK(p.status().reason() == "UNIMPLEMENTED");
    REQUIRE(p.status().diagnostics().size() == 1);
    CHECK(p.status().diagnostics()[0].span.line == 2);
    CHECK(p.status().diagnostics()[0].span.column == 9);
    CHECK(Has(p.status().message(), "is not implemented yet"));
  }
  CHECK(ReasonOf("relations r") == "UNIMPLEMENTED");
  CHECK(Parse("struct C { a: list f64 } fn f(g: list list C, b: box f64) { }").ok());
  CHECK(ReasonOf(Body("let y = *\nlet z = relations")) == "SYNTAX_ERROR");
}

TEST_CASE("parser: limits have their own reasons") {
  CHECK(ReasonOf(std::string((1 << 20) + 1, ' ')) == "SOURCE_TOO_LARGE");
  CHECK(ReasonOf(Body("let a = " + Repeat("(", 200) + "x" + Repeat(")", 200))) ==
        "NESTING_TOO_DEEP");
  CHECK(ReasonOf("fn f(x: " + Repeat("(f64, ", 200)) == "NESTING_TOO_DEEP");
  CHECK(ReasonOf("fn f(x: [n, n, n, n, n, n, n, n, n]f64) { }") == "TYPE_TOO_LARGE");
  CHECK(ReasonOf("fn f(x: (" + Repeat("f64, ", 65) + ")) { }") == "TYPE_TOO_LARGE");
  CHECK(ReasonOf("fn f(x: (" + Repeat("(f64, " + Repeat("i64, ", 31) + "), ", 3) + ")) { }") ==
        "TYPE_TOO_LARGE");
  CHECK(ReasonOf("fn f(" + Repeat("x: f64, ", 257) + ") { }") == "TYPE_TOO_LARGE");
  CHECK(ReasonOf(Body("let a = (" + Repeat("x, ", 65) + ")")) == "TYPE_TOO_LARGE");
  CHECK(ReasonOf(Body("let a = [" + Repeat("1, ", 65537) + "]")) == "CONSTANT_TOO_LARGE");
  CHECK(ReasonOf(Body("let a = [" + Repeat("[" + Repeat("1,", 300) + "], ", 300) + "]")) ==
        "CONSTANT_TOO_LARGE");
  CHECK(ReasonOf(Body("let a = x" + Repeat(" + x", 2001))) == "NESTING_TOO_DEEP");
}

TEST_CASE("parser: up to the limits") {
  CHECK(Parse(Body("let a = " + Repeat("(", 99) + "x" + Repeat(")", 99))).ok());
  CHECK(Parse(Body("let a = x" + Repeat(" + x", 2000))).ok());
  CHECK(Parse(Body("let a = x" + Repeat(" ** x", 2000))).ok());
  CHECK(Parse(Body("let a = [" + Repeat("1, ", 65536) + "]")).ok());
  CHECK(Parse("fn f(" + Repeat("x: f64, ", 256) + ") { }").ok());
  CHECK(Parse(Body("if c { x = 1 }" + Repeat(" else if c { x = 1 }", 3000))).ok());
}

// Each of these would recurse once per repetition without a limit.
TEST_CASE("parser: no repetition recurses without bound") {
  const int n = 100000;
  for (const char* piece :
       {"(", "[", "-", "not ", "!", "f(", "f.(", "x[", "f64(", "{", "if ", "if x { ", "sum i < ",
        "gen i < n { ", "a ** -", "x[:", "while ", "(a, ", "1 + ("}) {
    INFO(piece);
    StatusOr<Program> p = Parse(Body("let a = " + Repeat(piece, n)));
    CHECK_FALSE(p.ok());
    CHECK_FALSE(Parse("fn f() {" + Repeat(piece, n)).ok());
  }
  for (const char* piece : {"x[0]", ".T", ".0", " + 1", " ** 2", " < 3", " and b", "(", "else "}) {
    INFO(piece);
    CHECK_FALSE(Parse(Body("let a = x" + Repeat(piece, n))).ok());
  }
  CHECK_FALSE(Parse("fn f(x: " + Repeat("[", n)).ok());
  CHECK_FALSE(Parse("fn f(x: " + Repeat("(", n)).ok());
  CHECK(Parse(Body(Repeat(";", n))).ok());
}

// Chains in brackets inside chains: the tree's height is bounded, not only each chain's.
TEST_CASE("parser: the whole tree's height is bounded") {
  std::string e = "x";
  for (int i = 0; i < 50; ++i) e = "(" + e + ")" + Repeat(" + x", 100);
  CHECK(ReasonOf(Body("let a = " + e)) == "NESTING_TOO_DEEP");
  e = "x";
  for (int i = 0; i < 30; ++i) e = "gen i < n { let y = " + e + Repeat(" + x", 100) + "; y }";
  CHECK(ReasonOf(Body("let a = " + e)) == "NESTING_TOO_DEEP");
}

// What is written once and stands twice in the tree cannot double without end.
TEST_CASE("parser: copies are bounded") {
  std::string chain = "a";
  for (int i = 0; i < 40; ++i) chain = "a == (" + chain + ") == a";
  CHECK(ReasonOf(Body("let b = " + chain)) == "PROGRAM_TOO_LARGE");
  std::string augmented = "0";
  for (int i = 0; i < 30; ++i) augmented = "gen i < n { var y = z; y[" + augmented + "] += 1; y }";
  CHECK(ReasonOf(Body("let b = " + augmented)) == "PROGRAM_TOO_LARGE");
}

}  // namespace
}  // namespace pullback::lang
