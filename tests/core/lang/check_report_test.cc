// How many messages there are, in which order, and which reason the status has.
#include <catch2/catch.hpp>

#include "tests/core/lang/check_support.h"

namespace pullback::lang {
namespace {

TEST_CASE("Check: a message has an excerpt") {
  Status status = CheckText("fn f(x: f64) -> f64 {\n  return 1.0 + speed\n}");
  CHECK(status.code() == Code::kInvalidArgument);
  CHECK(status.reason() == "TYPE_ERROR");
  CHECK(status.message() == "unknown name 'speed'");
  REQUIRE(status.diagnostics().size() == 1);
  CHECK(FormatDiagnostic(status.diagnostics()[0]) ==
        "2:16: error: unknown name 'speed'\n"
        "  return 1.0 + speed\n"
        "               ^^^^^");
}

TEST_CASE("Check: several mistakes are reported at once, in the order of the text") {
  CHECK(Messages(R"(fn f(x: f64) -> f64 { if x > 0.0 { return y } }
fn g(x: f64) -> f64 { return z + true }
fn h(x: [n]f64) -> [m]f64 { return x })") == R"(1:4 not every path of 'f' returns a value
1:43 unknown name 'y'
2:30 unknown name 'z'
3:21 unknown size 'm': sizes of the result are made of the parameters' sizes
)");
}

TEST_CASE("Check: a mistake is reported once, not wherever its value goes") {
  CHECK(Messages(R"(fn f(x: [n]f64) -> f64 {
  let a = unknown * 2
  let (b, c) = a
  var d: [n]f64 = a + b * c
  d = a
  d[a] = a
  for i < a { d[i] = a.0 }
  let e = gen i < a { a }
  let g = [a, b]
  if a { return f(a) }
  x[unknown] += 1.0
  return max(a, sum(a)) + sin.(a) + e[0] + g.T @ a + [a] * a + (if a { a } else { 1.0 })
})") == R"(2:11 unknown name 'unknown'
11:3 'x' may not be assigned: it is a parameter; copy it with 'var'
11:5 unknown name 'unknown'
)");
}

TEST_CASE("Check: at most 20 messages") {
  std::string text = "fn f(x: f64) -> f64 {\n";
  for (int i = 0; i < 50; ++i) text += "  let a = unknown" + std::to_string(i) + "\n";
  Status status = CheckText(text + "  return x\n}\n");
  CHECK(status.diagnostics().size() == 20);
  CHECK(status.diagnostics()[19].span.line == 21);
}

TEST_CASE("Check: what is wrong comes before limits, and those before what is not there yet") {
  const std::string later = "fn f(x: f64) -> f64 { return jacobian(|t: f64| list(t))(x) }\n";
  const std::string large = "fn g(x: [a, b]f64) -> f64 { let y = [x]; return 1.0 }\n";
  const std::string wrong = "fn h(x: f64) -> f64 { return y }\n";
  Limits limits;
  limits.max_rank = 2;
  CHECK(CheckText(later, limits).code() == Code::kUnimplemented);
  CHECK(CheckText(later + large, limits).reason() == "TYPE_TOO_LARGE");
  CHECK(CheckText(later + large, limits).code() == Code::kInvalidArgument);
  CHECK(CheckText(later + large + wrong, limits).reason() == "TYPE_ERROR");
  CHECK(CheckText(later + large + wrong, limits).message() == "unknown name 'y'");
}

TEST_CASE("Check: limits of ranks, tuples, parameters, sizes") {
  Limits limits;
  limits.max_rank = 2;
  limits.max_tuple = 3;
  limits.max_params = 2;
  CHECK(Messages("fn f(x: f64, y: f64, z: f64) -> f64 { return x }", limits) ==
        "TYPE_TOO_LARGE\n1:4 'f' has 3 parameters, over the limit of 2\n");
  CHECK(Messages("fn f(x: (f64, (f64, f64, f64))) -> [2, 2, 2]f64 { return zeros(2, 2, 2) }",
                 limits) ==
        R"(TYPE_TOO_LARGE
1:9 a tuple of 4 elements is over the limit of 3
1:36 an array of rank 3 is over the limit of 2
1:58 an array of rank 3 is over the limit of 2
)");
  CHECK(Messages(R"(fn f(x: [n, m]f64, t: (f64, f64)) -> f64 {
  let a = [x]
  let b = gen i < 2 { x }
  let c: [2, 2, 2]f64 = a
  let d = ((t, t))
  return 1.0
})",
                 limits) == R"(TYPE_TOO_LARGE
2:11 an array of rank 3 is over the limit of 2
3:11 an array of rank 3 is over the limit of 2
4:10 an array of rank 3 is over the limit of 2
5:12 a tuple of 4 elements is over the limit of 3
)");
  std::string text = "fn f(x: (f64";
  for (int i = 0; i < 300; ++i) {
    std::string n = std::to_string(i);
    if (i % 50 == 0) text += "), x" + n + ": ([k" + n + "]f64";
    text += ", [a" + n + ", b" + n + ", c" + n + ", d" + n + "]f64";
  }
  CHECK(Messages(text + ")) -> f64 { return 1.0 }") ==
        "TYPE_TOO_LARGE\n1:4 'f' has more than 1024 sizes\n");
}

TEST_CASE("Check: a bound on the work that sizes and tuples make") {
  std::string text = "fn f(t: ([n, n]f64, f64)) -> f64 {\n";
  for (int i = 0; i < 100; ++i) text += "  let a = t\n";
  text += "  return unknown\n}\nfn g() -> f64 { return unknown }\n";
  Limits limits;
  limits.max_ir_insts = 15;
  CHECK(
      Messages(text, limits) ==
      "PROGRAM_TOO_LARGE\n17:11 the program is too large: up to here its values have more than 60 "
      "axes and parts\n");
}

}  // namespace
}  // namespace pullback::lang
