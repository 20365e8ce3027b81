// Functions as values: templates, lambdas, what they capture; what is refused.
#include "tests/core/lang/check_support.h"
#include "tests/core/lang/lower_support.h"

namespace pullback::lang {
namespace {

constexpr char kApply[] = "fn apply(f: fn(f64) -> f64, x: f64) -> f64 { return f(x) }\n";

std::string CanonicalOf(const std::string& text) {
  const Program program = Checked(text);
  return Canonicalise(program, "f")->text;
}

TEST_CASE("a lambda is called through a function that takes one") {
  const std::string text =
      std::string(kApply) +
      "fn f(x: f64, a: f64) -> f64 { return apply(|t| a * t * t, x) + apply(|t| t + a, x) }";
  CHECK(NumberOf(text, {F64(3), F64(2)}) == 18 + 5);
}

TEST_CASE("names of functions are values") {
  CHECK(
      NumberOf(std::string(kApply) +
                   "fn g(x: f64) -> f64 { return 2.0 * x }\n"
                   "fn f(x: f64) -> f64 { return apply(g, x) + apply(square, x) + apply(abs, -x) }",
               {F64(3)}) == 6 + 9 + 3);
}

TEST_CASE("lambdas of several parameters, with statements, called where they are") {
  CHECK(NumberOf("fn f(x: f64) -> f64 { let g = |a, b: f64| { let c = a * b\n c + 1.0 }\n"
                 " return g(x, 2.0) + (|t| t * 10.0)(x) }",
                 {F64(3)}) == 7 + 30);
}

TEST_CASE("a lambda captures arrays and their sizes") {
  CHECK(Elements("fn both(f: fn(f64) -> f64, n: i64) -> [n]f64 { return gen i < n { f(f64(i)) } }\n"
                 "fn f(x: [n]f64) -> [n]f64 { return both(|t| t + sum j < n { x[j] }, n) }",
                 {Vec({1, 2, 3})}) == std::vector<double>{6, 7, 8});
}

TEST_CASE("functions give functions") {
  CHECK(NumberOf("fn twice(f: fn(f64) -> f64) -> fn(f64) -> f64 { return |x| f(f(x)) }\n"
                 "fn f(x: f64) -> f64 { return twice(twice(|t| t + x))(1.0) }",
                 {F64(3)}) == 13);
}

TEST_CASE("type parameters follow from arguments and from what functions give") {
  const std::string text =
      "fn each<T, U>(f: fn(T) -> U, x: [n]T) -> [n]U { return gen i < n { f(x[i]) } }\n"
      "fn first<T>(x: T, y: T) -> T { return x }\n"
      "fn f(x: [n]f64) -> [n]i64 { return each(|t| i64(first(t, 2.0)) + first(1, 2), x) }";
  CHECK(Elements(text, {Vec({1.5, 7.0})}) == std::vector<double>{2, 8});
}

TEST_CASE("recursion with a closure") {
  CHECK(NumberOf("fn iterate(g: fn(f64) -> f64, n: i64, x: f64) -> f64 {\n"
                 "  if n == 0 { return x }\n  return iterate(g, n - 1, g(x))\n}\n"
                 "fn f(x: f64) -> f64 { return iterate(|t| t * x, 3, 1.0) }",
                 {F64(2)}) == 8);
}

TEST_CASE("the canonical text does not depend on names and layout, and tells captures apart") {
  const std::string a = CanonicalOf(std::string(kApply) +
                                    "fn f(x: f64, a: f64) -> f64 { return apply(|t| a * t, x) }");
  const std::string b = CanonicalOf(
      "fn f(p: f64, q: f64) -> f64 {\n  return go(|z| q * z, p)\n}\n"
      "fn go(h: fn(f64) -> f64, y: f64) -> f64 { return h(y) }\n");
  const std::string c = CanonicalOf(std::string(kApply) +
                                    "fn f(x: f64, a: f64) -> f64 { return apply(|t| x * t, x) }");
  CHECK(a == b);
  CHECK(a != c);
}

TEST_CASE("a trap inside an instance names the place in the template") {
  CHECK(TrapOf("fn at(f: fn(i64) -> i64, x: [n]f64) -> f64 { return x[f(0)] }\n"
               "fn f(x: [n]f64) -> f64 { return at(|i| i + 5, x) }",
               {Vec({1, 2})})
            .source == "x[f(0)]");
}

TEST_CASE("errors inside an instance say with which types") {
  CHECK(Messages("fn twice<T>(x: T) -> T { return x * 2 }\n"
                 "fn f(b: bool) -> bool { return twice(b) }") ==
        "1:33 '*' needs numbers, got bool and i64\n"
        "2:32 in 'twice' called with (bool)\n");
}

TEST_CASE("instances without end are refused") {
  const std::string m = Messages(
      "fn go<T>(x: T, n: i64) -> i64 { if n == 0 { return 0 }\n return go(list(x), n - 1) }\n"
      "fn f(n: i64) -> i64 { return go(1, n) }");
  CHECK(Has(m, "TOO_MANY_INSTANCES"));
}

TEST_CASE("what is no array where a template wants one of its type") {
  CHECK(Messages("fn f(x: f64, n: i64) -> f64 { let m = reshape(x, n, n)\n return m[0, 0] }") ==
        "1:47 argument 'x' of 'reshape' must be an array of 1 axis, got f64\n");
  CHECK(Messages("fn g<T>(a: [n]T, b: [n, m]T) -> T { return a[0] }\n"
                 "fn f(a: [n]f64) -> f64 { return g(a, (1.0, 2.0)) }") ==
        "2:38 argument 'b' of 'g' must be an array of 2 axes, got (f64, f64)\n");
}

TEST_CASE("what may not be a function, and calls that do not fit") {
  CHECK(Messages(std::string(kApply) + "fn f(x: f64) -> f64 { return apply(x, x) }") ==
        "2:36 argument 'f' of 'apply' must be a function of 1 argument, got f64\n");
  CHECK(Messages("fn f(x: f64) -> f64 { let g = |a, b| a + b\n return g(x) }") ==
        "2:9 the lambda at 1:31 takes 2 arguments, got 1\n");
  CHECK(Messages("fn f(x: f64) -> f64 { return (x + 1.0)(x) }") ==
        "1:30 only a function can be called, and this is f64\n");
}

TEST_CASE("a captured variable that changes is shared, one that does not is copied") {
  CHECK(NumberOf("fn f(x: f64) -> f64 { var y = x\n let g = |t| t + y\n y = 2.0\n return g(x) }",
                 {F64(5)}) == 7);
  CHECK(
      NumberOf("fn f(x: f64) -> f64 { var y = x\n y = y + 1.0\n let g = |t| t * y\n return g(x) }",
               {F64(2)}) == 6);
  CHECK(!Has(Ir("fn f(x: f64) -> f64 { var y = x\n y = y + 1.0\n return (|t| t * y)(x) }"), "box"));
  const std::string counter =
      "fn f(x: [n]f64) -> f64 {\n"
      "  var count = 0\n"
      "  var seen = zeros(n)\n"
      "  let see = |t: f64| { count += 1\n seen[count - 1] = t * t\n count }\n"
      "  var last = 0\n"
      "  for i < n { if x[i] > 0.0 { last = see(x[i]) } }\n"
      "  count += 10\n"
      "  return sum(seen) + f64(count * 100 + last) }";
  CHECK(NumberOf(counter, {Vec({1, -2, 3})}) == 10 + 1200 + 2);
  // A variable of a loop's body is a new one each time.
  CHECK(NumberOf("fn twice(f: fn(f64) -> f64) -> f64 { return f(1.0) + f(1.0) }\n"
                 "fn f(x: f64) -> f64 { var s = 0.0\n"
                 " for i < 2 { var y = x\n s += twice(|t| { y = y * 2.0\n y + t }) }\n return s }",
                 {F64(1)}) == 16);
  // Lambdas inside lambdas share it too.
  CHECK(NumberOf("fn f(x: f64) -> f64 { var y = x\n"
                 " let g = |t| { let h = |u| { y = y + u\n y }\n h(t) + h(t) }\n"
                 " return g(1.0) + y }",
                 {F64(1)}) == 5 + 3);
}

TEST_CASE("lambdas and function types are formatted") {
  const std::string text =
      "fn apply<T>(f: fn(T) -> T, x: T) -> T { return f(x) }\n"
      "fn f(x: f64) -> f64 { return apply(|t| t * x, x) + (|a: f64| { a })(x) }\n";
  const StatusOr<Program> program = Parse(text);
  REQUIRE(program.ok());
  CHECK(Format(*program) == text);
}

}  // namespace
}  // namespace pullback::lang
