// Arrays: elementwise trees, broadcasting, slices, products, literals; sizes and traps.
#include "tests/core/lang/lower_support.h"

namespace pullback::lang {
namespace {

using ir::TrapKind;

TEST_CASE("arrays: an elementwise tree is one statement", "[lower]") {
  const std::string text =
      "fn f(x: [n]f64, y: [n]f64, c: f64) -> [n]f64 { return -tanh.(x) * y + c / 2.0 }";
  const std::string ir = Ir(text);
  CHECK(Count(ir, "each(") == 1);
  CHECK_FALSE(Has(ir, "select"));
  CHECK(Elements(text, {Vec({0, 0}), Vec({1, 2}), F64(3)}) == std::vector<double>{1.5, 1.5});
  CHECK(Elements("fn f(x: [n]f64) -> [n]bool { return x > 1.0 and not (x > 2.0) }",
                 {Vec({1, 2, 3})}) == std::vector<double>{0, 1, 0});
  CHECK(Elements("fn f(k: [n]i64) -> [n]f64 { return f64(k / 2) ** 2 }", {IntVec({4, 7})}) ==
        std::vector<double>{4, 9});
}

TEST_CASE("arrays: broadcasting", "[lower]") {
  // Known sizes: no tests when it runs.
  const std::string known =
      "fn f(x: [n, 1]f64, y: [n, m]f64, z: [m]f64) -> [n, m]f64 { return x + y * z }";
  CHECK_FALSE(Has(Ir(known), "select"));
  CHECK(Elements(known, {Mat(2, 1, {1, 2}), Mat(2, 2, {1, 2, 3, 4}), Vec({1, 10})}) ==
        std::vector<double>{2, 21, 5, 42});
  CHECK(Elements("fn f(x: [n]f64, y: [m]f64) -> [n, m]f64 { return column(x) * y }",
                 {Vec({1, 2}), Vec({3, 4})}) == std::vector<double>{3, 4, 6, 8});
  // What is computed is computed once for each of its elements.
  CHECK(Count(Ir("fn f(x: [n]f64, y: [m]f64) -> [n, m]f64 { return column(exp.(x)) * y }"),
              "each(") == 2);
  // Sizes that only show when it runs.
  const std::string open = "fn f(x: [n]f64, y: [m]f64) -> f64 { return sum(x + y) }";
  CHECK(NumberOf(open, {Vec({1, 2}), Vec({10})}) == 23);
  CHECK(NumberOf(open, {Vec({10}), Vec({1, 2})}) == 23);
  CHECK(NumberOf(open, {Vec({1, 2}), Vec({10, 20})}) == 33);
  CHECK(NumberOf(open, {Vec({}), Vec({10})}) == 0);
  CHECK(TrapOf(open, {Vec({1, 2}), Vec({1, 2, 3})}) ==
        TrapPlace{TrapKind::kSizeMismatch, 2, 3, "x + y"});
}

TEST_CASE("arrays: calls for every element", "[lower]") {
  const std::string cell = R"(
fn cell(c: f64, z: f64) -> f64 { if z == 0.0 { return c } return 1.0 / c }
fn f(c: [n, m]f64, z: [m]f64) -> [n, m]f64 { return cell.(c, z) })";
  CHECK(Count(Ir(cell), "call @cell") == 1);
  CHECK(Elements(cell, {Mat(2, 2, {1, 2, 3, 4}), Vec({0, 1})}) ==
        std::vector<double>{1, 0.5, 3, 0.25});
  const std::string pair = R"(
fn pair(x: f64, k: f64) -> (f64, f64) { return (x * x, k * x) }
fn f(x: [n]f64) -> ([n]f64, [n]f64) { return pair.(x, 3.0) })";
  CHECK(Count(Ir(pair), "each(") == 1);
  const std::vector<Tensor> r = Values(pair, {Vec({1, 2})});
  CHECK(Doubles(r[0]) == std::vector<double>{1, 4});
  CHECK(Doubles(r[1]) == std::vector<double>{3, 6});
  CHECK(Elements("fn f(x: [n]f64) -> [n]f64 { return select.(x > 0.0, x, 0.0) }", {Vec({1, -1})}) ==
        std::vector<double>{1, 0});
  CHECK(Elements("fn f(x: [n]f64, y: f64) -> [n]f64 { return max.(x, y) }",
                 {Vec({1, 3}), F64(2)}) == std::vector<double>{2, 3});
}

TEST_CASE("arrays: products and transposes", "[lower]") {
  const std::string text = "fn f(a: [n, k]f64, b: [k, m]f64) -> [n, m]f64 { return a @ b }";
  CHECK(Has(Ir(text), "} sum [%i, %i.1] of (%n, %m)"));
  CHECK(Elements(text, {Mat(2, 2, {1, 2, 3, 4}), Mat(2, 1, {1, 10})}) ==
        std::vector<double>{21, 43});
  CHECK(Elements("fn f(a: [n, k]f64, b: [n, m]f64) -> [k, m]f64 { return a.T @ b }",
                 {Mat(2, 2, {1, 2, 3, 4}), Mat(2, 1, {1, 10})}) == std::vector<double>{31, 42});
  CHECK(Count(Ir("fn f(a: [n, k]f64, b: [n, m]f64) -> [k, m]f64 { return a.T @ b }"), "each(") ==
        1);
  CHECK(Elements("fn f(a: [n, m]f64, x: [m]f64) -> [n]f64 { return a @ x }",
                 {Mat(2, 2, {1, 2, 3, 4}), Vec({1, 1})}) == std::vector<double>{3, 7});
  CHECK(Elements("fn f(a: [n, m]f64, x: [n]f64) -> [m]f64 { return x @ a }",
                 {Mat(2, 2, {1, 2, 3, 4}), Vec({1, 1})}) == std::vector<double>{4, 6});
  CHECK(NumberOf("fn f(x: [n]f64, y: [n]f64) -> f64 { return 2.0 * (x @ y) }",
                 {Vec({1, 2}), Vec({3, 4})}) == 22);
  CHECK(TrapOf("fn f(x: [n]f64, y: [m]f64) -> f64 { return x @ y }", {Vec({1}), Vec({1, 2})}) ==
        TrapPlace{TrapKind::kSizeMismatch, 1, 2, "x @ y"});
}

TEST_CASE("arrays: slices", "[lower]") {
  CHECK(Elements("fn f(x: [n]f64) -> [n - 1]f64 { return x[1:] - x[:n - 1] }", {Vec({1, 2, 4})}) ==
        std::vector<double>{1, 2});
  CHECK(Elements("fn f(a: [n, m]f64) -> [n]f64 { return a[:, 1] }", {Mat(2, 2, {1, 2, 3, 4})}) ==
        std::vector<double>{2, 4});
  CHECK(Elements("fn f(a: [n, m]f64) -> [m]f64 { return a[1] }", {Mat(2, 2, {1, 2, 3, 4})}) ==
        std::vector<double>{3, 4});
  CHECK(Elements("fn f(x: [n]f64) -> [(n + 1) / 2]f64 { return x[::2] }", {Vec({1, 2, 3, 4, 5})}) ==
        std::vector<double>{1, 3, 5});
  CHECK(NumberOf("fn f(a: [n, m]f64) -> f64 { return a[1:, ::2].T[1, 0] }",
                 {Mat(2, 3, {1, 2, 3, 4, 5, 6})}) == 6);
  CHECK(NumberOf("fn f(x: [n]f64, y: [n]f64) -> f64 { return (x * y)[1] }",
                 {Vec({1, 2}), Vec({3, 4})}) == 8);
  // A whole slice is the array itself.
  CHECK_FALSE(Has(Ir("fn f(x: [n]f64) -> [n]f64 { return x[:] }"), "each"));
}

TEST_CASE("arrays: literals", "[lower]") {
  CHECK(Elements("fn f(x: f64) -> [2, 2]f64 { return [[x, 1.0], [2.0, x * x]] }", {F64(3)}) ==
        std::vector<double>{3, 1, 2, 9});
  CHECK(Elements("fn f(x: [n]f64, y: [n]f64) -> [2, n]f64 { return [x, y + 1.0] }",
                 {Vec({1, 2}), Vec({3, 4})}) == std::vector<double>{1, 2, 4, 5});
  CHECK(TrapOf("fn f(x: [n]f64, y: [m]f64) -> [2, n]f64 { return [x, y] }", {Vec({1}), Vec({1, 2})})
            .kind == TrapKind::kSizeMismatch);
  CHECK(NumberOf("fn f(i: i64) -> i64 { let k = [3, 1, 2]; return k[i] }", {I64(2)}) == 2);
  CHECK(Elements(
            "fn f(x: [n]f64) -> [n]f64 { return gen i < n { let p = [1.0, x[i]]; p[1] - p[0] } }",
            {Vec({1, 3})}) == std::vector<double>{0, 2});
}

TEST_CASE("arrays: brackets", "[lower]") {
  const std::string text = "fn f(x: [n]f64, p: bool) -> [n]f64 { return [p] * x * 2.0 }";
  CHECK(Elements(text, {Vec({1, 2}), Tensor::Bool(true)}) == std::vector<double>{2, 4});
  CHECK(Elements(text, {Vec({1, 2}), Tensor::Bool(false)}) == std::vector<double>{0, 0});
}

TEST_CASE("sizes: of headers", "[lower]") {
  const std::string same = "fn f(x: [n]f64, y: [n]f64) -> [n]f64 { return x + y }";
  CHECK(TrapOf(same, {Vec({1, 2}), Vec({1})}) == TrapPlace{TrapKind::kSizeMismatch, 2, 1, "f"});
  CHECK(NumberOf("fn f(x: [n + 1]f64) -> i64 { return n }", {Vec({1, 2, 3})}) == 2);
  CHECK(NumberOf("fn f(x: [2 * n]f64) -> i64 { return n }", {Vec({1, 2, 3, 4})}) == 2);
  CHECK(TrapOf("fn f(x: [2 * n]f64) -> i64 { return n }", {Vec({1, 2, 3})}).kind ==
        TrapKind::kSizeMismatch);
  CHECK(NumberOf("fn f(k: i64, x: [n - k]f64) -> i64 { return n }", {I64(2), Vec({1, 2})}) == 4);
  CHECK(TrapOf("fn f(x: [3]f64) -> f64 { return x[0] }", {Vec({1, 2})}) ==
        TrapPlace{TrapKind::kSizeMismatch, 3, 2, "f"});
}

TEST_CASE("sizes: known ones are not checked", "[lower]") {
  CHECK_FALSE(Has(Ir(R"(
fn g(x: [n]f64, y: [n - 1]f64) -> [2 * n - 1]f64 { return concat(x, y) }
fn f(x: [n + 1]f64) -> [2 * n + 1]f64 {
  let d = diff(x)
  var y = g(x, d)
  for i < n { y[i] = y[i] + d[i] }
  let z: [2 * n + 1]f64 = if n > 3 { y } else { 2.0 * y }
  return z
})")
                      .substr(0, 900),
                  "@f.*check"));
}

TEST_CASE("sizes: of results and annotations", "[lower]") {
  const std::string result = "fn f(x: [n]f64, k: i64) -> [n]f64 { return x[k:] }";
  CHECK(Elements(result, {Vec({1, 2}), I64(0)}) == std::vector<double>{1, 2});
  CHECK(TrapOf(result, {Vec({1, 2}), I64(1)}) ==
        TrapPlace{TrapKind::kSizeMismatch, 1, 2, "return x[k:]"});
  const std::string let =
      "fn f(x: [n]f64) -> f64 { let h = n / 2; let y: [h]f64 = x[:h]; let z: [h]f64 = x[h:]; "
      "return sum(y * z) }";
  CHECK(NumberOf(let, {Vec({1, 2, 3, 4})}) == 11);
  CHECK(TrapOf(let, {Vec({1, 2, 3})}).source == "let z: [h]f64 = x[h:]");
}

TEST_CASE("traps: name their place", "[lower]") {
  CHECK(TrapOf("fn f(x: [n]f64) -> f64 { return x[n - 1] + x[n] }", {Vec({1, 2})}) ==
        TrapPlace{TrapKind::kIndex, 2, 2, "x[n]"});
  CHECK(TrapOf("fn f(x: [n]f64) -> [n]f64 { return gen i < n { x[i + 1] } }", {Vec({1, 2})}) ==
        TrapPlace{TrapKind::kIndex, 2, 2, "x[i + 1]"});
  CHECK(TrapOf("fn f(x: [n]f64, k: i64) -> [n - k]f64 { return x[k:] }", {Vec({1, 2}), I64(3)}) ==
        TrapPlace{TrapKind::kIndex, 3, 2, "x[k:]"});
  CHECK(TrapOf("fn f(a: i64, b: i64) -> i64 { return a + a / b }", {I64(1), I64(0)}).source ==
        "a / b");
  CHECK(TrapOf("fn f(n: i64) -> f64 { return sum i < n { 1.0 } }", {I64(-1)}) ==
        TrapPlace{TrapKind::kNegativeSize, -1, 0, "sum i < n { 1.0 }"});
  CHECK(TrapOf("fn f(n: i64) -> [n]f64 { return zeros(n) }", {I64(-1)}).source == "zeros(n)");
  CHECK(
      TrapOf("fn f(x: [n]f64) -> [n]f64 { var y = x; y[n] = 1.0; return y }", {Vec({1})}).source ==
      "y[n]");
  // In another function, wherever it stands in the text.
  const std::string call = R"(
fn g(x: [n]f64, i: i64) -> f64 { return x[i] }
fn f(x: [n]f64) -> f64 { return g(x, n) })";
  CHECK(TrapOf(call, {Vec({1})}).source == "x[i]");
  // A slice in a body is checked before the statement, but only where it runs.
  const std::string body =
      "fn f(x: [n]f64, m: i64) -> f64 { return sum i < m { sum(x[i:i + 2]) } }";
  CHECK(NumberOf(body, {Vec({1, 2, 3}), I64(2)}) == 8);
  CHECK(TrapOf(body, {Vec({1, 2, 3}), I64(3)}) == TrapPlace{TrapKind::kIndex, 4, 3, "x[i:i + 2]"});
  CHECK(NumberOf(body, {Vec({}), I64(0)}) == 0);
  CHECK(NumberOf("fn f(x: [n]f64) -> f64 { return sum i < n { [i + 2 < n] * sum(x[i:i + 2]) } }",
                 {Vec({1, 2, 3})}) == 3);
}

// Passes drop an array of which nothing but its size is read, and its trap with it.
TEST_CASE("sizes: one that may be negative is checked where it is asked for", "[lower]") {
  const auto checks = [](const std::string& size) {
    return Has(Ir("fn f(c: i64, x: [n]f64) -> i64 { return " + size + " }"), "negative_size");
  };
  for (const char* array : {"zeros(c)", "zeros(c, 2).T", "gen j < c { 1.0 }", "fill(c, 1.0)",
                            "scan sum j < c { 1.0 }", "gen i < c, j < 2 { 1.0 }"}) {
    INFO(array);
    CHECK(checks("len(" + std::string(array) + ")"));
    // Under a bracket a range has no elements.
    const std::string bracketed = "[c < 9] * len(" + std::string(array) + ")";
    const bool range = bracketed.find(" < c ") != std::string::npos ||
                       bracketed.find("i < c,") != std::string::npos;
    CHECK(checks(bracketed) != range);
    const std::string text = "fn f(c: i64) -> i64 { return " + bracketed + " }";
    CHECK(NumberOf(text, {I64(4)}) == (bracketed.find(".T") != std::string::npos ? 2 : 4));
    if (range) CHECK(NumberOf(text, {I64(-3)}) == 0);
  }
  CHECK(checks("dim(gen i < 2, j < c { 1.0 }, 1)"));
  CHECK(checks("dim(gen i < c, j < 2 { 1.0 }, 1)"));
  for (const char* array : {"x", "zeros(3)", "gen i < n { 1.0 }", "scan sum i < n + 1 { 1.0 }"}) {
    INFO(array);
    CHECK_FALSE(checks("len(" + std::string(array) + ")"));
    CHECK_FALSE(checks("sum i < n { len(" + std::string(array) + ") }"));
  }
  const std::string let =
      "fn f(c: i64) -> i64 { let a = gen j < c { 1.0 }; return sum i < 3 { len(a) } }";
  CHECK(Has(Ir(let), "negative_size"));
  CHECK(NumberOf(let, {I64(4)}) == 12);
  const std::string call =
      "fn g(a: [n]f64) -> i64 { return n } fn f(c: i64) -> i64 { return g(gen j < c { 1.0 }) }";
  CHECK(Has(Ir(call), "negative_size"));
  CHECK(NumberOf(call, {I64(4)}) == 4);
}

}  // namespace
}  // namespace pullback::lang
