// Programs as people write them who come from other languages: one message, its place, what to write instead.
#include <catch2/catch.hpp>

#include "tests/core/lang/check_support.h"

namespace pullback::lang {
namespace {

struct Mistake {
  const char* text;     // on one line
  const char* message;  // with line and column
};

void CheckMistakes(const std::vector<Mistake>& mistakes) {
  for (const Mistake& m : mistakes) {
    INFO(m.text);
    const std::string said = Messages(m.text);
    const size_t reason = said.starts_with("SYNTAX_ERROR") ? said.find('\n') + 1 : 0;
    CHECK(said.substr(reason) == std::string(m.message) + "\n");
    const Status status = CheckText(m.text);
    for (const Diagnostic& d : status.diagnostics()) CHECK_FALSE(d.excerpt.empty());
  }
}

std::string In(const std::string& body) {
  return "fn f(x: f64, n: i64, v: [m]f64) -> f64 { " + body + " }";
}

void CheckBodies(const std::vector<std::pair<const char*, const char*>>& bodies) {
  std::vector<std::string> texts;
  for (const auto& body : bodies) texts.push_back(In(body.first));
  std::vector<Mistake> mistakes;
  for (size_t i = 0; i < bodies.size(); ++i)
    mistakes.push_back({texts[i].c_str(), bodies[i].second});
  CheckMistakes(mistakes);
}

TEST_CASE("habits: words of other languages") {
  CheckBodies({
      {"return if True { x } else { 0.0 }", "1:52 unknown name 'True'; here it is 'true'"},
      {"return ln(x)", "1:49 unknown function 'ln'; here it is 'log'"},
      {"return np.exp(x)", "1:49 unknown name 'np'; functions stand alone: exp(x)"},
      {"return float(n)", "1:49 unknown function 'float'; here it is 'f64'"},
      {"for i in range(n) { let y = v[i] }\n return x",
       "1:51 unknown function 'range'; a range is 'i < n' or 'i in a..b'"},
      {"let k = v.shape[0]\n return x",
       "1:50 there is no field .shape in [*]f64; here it is dim(x, 0)"},
      {"return v.sum()", "1:49 there is no field .sum in [*]f64; here it is sum(x)"},
      {"return v.mean()", "1:49 there is no field .mean in [*]f64; here it is mean(x)"},
      {"return v.unheard()", "1:49 there is no field .unheard in [*]f64"},
      {"return sum(where(v > 0.0, v, 0.0))",
       "1:53 unknown function 'where'; here it is select(c, a, b), of each element select.(c, a, "
       "b)"},
      {"assert(x > 0.0)\n return x",
       "1:42 unknown function 'assert'; a program asserts nothing; a wrong subscript or size ends "
       "the run"},
      {"total = x\n return x", "1:42 unknown variable 'total'; define it first: var total = …"},
  });
  CheckMistakes(
      {{"fn f(x: double) -> f64 { return 1.0 }", "1:9 unknown type 'double'; here it is 'f64'"},
       {"fn f(e: [n, n]rel) -> f64 { return 1.0 }",
        "1:9 unknown type 'rel'; its sizes stand behind: rel[n, m]"}});
}

TEST_CASE("habits: grammars of other languages") {
  CheckBodies({
      {"return x ^ 2.0", "1:51 unexpected character '^'; a power is x ** y"},
      {"return x > 0.0 ? x : 0.0",
       "1:57 unexpected character '?'; a choice is if c { a } else { b }"},
      {"return x # y\n // z",
       "2:2 expected an expression, found '/'; a comment begins with '#', and '/' divides integers "
       "too"},
      {"var i = 0\n i++\n return x", "2:4 expected an expression, found '+'; write i += 1"},
      {"if x > 0.0: return x", "1:52 expected '{', found ':'; a block stands between { and }"},
      {"if n = 1 { return x }\n return x", "1:47 expected '{', found '='; '==' compares"},
      {"if n > 1 { return x } else n > 2 { return x }\n return x",
       "1:69 expected '{', found 'n'; with a condition it is 'else if'"},
      {"if n > 1 { return x } elif n > 2 { return x }\n return x",
       "1:69 expected the end of the statement (a new line or ';'), found 'n'; here it is 'else "
       "if'"},
      {"return x if n > 1 else 0.0",
       "1:51 expected the end of the statement (a new line or ';'), found 'if'; as a value it is "
       "if c "
       "{ a } else { b }"},
      {"let g = lambda t: t\n return x",
       "1:57 expected the end of the statement (a new line or ';'), found 't'; here it is |x| e"},
      {"return n as f64",
       "1:51 expected the end of the statement (a new line or ';'), found 'as'; a conversion is "
       "f64(x) "
       "or i64(x)"},
      {"let mut y = x\n return y",
       "1:50 expected '=' and a value, found 'y'; what changes is a 'var'"},
      {"let p = P { a: x }\n return x",
       "1:52 expected the end of the statement (a new line or ';'), found '{'; a struct is made by "
       "S(a, "
       "b)"},
      {"return sum(v[i] for i in 0..n)",
       "1:58 expected ')', found 'for'; in an expression it is gen i < n { e } or sum i < n { e "
       "}\n1:52 '(' was opened here"},
      {"float y = x\n return y",
       "1:48 expected the end of the statement (a new line or ';'), found 'y'; a name is defined "
       "by "
       "let y = x, or var y = x"},
      {"y := x\n return y",
       "1:44 expected the end of the statement (a new line or ';'), found ':'; a name is defined "
       "by "
       "let y = x, or var y = x"},
      {"assert x > 0.0\n return x",
       "1:49 expected the end of the statement (a new line or ';'), found 'x'; a program "
       "asserts nothing; a wrong subscript or size ends the run"},
      {"return .5 * x",
       "1:49 expected an expression, found '.'; a number begins with a digit: 0.5"},
      {"return sum(scan i < m { v[i] })",
       "1:58 expected ')', found 'i'; what is added up is said: scan sum i < n { e }\n1:52 '(' was "
       "opened here"},
      {"return sum i in m { v[i] }",
       "1:60 expected '..' between the bounds of the range, found '{'; a range is i < n or i in "
       "a..b"},
      {"for i in 0..m..2 { }\n return x",
       "1:55 expected '{', found '..'; a range goes by ones: of every other it is 2 * i"},
      {"for (i < n) { }\n return x", "1:46 a loop is for i < n { … } or for i in a..b { … }"},
  });
  CheckMistakes({
      {"def f(x):",
       "1:1 expected 'fn' or 'struct': a program is a list of functions and structs, found 'def'; "
       "here it is 'fn'"},
      {"let pi = 3.14",
       "1:1 expected 'fn' or 'struct': a program is a list of functions and structs, found 'let'; "
       "names are defined inside of functions"},
      {"fn f(x: f64[n]) { }",
       "1:12 expected ')', found '['; sizes stand in front: [n]f64\n1:5 '(' was opened here"},
      {"fn f(x: [f64; 3]) { }", "1:10 an array type names its sizes: [n]f64"},
      {"struct P { a: f64; b: f64 }",
       "1:18 expected '}', found ';'; parts are separated by ','\n1:10 '{' was opened here"},
  });
}

TEST_CASE("habits: conditions as factors") {
  CheckBodies({
      {"return (x > 0.0) * x",
       "1:49 '*' needs numbers, got bool and f64; a factor that is 1 where a condition holds "
       "stands "
       "in brackets: [x > 0.0] * x"},
      {"return x * (x > 0.0)",
       "1:49 '*' needs numbers, got f64 and bool; a factor that is 1 where a condition holds "
       "stands "
       "in brackets: [x > 0.0] * x"},
      {"return (x > 0.0) + x", "1:49 '+' needs numbers, got bool and f64"},
  });
  CheckMistakes({
      {"fn f(e: rel[n, n], x: [n]f64) -> f64 { return sum i < n, j < n { e(i, j) * x[i] } }",
       "1:66 '*' needs numbers, got bool and f64; a factor that is 1 where a condition holds "
       "stands "
       "in brackets: [e(i, j)] * x[i]"},
      {"fn f(e: rel[n, n], x: [n]f64) -> f64 { return sum i < n, j < n { [e[i, j]] * x[i] } }",
       "1:67 too many subscripts: rel[n, n] takes none, got 2; whether it holds is asked in "
       "parentheses: e(i, j)"},
  });
}

TEST_CASE("habits: whole numbers where a derivative is asked for") {
  CHECK(Messages("fn f(x: f64) -> f64 { return grad(|t| t ** 2)(3) * x }") ==
        "1:30 'grad' has nothing to differentiate by: no argument of the lambda at 1:35 holds an "
        "f64 or f32; floats are 3.0 and f64(n)\n"
        "1:30 in grad of the lambda at 1:35 called with (i64)\n"
        "1:39 '**' is a power of floats, got i64 on its left; write f64(t)\n"
        "1:30 in the lambda at 1:35 called with (i64)\n");
}

TEST_CASE("habits: operators are given functions") {
  const std::string g = "fn g(x: f64) -> f64 { return x }\n";
  CHECK(Messages(g + "fn f(x: f64) -> f64 { return grad(g, x) }") ==
        "2:30 'grad' takes 1 argument, got 2: write grad(f)(x)\n");
  CHECK(Messages(g + "fn f(x: f64) -> f64 { return grad(g(x)) }") ==
        "2:30 'grad' takes a function, got f64: write grad(f)(x)\n");
  CHECK(Messages("fn f(x: f64) -> i64 { return vjp(|t: i64| t, 3).1(2) }") ==
        "1:30 'vjp' has nothing to differentiate by: no argument of the lambda at 1:34 holds an "
        "f64 or f32; floats are 3.0 and f64(n)\n"
        "1:30 in the pullback of the lambda at 1:34 called with (i64)\n");
}

TEST_CASE("habits: an unknown value says so once") {
  CHECK(Messages("fn f(x: [n]f64) -> i64 { return y[0] }") == "1:33 unknown name 'y'\n");
  CHECK(Messages("fn f(n: i64) -> [n, n]f64 { return zeros((n, n)) }") ==
        "1:42 a size of 'zeros' must be an i64, got (i64, i64)\n");
  const std::string fs = "list(|t: f64| t, |t: f64| t * t)";
  CHECK(Messages("fn f(x: f64) -> f64 { return reduce(|a, g| a + g(x), 0.0, " + fs + ") }") ==
        "1:30 which function is called is not known here before the program runs; give what holds "
        "the "
        "functions a name: let fs = list(…)\n");
  CHECK(CheckText("fn f(x: f64) -> f64 { let fs = " + fs +
                  "\n return reduce(|a, g| a + g(x), 0.0, fs) }")
            .ok());
  CHECK(Messages("fn f(x: f64) -> f64 { return reduce(|a, g| a + g, 0.0, list()) }") ==
        "1:30 the type of the empty list's elements is not known here; give the list a name: let "
        "xs: list f64 = list()\n");
}

}  // namespace
}  // namespace pullback::lang
