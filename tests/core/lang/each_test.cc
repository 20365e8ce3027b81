// Loops over values, slices of lists, several arrays of indices, parts with fewer axes, and f.(x) of
// function values: text, values, errors.
#include "tests/core/lang/check_support.h"
#include "tests/core/lang/lower_support.h"

namespace pullback::lang {
namespace {

using Numbers = std::vector<double>;

const Tensor kA = Mat(3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9});
const Tensor kK = IntVec({0, 2, 2}), kL = IntVec({1, 1, 0});

std::string Reformatted(const std::string& text) {
  const StatusOr<Program> p = Parse(text);
  INFO(p.status().ToString());
  REQUIRE(p.ok());
  return Format(*p);
}

TEST_CASE("for x in xs: elements of arrays and lists, rows of matrices") {
  CHECK(NumberOf("fn f(x: [n]f64) -> f64 { var s = 1.0\n for v in x { s = s * v + v }\n return s }",
                 {Vec({2, 3})}) == 15);
  CHECK(NumberOf("fn f(a: [n, m]f64) -> f64 { var s = 0.0\n for row in a { for v in row {\n"
                 " if v == 2.0 { continue }\n if v > 7.0 { break }\n s += v } }\n return s }",
                 {kA}) == 1 + 3 + 4 + 5 + 6 + 7);
  CHECK(NumberOf("fn f(x: f64) -> f64 { var s = 0.0\n var xs = list(x, 2.0 * x)\n"
                 " for v in xs { xs = push(xs, v)\n s += v }\n return s * f64(len(xs)) }",
                 {F64(1)}) == 12);
  CHECK(NumberOf("fn len(x: f64) -> f64 { return x }\n"
                 "fn f(x: [n]f64) -> f64 { var s = 0.0\n let g = |t: f64| { var p = t\n"
                 " for v in x { p = p * v }\n p }\n for v in x { s += g(v) + len(v) }\n"
                 " return s }",
                 {Vec({2, 3})}) == 12 + 18 + 5);
  CHECK(
      NumberOf("fn f(x: f64) -> f64 { var s = x\n for v in [x, 2.0, 3.0] checkpoint(1) { s = s * v "
               "}\n return s }",
               {F64(2)}) == 24);
  CHECK(NumberOf("fn f(x: [n]f64) -> f64 { var s = 1.0\n for v in x {}\n return s }", {Vec({})}) ==
        1);
}

TEST_CASE("for x in xs: the formatter, the canonical form, and what is wrong") {
  const std::string text =
      "fn f(x: [n]f64) -> f64 {\n"
      "  var s = 0.0\n"
      "  for v in x { s += v }  # one\n"
      "\n"
      "  for v in 2.0 * x checkpoint(2) {\n"
      "    # two\n"
      "    for w in x { s += w }\n"
      "  }\n"
      "  return s\n"
      "}\n";
  CHECK(Reformatted(text) == text);
  CHECK(Reformatted("fn f(x: [n]f64) { for v in x { } }") == "fn f(x: [n]f64) { for v in x {} }\n");
  const auto canonical = [](const std::string& name) {
    return Canonicalise(Checked("fn f(x: [n]f64) -> f64 { var s = 0.0\n for " + name +
                                " in x { s += " + name + " }\n return s }"),
                        "f")
        ->text;
  };
  CHECK(canonical("v") == canonical("value"));
  CHECK(Messages("fn f(x: f64) -> f64 { for v in x { }\n for w in list() { }\n return v }") ==
        "1:32 'for … in …' without '..' takes an array or a list, got f64\n"
        "2:11 the type of the empty list's elements is not known\n"
        "3:9 unknown name 'v'\n");
  const StatusOr<Program> p = Parse("fn f(x: [n]f64) -> f64 { return sum v in x { v } }");
  REQUIRE(p.status().diagnostics().size() == 1);
  CHECK(p.status().diagnostics()[0].message ==
        "expected '..' between the bounds of the range, found '{'; a range is v < n or v in a..b");
}

TEST_CASE("slices of lists") {
  const auto slice = [](const std::string& part) {
    return Elements(
        "fn f(x: [n]f64) -> [n]f64 { var xs: list f64 = list()\n"
        " for v in x { xs = push(xs, v) }\n let ys = xs" +
            part + "\n return gen i < n { if i < len(ys) { ys[i] } else { 0.0 } } }",
        {Vec({1, 2, 3, 4})});
  };
  CHECK(slice("[1:3]") == Numbers{2, 3, 0, 0});
  CHECK(slice("[2:]") == Numbers{3, 4, 0, 0});
  CHECK(slice("[:3]") == Numbers{1, 2, 3, 0});
  CHECK(slice("[::2]") == Numbers{1, 3, 0, 0});
  CHECK(slice("[1:4:2]") == Numbers{2, 4, 0, 0});
  CHECK(slice("[3:1]") == Numbers{0, 0, 0, 0});
  const eval::Result r =
      RunText("fn f(x: f64) -> i64 { let xs = list(x, x)\n return len(xs[1:3]) }", {F64(1)});
  REQUIRE(r.trap);
  CHECK(r.trap->kind == ir::TrapKind::kIndex);
  CHECK(Messages("fn f(x: f64) { var xs = list(x)\n let y = xs[0.5:]\n xs[0:1] = list(x) }") ==
        "2:13 a bound of a slice must be an i64, got f64; write i64(0.5)\n"
        "3:2 a list takes one index, not a slice\n");
}

TEST_CASE("several arrays of indices: one shape, where the first of them stands") {
  CHECK(Elements("fn f(a: [n, m]f64, k: [p]i64, l: [p]i64) -> [p]f64 { return a[k, l] }",
                 {kA, kK, kL}) == Numbers{2, 8, 7});
  CHECK(Elements("fn f(a: [n, m]f64, k: [p]i64, l: [p]i64) -> [p]f64 {\n"
                 " return gen i < p { (2.0 * a)[l, k][i] } }",
                 {kA, kK, kL}) == Numbers{8, 12, 6});
  CHECK(Elements("fn f(a: [n, m]f64, k: [p]i64) -> [p, 2]f64 {\n"
                 " let b = gen h < 2, i < n, j < m { a[i, j] * f64(1 - 2 * h) }\n"
                 " return b.T[k, k, :] }",
                 {kA, kK}) == Numbers{1, -1, 9, -9, 9, -9});
  CHECK(Elements("fn f(a: [n, m]f64, k: [p]i64) -> [2, p]f64 {\n"
                 " let b = gen h < 2, i < n, j < m { a[i, j] * f64(1 - 2 * h) }\n"
                 " return b[:, k, k] }",
                 {kA, kK}) == Numbers{1, 9, 9, -1, -9, -9});
  CHECK(Elements("fn f(a: [n, m]f64, k: [p]i64) -> [p, p]f64 {\n"
                 " let l = gen i < p, j < p { k[i] }\n let b = [a, -a]\n return b[1, l, l.T] }",
                 {kA, kK}) == Numbers{-1, -3, -3, -7, -9, -9, -7, -9, -9});
  CHECK(TrapOf("fn f(a: [n, m]f64, k: [p]i64, l: [q]i64) -> [p]f64 { return a[k, l] }",
               {kA, kK, IntVec({0})}) == TrapPlace{ir::TrapKind::kSizeMismatch, 3, 1, "a[k, l]"});
  CHECK(Messages("fn f(a: [n, n]f64, k: [3]i64, l: [4]i64) -> [3]f64 { return a[k, l] }") ==
        "1:61 the arrays of indices must have one shape, got [3]i64 and [4]i64\n");
  CHECK(Messages("fn f(a: [n, n]f64, k: [p]i64, l: [p, p]i64) -> [p]f64 { return a[k, l] }") ==
        "1:64 the arrays of indices must have one shape, got [p]i64 and [p, p]i64\n");
}

TEST_CASE("parts are assigned at several arrays of indices, and values of fewer axes") {
  CHECK(Elements("fn f(a: [n, m]f64, k: [p]i64, l: [p]i64) -> [n, m]f64 { var b = a\n"
                 " b[k, l] += 1.0\n b[l] += [10.0, 20.0, 30.0]\n b[:2, 1:] = [7.0, 8.0]\n"
                 " b[l, k] -= f64(k)\n return b }",
                 {kA, kK, kL}) == Numbers{11, 7, 6, 24, 7, 6, 8, 9, 9});
  CHECK(Elements("fn f(k: [p]i64) -> [4, 3]f64 { var b = zeros(4, 3)\n"
                 " b[k + 1, k] = [1.0, 2.0, 3.0]\n return b }",
                 {kK}) == Numbers{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3});
}

TEST_CASE("f.(x) of lambdas, variables, fields, templates and what operators give") {
  const Tensor x = Vec({1, 5}), y = Mat(2, 2, {2, 2, 0, 9});
  CHECK(
      Elements("fn f(x: [n]f64) -> [n]f64 { let a = 3.0\n let g = |t: f64| t * a\n return g.(x) }",
               {x}) == Numbers{3, 15});
  CHECK(Elements("fn f(x: [n]f64, y: [m, n]f64) -> [m, n]f64 { let z = [1.0, 2.0]\n"
                 " return (|t, u| if t > u { t } else { u * z[1] }).(x, y) }",
                 {x, y}) == Numbers{4, 5, 1, 18});
  CHECK(Elements("fn f(x: [n]f64, y: [n, n]f64) -> [n, n]f64 {\n"
                 " let (p, q) = (|t: f64, u: f64| (t * u, t + u)).(column(x), y)\n return p + q }",
                 {x, y}) == Numbers{5, 5, 5, 59});
  CHECK(Elements("struct L { act: fn(f64) -> f64 }\n"
                 "fn f(x: [n]f64) -> [n]f64 { let l = list(L(sqrt), L(|t| t * t))\n"
                 " return l[len(l) - 1].act.(x) }",
                 {x}) == Numbers{1, 25});
  CHECK(Elements("fn twice<T>(x: T) -> T { return x + x }\n"
                 "fn f(x: [n]f64, k: [m]i64) -> [n]f64 { var g = twice\n"
                 " return twice.(x) * f64(twice.(k)[0]) + f64(twice.(2)) }",
                 {x, IntVec({3})}) == Numbers{16, 64});
  CHECK(Elements("fn f(x: [n]f64) -> [n, 1]f64 { var a = 1.0\n let g = |t: f64| t + a\n a = 2.0\n"
                 " return g.(column(x)) }",
                 {x}) == Numbers{3, 7});
  CHECK(Reformatted("fn f(x: [n]f64) -> [n]f64 { return (|t| t).( x )+g.a.(x , 1.0) }") ==
        "fn f(x: [n]f64) -> [n]f64 { return (|t| t).(x) + g.a.(x, 1.0) }\n");
  const eval::Result r =
      RunText("fn f(x: [n]f64, y: [m]f64) -> [n]f64 { return (|t: f64, u: f64| t + u).(x, y) }",
              {x, Vec({1, 2, 3})});
  REQUIRE(r.trap);
  CHECK(r.trap->kind == ir::TrapKind::kSizeMismatch);
}

TEST_CASE("f.(x) of a function value: what is wrong") {
  CHECK(Messages(R"(fn f(x: [n]f64) -> [n]f64 { return x.T.(x) }
fn g(x: [n]f64) -> [n]f64 { return (|t: f64| [t, t]).(x) }
fn h(x: [n]f64) -> [n]f64 { return (|t: f64| t).(x, x) }
fn i(x: list f64) -> f64 { return (|t: f64| t).(x) })") ==
        R"(1:36 only functions are called, got [n]f64
2:36 a function that is called for every element must give a scalar or a tuple of scalars, got [*]f64
3:36 the lambda at 3:37 takes 1 argument, got 2
4:49 '.(…)' takes scalars and arrays, got list f64
)");
}

}  // namespace
}  // namespace pullback::lang
