// argmax, argmin, and, or, exists over indices; scans: text, types, values against the tree.
#include <cmath>
#include <limits>

#include "tests/core/lang/check_support.h"
#include "tests/core/lang/lower_support.h"
#include "tests/core/lang/shape.h"
#include "tests/core/lang/tree_eval.h"

namespace pullback::lang {
namespace {

using Numbers = std::vector<double>;

// All results, one after the other.
Numbers Same(const std::string& text, const std::vector<Tensor>& args) {
  const std::vector<Tensor> values = Values(text, args);
  const TreeResult tree = RunTree(Checked(text), "f", args);
  REQUIRE(!tree.trap);
  Numbers all;
  for (size_t i = 0; i < values.size(); ++i) {
    CHECK(tree.values.at(i).shape == values[i].shape);
    CHECK(Doubles(tree.values[i]) == Doubles(values[i]));
    for (double v : Doubles(values[i])) all.push_back(v);
  }
  return all;
}

const Tensor kA = Mat(2, 3, {1, 5, 2, 7, 0.5, 4});

TEST_CASE("reductions: argmax and argmin give the indices of the first extremum") {
  const double nan = std::nan("");
  const char* const vector = "fn f(x: [n]f64) -> i64 { return argmax i < n { x[i] } }";
  CHECK(Same(vector, {Vec({1, 3, 2, 3})}) == Numbers{1});
  CHECK(Same(vector, {Vec({1, nan, 9, nan})}) == Numbers{1});
  CHECK(Same(vector, {Vec({})}) == Numbers{-1});
  CHECK(Same("fn f(a: [n, m]f64) -> (i64, i64) { return argmin i < n, j in 1..m { a[i, j] } }",
             {kA}) == Numbers{1, 1});
  CHECK(Same("fn f(a: [n, m]f64) -> (i64, i64) { return argmax i < n, j in i..m { -a[i, j] } }",
             {kA}) == Numbers{1, 1});
  CHECK(Same("fn f(a: [n, m]f64) -> [n]i64 { return gen i < n { argmax j < m { a[i, j] } } }",
             {kA}) == Numbers{1, 0});
  CHECK(Same("fn f(a: [n, m]f64) -> [n]i64 { return gen i < n { argmax j in 1..m { a[i, j] } } }",
             {kA}) == Numbers{1, 2});
  CHECK(Same("fn f(a: [n, m]f64) -> [m]i64 { return gen j < m { (argmin i < n, k < j + 1 { a[i, k] "
             "}).1 } }",
             {kA}) == Numbers{0, 1, 1});
  CHECK(Same("fn f(k: i64) -> i64 { return argmax i in -3..4 { var p = 0\n"
             " for j < 2 { p -= (i - k) * (i - k) }\n p } }",
             {I64(-2)}) == Numbers{-2});
  CHECK(Same("fn f(x: [n]i64) -> (i64, i64) {\n"
             " return (argmin i in 2..n { x[i] }, argmax i < 0 { 1 }) }",
             {IntVec({-9, -8, 3, 1, 2})}) == Numbers{3, -1});
}

TEST_CASE("reductions: argmax over ranges that depend on the indices before") {
  CHECK(Same("fn f(a: [n, m]f64, k: [n]i64) -> (i64, i64) {\n"
             " return argmax i < n, j in k[0]..k[i] + 1 { a[i, j] } }",
             {kA, IntVec({1, 2})}) == Numbers{0, 1});
  CHECK(Same("fn f(a: [n, m]f64, k: [n]i64) -> [2]i64 {\n"
             " return gen h < 2 { (argmax i < n, j in k[h]..k[i] + 1 { a[i, j] }).1 } }",
             {kA, IntVec({1, 1})}) == Numbers{1, 1});
}

TEST_CASE("reductions: and, or, exists; of nothing true and false") {
  const char* const both =
      "fn f(x: [n]f64) -> (bool, bool) { return (and i < n { x[i] > 0.0 }, or i < n { x[i] > 0.0 "
      "}) "
      "}";
  CHECK(Same(both, {Vec({1, 2})}) == Numbers{1, 1});
  CHECK(Same(both, {Vec({1, -2})}) == Numbers{0, 1});
  CHECK(Same(both, {Vec({-1, -2})}) == Numbers{0, 0});
  CHECK(Same(both, {Vec({})}) == Numbers{1, 0});
  CHECK(Same("fn f(a: [n, m]f64) -> [n]bool { return gen i < n { or j < m { a[i, j] > 5.5 } } }",
             {kA}) == Numbers{0, 1});
  CHECK(Same("fn f(a: [n, m]f64) -> bool { return and i < n { or j < m { a[i, j] > 4.5 } } }",
             {kA}) == Numbers{1});
  CHECK(Same("fn f(a: [n, m]f64) -> bool { return or i < n, j < i { or k < m { a[j, k] > 5.0 } } }",
             {kA}) == Numbers{0});
  CHECK(Same("fn f(a: [n, m]f64) -> bool {\n"
             " return and i < n { var s = 0.0\n for j < m { s += a[i, j] }\n s > 7.0 } }",
             {kA}) == Numbers{1});
  CHECK(Same("fn f(k: [m]i64, n: i64) -> [n]i64 {\n"
             " return gen i < n { [exists j < m: k[j] == i] * (i + 1) } }",
             {IntVec({2, 0, 2}), I64(4)}) == Numbers{1, 0, 3, 0});
  CHECK(Same("fn f(k: [m]i64) -> i64 {\n"
             " return sum i < m, j < m { [not exists l < m: k[l] == i + j and l != j] } }",
             {IntVec({2, 0, 2})}) == Numbers{5});
}

TEST_CASE("reductions: a bracket with exists guards its chain") {
  CHECK(Same("fn f(x: [n]f64, k: [m]i64) -> f64 {\n"
             " return sum i < n + 5 { [exists j < m: k[j] == i] * x[i] } }",
             {Vec({1, 2, 3}), IntVec({2, 0})}) == Numbers{4});
  CHECK(Same("fn f(x: [n]f64, k: [m]i64) -> f64 {\n"
             " return [exists j < m: k[j] == 7] * x[k[m - 1]] }",
             {Vec({1, 2}), IntVec({1, 9})}) == Numbers{0});
}

TEST_CASE("reductions: scans, with their term and before it") {
  const Tensor x = Vec({2, 1, 3, 3, 0.5});
  CHECK(Same("fn f(x: [n]f64) -> [n]f64 { return scan sum i < n { x[i] } }", {x}) ==
        Numbers{2, 3, 6, 9, 9.5});
  CHECK(Same("fn f(x: [n]f64) -> [n - 1]f64 { return exscan prod i in 1..n { x[i] } }", {x}) ==
        Numbers{1, 1, 3, 9});
  CHECK(Same("fn f(x: [n]f64) -> [n]f64 { return scan max i < n { x[i] } }", {x}) ==
        Numbers{2, 2, 3, 3, 3});
  CHECK(
      Same("fn f(x: [n]i64) -> [n]i64 { return exscan min i < n { x[i] } }", {IntVec({3, 1, 2})}) ==
      Numbers{static_cast<double>(std::numeric_limits<int64_t>::max()), 3, 1});
  CHECK(Same("fn f(a: [n, m]f64) -> [n, m]f64 { return scan sum i < n, j < m { a[i, j] } }",
             {kA}) == Numbers{1, 6, 8, 15, 15.5, 19.5});
  CHECK(Same("fn f(a: [n, m]f64) -> [n, m]f64 { return gen i < n { scan sum j < m { a[i, j] } } }",
             {kA}) == Numbers{1, 6, 8, 7, 7.5, 11.5});
  CHECK(
      Same("fn f(a: [n, m]f64) -> [n]f64 { return gen i < n { (exscan max j < i + 2 { a[i, j] })[i "
           "+ 1] } }",
           {kA}) == Numbers{1, 7});
  CHECK(Same("fn f(x: [n]f64) -> [n]f64 { return scan sum i < n { x[i] } }", {Vec({})}).empty());
  const char* const linear = "fn f(a: [n]f64, b: [m]f64) -> [n]f64 { return scan_linear(a, b) }";
  CHECK(Elements(linear, {Vec({2, 3, 4}), Vec({1, 1, 5})}) == Numbers{1, 4, 21});
  CHECK(TrapOf(linear, {Vec({1, 2}), Vec({1})}) ==
        TrapPlace{ir::TrapKind::kSizeMismatch, 2, 1, "scan_linear(a, b)"});
}

TEST_CASE("reductions: prod, max, min and scans of arrays, element by element") {
  CHECK(Same("fn f(a: [n, m]f64) -> [m]f64 { return max i < n { a[i] } }", {kA}) ==
        Numbers{7, 5, 4});
  CHECK(Same("fn f(a: [n, m]f64) -> [m]f64 { return prod i < n { 2.0 * a[i] } }", {kA}) ==
        Numbers{28, 10, 32});
  CHECK(Same("fn f(a: [n, m]f64) -> [m]f64 { return min i < n { var r = a[i]\n"
             " for j < i { r[j] = r[j] * 0.1 }\n r } }",
             {kA}) == Numbers{7 * 0.1, 0.5, 2});
  CHECK(Same("fn f(a: [n, m]f64) -> [n]f64 { return max j < m { gen i < n { a[i, j] } } }", {kA}) ==
        Numbers{5, 7});
  CHECK(Same("fn f(a: [n, m]f64) -> [2, m]f64 { return gen k < 2 { max i < n { a[i] * f64(k) } } }",
             {kA}) == Numbers{0, 0, 0, 7, 5, 4});
  CHECK(Same("fn f(a: [n, m]f64) -> [m, m]f64 { return max i < n { a.T @ a * f64(i) } }", {kA}) ==
        Numbers{50, 8.5, 30, 8.5, 25.25, 12, 30, 12, 20});
  CHECK(Same("fn f(a: [n, m]f64) -> [n, m]f64 { return scan sum i < n { a[i] } }", {kA}) ==
        Numbers{1, 5, 2, 8, 5.5, 6});
  CHECK(Same("fn f(a: [n, m]f64) -> [2, n, m]f64 { return gen k < 2 { exscan prod i < n { a[i] + "
             "f64(k) "
             "} } }",
             {kA}) == Numbers{1, 1, 1, 1, 5, 2, 1, 1, 1, 2, 6, 3});
  CHECK(Same("fn f(a: [n, m]f64) -> [n, 1, m]f64 { return scan max i < n, k < 1 { a[i] } }",
             {kA}) == Numbers{1, 5, 2, 7, 5, 4});
}

TEST_CASE("reductions: names that start them stay names") {
  CHECK(Same("fn f(scan: f64, or_: f64) -> f64 { let exscan = scan\n let argmax = exscan + or_\n"
             " return argmax }",
             {F64(1), F64(2)}) == Numbers{3});
  CHECK(ShapeOf("exists i < n: p and q or r") == ShapeOf("(exists i < n: ((p and q) or r))"));
  CHECK(ShapeOf("a and not exists i < n: p or q") ==
        ShapeOf("a and (not (exists i < n: (p or q)))"));
  CHECK(ShapeOf("p or and i < n { q } or r") == ShapeOf("(p or (and i < n { q })) or r"));
}

TEST_CASE("reductions: what the checker says") {
  CHECK(Messages(R"(fn a(x: [n]f64) -> i64 { return argmax i < n { x[i] > 0.0 } }
fn b(x: [n]f64) -> bool { return or i < n { x[i] } }
fn c(x: [n]f64) -> bool { return exists i < n: x }
fn d(x: [n]f64) -> f64 { return argmin i < n, j < n { x[i] } }
fn e(x: [n]f64) -> [n]f64 { return scan sum i < n { x[i] > 0.0 } }
fn h(x: [n]f64, y: [n]f32) -> [n]f64 { return scan_linear(x, y) }
fn i(x: [n, n]f64) -> [n]f64 { return scan_linear(x, x) }
fn j(x: [3]f64, y: [4]f64) -> [3]f64 { return scan_linear(x, y) }
fn k(x: [n]f64) -> f64 { return 1.0 + [and i < n { x[i] }] })") ==
        R"(1:48 'argmax' needs numbers, got bool; [p] is 1 where p holds and 0 elsewhere
2:45 'or' needs a bool for each element, got f64
3:48 'exists' needs a bool for each element, got [n]f64
4:33 'd' must return f64, but this is (i64, i64)
5:36 a scan of 'sum' needs numbers, got bool
6:47 the arguments of 'scan_linear' must have one type, got [n]f64 and [n]f32
7:51 'scan_linear' takes two arrays of floats, of rank 1, got [n, n]f64
8:62 the second argument of 'scan_linear' has size 4 on axis 0, but 3 is declared
9:52 'and' needs a bool for each element, got f64
)");
  CHECK(Messages("fn f(a: [n, m]f64) -> i64 { return argmax i < n { a[i] } }") ==
        "1:51 'argmax' needs a number for each element, got [m]f64\n");
}

// "line:column message" of what the parser says.
std::string SyntaxErrors(const std::string& text) {
  const StatusOr<Program> p = Parse(text);
  std::string out;
  for (const Diagnostic& d : p.status().diagnostics()) {
    out +=
        std::to_string(d.span.line) + ":" + std::to_string(d.span.column) + " " + d.message + "\n";
  }
  return out;
}

TEST_CASE("reductions: what the parser says") {
  CHECK(SyntaxErrors("fn f(n: i64) -> bool { return exists i < n { true } }") ==
        "1:44 expected ':' and a condition after the indices of 'exists', found '{'\n");
  CHECK(SyntaxErrors("fn f(n: i64) -> f64 { return 2.0 * exists i < n: true }") ==
        "1:36 put 'exists …' in brackets: it binds loosely\n");
  CHECK(SyntaxErrors("fn f(n: i64) -> [n]i64 { return scan argmax i < n { i } }") ==
        "1:38 there is no scan of 'argmax': only of sum, prod, max and min\n");
  CHECK(SyntaxErrors("fn f(n: i64) -> bool { let a = and i <= n { true }\n return a }") ==
        "1:32 expected an expression, found 'and'\n");
}

TEST_CASE("reductions: the formatter and the canonical form") {
  const std::string text =
      "fn f(x: [n]f64) -> bool {\n"
      "  let a = argmin i < n { x[i] }\n"
      "  let b = exscan prod i in 1..n, j < n { x[i] * x[j] }\n"
      "  return and i < n { x[i] > 0.0 } or (exists i < n, j < i: x[i] == x[j])\n"
      "}\n";
  const StatusOr<Program> p = Parse(text);
  REQUIRE(p.ok());
  CHECK(Format(*p) == text);
  const auto hash = [](const std::string& body) {
    return Canonicalise(Checked("fn f(x: [n]f64) -> [n]f64 { return " + body + " }"), "f")->text;
  };
  CHECK(hash("scan sum i < n { x[i] }") == hash("scan sum  k < n{x[k]}"));
  CHECK(hash("scan sum i < n { x[i] }") != hash("exscan sum i < n { x[i] }"));
  CHECK(hash("scan sum i < n { x[i] }") != hash("scan max i < n { x[i] }"));
}

}  // namespace
}  // namespace pullback::lang
