// Types that double from line to line: a text of a few lines spells out more types than there is memory.
// Each is refused or checked, at once; no time is asserted, since what is wrong here never ends.
#include <catch2/catch.hpp>

#include "tests/core/lang/check_support.h"

namespace pullback::lang {
namespace {

constexpr int kSteps = 60;

// `# ` stands for the number of the line before, `@` for that of the line.
std::string Line(const std::string& pattern, int i) {
  std::string line;
  for (char c : pattern) {
    if (c == '#') {
      line += std::to_string(i - 1);
    } else if (c == '@') {
      line += std::to_string(i);
    } else {
      line += c;
    }
  }
  return line;
}

std::string Lines(const std::string& pattern, int count = kSteps) {
  std::string text;
  for (int i = 1; i <= count; ++i) text += "  " + Line(pattern, i) + "\n";
  return text;
}

std::string Function(const std::string& first, const std::string& pattern, int count = kSteps) {
  return "fn f(x: f64) -> f64 {\n  " + first + "\n" + Lines(pattern, count) + "  return x\n}\n";
}

// The reason, and that there is a place with an excerpt for it; "" where it is checked.
std::string ReasonOf(const std::string& text, const Limits& limits = {}) {
  const Status status = CheckText(text, limits);
  if (status.ok()) return "";
  REQUIRE_FALSE(status.diagnostics().empty());
  for (const Diagnostic& d : status.diagnostics()) {
    CHECK(d.span.line > 0);
    CHECK(d.message.size() < 100000);
    CHECK(d.excerpt.find('^') != std::string::npos);
  }
  return status.reason();
}

TEST_CASE("Types: boxes, lists and tuples of pairs") {
  const auto reason = [](const char* pattern) {
    return ReasonOf(Function("let a0 = box(x)", pattern));
  };
  CHECK(reason("let a@ = box((a#, a#))") == "TYPE_TOO_LARGE");
  CHECK(reason("let a@ = list((a#, a#))") == "TYPE_TOO_LARGE");
  CHECK(reason("let a@ = repeat((a#, a#), 2)") == "TYPE_TOO_LARGE");
  CHECK(reason("let a@ = pop(list(a#))") == "TYPE_TOO_LARGE");
  CHECK(reason("let a@ = (box(a#), list(a#))") == "TYPE_TOO_LARGE");
  CHECK(reason("let a@ = (a#, a#)") == "TYPE_TOO_LARGE");
  CHECK(reason("let a@ = if x > 0.0 { box((a#, a#)) } else { box((a#, a#)) }") == "TYPE_TOO_LARGE");
  CHECK(reason("let a@ = map(|y: f64| (a#, a#), list(x))") == "TYPE_TOO_LARGE");
  CHECK(reason("let a@ = push(list(), (a#, a#))") == "TYPE_TOO_LARGE");
  CHECK(reason("var b@ = (a#, a#)\n  let a@ = box(|y: f64| { b@ = (a#, a#)\n y })") == "");
  CHECK(reason("let a@ = list(a#, a#, a#)[0:2]") == "");
  CHECK(ReasonOf(Function("let a0 = (1.0, x)", "let a@ = gen i < 2 { (a#, a#) }")) ==
        "TYPE_TOO_LARGE");
  const Status status = CheckText(Function("let a0 = box(x)", "let a@ = box((a#, a#))"));
  REQUIRE(status.diagnostics().size() == 1);
  CHECK(
      FormatDiagnostic(status.diagnostics()[0]) ==
      "13:17: error: the type here is made of more than 4096 types, counted through tuples, lists, "
      "boxes and what functions capture\n"
      "  let a11 = box((a10, a10))\n"
      "                ^^^^^^^^^^");
}

TEST_CASE("Types: tuples of functions that capture nothing have no leaves") {
  CHECK(ReasonOf(Function("let a0 = |y: f64| y", "let a@ = (a#, a#)")) == "TYPE_TOO_LARGE");
  CHECK(ReasonOf(Function("let a0 = sin", "let a@ = (a#, a#)")) == "TYPE_TOO_LARGE");
}

TEST_CASE("Types: what lambdas and pullbacks capture") {
  const auto reason = [](const char* pattern) {
    return ReasonOf(Function("let a0 = |y: f64| x * y", pattern));
  };
  CHECK(reason("let b@ = a#\n  let a@ = |y: f64| b@(y) + a#(y)") == "TYPE_TOO_LARGE");
  CHECK(reason("let b@ = (a#, a#)\n  let a@ = |y: f64| b@.0(y) + b@.1(y)") == "TYPE_TOO_LARGE");
  CHECK(reason("let b@ = grad(a#)\n  let a@ = |y: f64| b@(y) + a#(y)") == "TYPE_TOO_LARGE");
  CHECK(reason("let b@ = vjp(a#, x).1\n  let a@ = |y: f64| b@(y) + a#(y)") == "TYPE_TOO_LARGE");
  CHECK(reason("let b@ = vjp(a#, x).1\n  let a@ = vjp(|s: f64| b@(s) + a#(s), x).1") ==
        "TYPE_TOO_LARGE");
  CHECK(reason("let a@ = hessian(|y: f64| a#(y) + grad(a#)(y))") == "NESTING_TOO_DEEP");
  // In a box a function is of its parameters and result.
  CHECK(reason("let b@ = box(a#)\n  let a@ = |y: f64| get(b@)(y) + a#(y)") == "");
}

TEST_CASE("Types: towers of derivative operators are nested as deeply as types may be") {
  CHECK(ReasonOf(Function("let a0 = |y: f64| x * y", "let a@ = grad(a#)")) == "");
  CHECK(ReasonOf(Function("let a0 = |y: f64| x * y", "let a@ = grad(a#)", 30000)) ==
        "NESTING_TOO_DEEP");
  CHECK(ReasonOf(Function("let a0 = x", "let a@ = box(a#)", 30000)) == "NESTING_TOO_DEEP");
}

TEST_CASE("Types: templates double what they are given") {
  const std::string twice = "fn twice<T>(t: T) -> box (T, T) { return box((t, t)) }\n";
  CHECK(ReasonOf(twice + Function("let a0 = x", "let a@ = twice(a#)")) == "TYPE_TOO_LARGE");
  const std::string empty =
      "fn empty<T>(t: T) -> i64 {\n  let ts: list (T, T) = list()\n  return empty(ts)\n}\n";
  const std::string reason = ReasonOf(empty + "fn f(x: f64) -> i64 { return empty(x) }\n");
  CHECK((reason == "TYPE_TOO_LARGE" || reason == "TOO_MANY_INSTANCES"));
  std::string pairs = "T";
  for (int i = 0; i < 5; ++i) pairs = "list (" + pairs + ", " + pairs + ")";
  std::string many = "fn many<T>(t: T, f: fn(" + pairs + ") -> T) -> T { return t }\n";
  CHECK(
      ReasonOf(
          many +
          Function("let a0 = box(x)",
                   "let a@ = box((a#, a#))\n  let b@ = many(a@, |ts| ts[0].0[0].0[0].0[0].0[0].0)",
                   8)) == "TYPE_TOO_LARGE");
}

TEST_CASE("Types: functions that are one of several") {
  CHECK(ReasonOf(Function("let a0 = |y: f64| x * y",
                          "let a@ = if x > 0.0 { |y: f64| a#(y) } else { |y: f64| -a#(y) }")) ==
        "");
  CHECK(ReasonOf(Function(
            "let a0 = box(x)",
            "let a@ = box(if x > 0.0 { |y: f64| (a#, a#) } else { |y: f64| (a#, a#) })")) ==
        "TYPE_TOO_LARGE");
  CHECK(ReasonOf(
            Function("let a0 = box(x)", "let a@ = list(|y: f64| (a#, a#), |y: f64| (a#, a#))")) ==
        "TYPE_TOO_LARGE");
}

// struct S0 { l: list S1, m: list S1 } …
std::string Structs(const std::string& field, const std::string& last) {
  std::string text;
  for (int i = 1; i <= kSteps; ++i) {
    text += Line("struct S# { l: " + field + ", m: " + field + " }\n", i);
  }
  return text + "struct S" + std::to_string(kSteps) + " { " + last + " }\n";
}

TEST_CASE("Types: structs of lists and boxes of structs are what they are called") {
  const std::string use =
      "fn f(s: S0, x: f64) -> f64 {\n  let l = list((s, s))\n  let g = |y: f64| y + "
      "f64(len(s.l)) + f64(len(l))\n"
      "  return g(x)\n}\nfn h(x: f64) -> f64 { return x + f64(len(list(list(S60(x))))) }\n";
  CHECK(ReasonOf(Structs("list S@", "x: f64") + use) == "");
  CHECK(ReasonOf(Structs("list S0", "x: list S1") + "fn f(s: S0) -> i64 { return len(s.l) }") ==
        "");
  CHECK(ReasonOf(Structs("box S@", "x: f64") + "fn f(s: S0) -> f64 { return 1.0 }") == "");
  CHECK(ReasonOf(Structs("S@", "x: f64") + "fn f(s: S0) -> f64 { return 1.0 }") ==
        "TYPE_TOO_LARGE");
  CHECK(ReasonOf(Structs("(S@, list S@)", "x: f64") + "fn f(s: S0) -> f64 { return 1.0 }") ==
        "TYPE_TOO_LARGE");
}

// What comes after the checker walks types, too.
TEST_CASE("Types: what is within the limits is lowered and written") {
  const auto lowers = [](const std::string& text) {
    const Program program = Checked(text);
    CHECK(Canonicalise(program, "f").ok());
    CHECK_FALSE(DumpAst(program, "f").empty());
    const StatusOr<ir::Module> module = Lower(program, "f");
    CHECK(module.ok());
  };
  lowers(Function("let a0 = box(x)", "let a@ = box((a#, a#))", 9));
  lowers(Function("let a0 = |y: f64| y", "let a@ = (a#, a#)", 10));
  lowers(Structs("list S@", "x: f64") +
         "fn f(s: S0, x: f64) -> f64 { return x + f64(len(s.l)) }\n");
  // A tuple in a tuple, and a function that is one of two: each part is looked at once.
  lowers(
      "fn f(x: f64) -> f64 {\n  let g = if x > 0.0 { |y: f64| y } else { |y: f64| -y }\n"
      "  let a0 = (x, x)\n" +
      Lines("let a@ = (a#, x)", 50) + "  let h = |y: f64| a50.1 * y\n  return g(x) + h(x)\n}\n");
}

TEST_CASE("Types: the limit counts every type once for each place") {
  Limits limits;
  limits.max_type_nodes = 4;
  CHECK(Messages("fn f(x: f64) -> f64 { return get(box((x, x))).0 }", limits) == "");
  CHECK(Messages("fn f(x: f64, t: list (f64, f64)) -> list list (f64, f64) {\n"
                 "  let b = box(box((x, x)))\n  let l: list list (f64, f64) = list()\n"
                 "  return list(t)\n}",
                 limits) == R"(TYPE_TOO_LARGE
1:37 the type here is made of more than 4 types, counted through tuples, lists, boxes and what functions capture
2:11 the type here is made of more than 4 types, counted through tuples, lists, boxes and what functions capture
3:10 the type here is made of more than 4 types, counted through tuples, lists, boxes and what functions capture
4:10 the type here is made of more than 4 types, counted through tuples, lists, boxes and what functions capture
)");
}

TEST_CASE("Types: lists of types are shared until they are changed") {
  const Type scalar = Type::Scalar(DType::kF64);
  Type a = Type::Tuple({scalar, scalar});
  Type b = a;
  CHECK(&a.elements[0] == &b.elements[0]);
  b.elements.push_back(Type::List(a));
  CHECK(a == Type::Tuple({scalar, scalar}));
  CHECK(a.Nodes() == 3);
  CHECK(b.Nodes() == 7);
  CHECK(b.Depth() == 4);
  CHECK_FALSE(a == b);
  CHECK(b == Type::Tuple({scalar, scalar, Type::List(Type::Tuple({scalar, scalar}))}));
  for (int i = 0; i < 90; ++i) a = Type::Box(Type::Tuple({a, a}));
  CHECK(a.Nodes() > TypeList::kMany);
  CHECK(a.Depth() == 182);
}

}  // namespace
}  // namespace pullback::lang
