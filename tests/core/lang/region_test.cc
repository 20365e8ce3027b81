// Parts of arrays: gathers, assigned slices and rows, scatters; concatenation and reshaping.
#include "tests/core/lang/check_support.h"
#include "tests/core/lang/lower_support.h"
#include "tests/core/lang/tree_eval.h"

namespace pullback::lang {
namespace {

std::vector<double> Same(const std::string& text, const std::vector<Tensor>& args) {
  const std::vector<Tensor> values = Values(text, args);
  const TreeResult tree = RunTree(Checked(text), "f", args);
  REQUIRE(!tree.trap);
  REQUIRE(values.size() == 1);
  CHECK(tree.values.at(0).shape == values[0].shape);
  CHECK(Doubles(tree.values[0]) == Doubles(values[0]));
  return Doubles(values[0]);
}

using Numbers = std::vector<double>;

TEST_CASE("regions: a gather by an array of indices") {
  CHECK(Same("fn f(x: [n]f64, k: [m]i64) -> [m]f64 { return x[k] }",
             {Vec({1, 2, 3}), IntVec({2, 0, 2, 1})}) == Numbers{3, 1, 3, 2});
  CHECK(Same("fn f(a: [n, m]f64, k: [p]i64) -> [p, m - 1]f64 { return a[k, 1:] }",
             {Mat(2, 3, {1, 2, 3, 4, 5, 6}), IntVec({1, 0, 1})}) == Numbers{5, 6, 2, 3, 5, 6});
  CHECK(Same("fn f(a: [n, m]f64, k: [p]i64) -> [p, n]f64 { return (2.0 * a).T[k] }",
             {Mat(2, 3, {1, 2, 3, 4, 5, 6}), IntVec({2, 0})}) == Numbers{6, 12, 2, 8});
  CHECK(Same("fn f(a: [n, m]f64, k: [p]i64) -> [p]f64 {\n"
             "  return gen i < p { sum(a[:, k][1, i:]) } }",
             {Mat(2, 3, {1, 2, 3, 4, 5, 6}), IntVec({2, 0})}) == Numbers{10, 4});
  CHECK(Same("fn f(x: [n]f64, k: [m]i64) -> f64 { return sum(x[k]) + sum j < m { x[k][j] * x[k[j]] "
             "} }",
             {Vec({1, 2, 3}), IntVec({0, 1, 2, 2})}) == Numbers{9 + 1 + 4 + 9 + 9});
  CHECK(TrapOf("fn f(x: [n]f64, k: [m]i64) -> [m]f64 { return x[k] }",
               {Vec({1, 2}), IntVec({0, 2})}) == TrapPlace{ir::TrapKind::kIndex, 2, 2, "x[k]"});
}

TEST_CASE("regions: slices, rows and columns are assigned") {
  CHECK(
      Same("fn f(x: [n]f64) -> [n]f64 { var y = x\n y[1:3] = [7.0, 8.0]\n y[3:] = 0.5\n return y }",
           {Vec({1, 2, 3, 4, 5})}) == Numbers{1, 7, 8, 0.5, 0.5});
  CHECK(
      Same("fn f(x: [n]f64) -> [n]f64 { var y = x\n y[::2] += 10\n y[1:] = y[:n - 1]\n return y }",
           {Vec({1, 2, 3})}) == Numbers{11, 11, 2});
  CHECK(Same("fn f(a: [n, m]f64) -> [n, m]f64 { var b = a\n b[0] = b[1] * 2.0\n b[:, 1] -= [1.0, "
             "2.0]\n"
             " b[1, :2] = 9\n return b }",
             {Mat(2, 3, {1, 2, 3, 4, 5, 6})}) == Numbers{8, 9, 12, 9, 9, 6});
  CHECK(Same("struct S { a: [n, m]f64 }\n"
             "fn f(x: [n]f64) -> [n]f64 { var s = list(S(zeros(2, len(x))))\n"
             " s[0].a[1, 1:] = x[1:]\n let t = s[0] with a[0] = x\n return s[0].a[1] + t.a[0] }",
             {Vec({1, 2, 3})}) == Numbers{1, 4, 6});
}

TEST_CASE("regions: += of rows, slices and columns, of what broadcasts, and of itself") {
  const std::string text =
      "fn f(x: [n, m]f64, r: [k]f64, s: [1]f64) -> [n, m]f64 {\n var a = x\n a[0] += r\n a[1] += "
      "s\n"
      " a[0:2] += r\n a[:, 1] -= 2.0\n a[1:, 0] += s * 2.0\n return a }";
  const Tensor x = Mat(3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(Same(text, {x, Vec({1, 2, 3}), Vec({0.5})}) == Numbers{3, 4, 9, 6.5, 5.5, 9.5, 8, 6, 9});
  CHECK(Same(text, {x, Vec({4}), Vec({0.5})}) == Numbers{9, 8, 11, 9.5, 7.5, 10.5, 8, 6, 9});
  CHECK(TrapOf(text, {x, Vec({1, 2}), Vec({0.5})}).kind == ir::TrapKind::kSizeMismatch);
  CHECK(
      Same("fn f(x: [n]f64) -> [n]f64 { var y = x\n y[1:] += y[:n - 1]\n y[0:n] += y\n return y }",
           {Vec({1, 2, 4})}) == Numbers{2, 6, 12});
}

TEST_CASE("regions: a scatter; += adds for every index") {
  CHECK(
      Same("fn f(x: [n]f64, k: [m]i64) -> [n]f64 { var y = x\n y[k] = [5.0, 6.0, 7.0]\n return y }",
           {Vec({1, 2, 3}), IntVec({2, 0, 2})}) == Numbers{6, 2, 7});
  CHECK(Elements("fn f(x: [n]f64, k: [m]i64) -> [n]f64 { var y = x\n y[k] += [5.0, 6.0, 7.0]\n"
                 " y[k] -= 1.0\n return y }",
                 {Vec({1, 2, 3}), IntVec({2, 0, 2})}) == Numbers{6, 2, 13});
  CHECK(Elements("fn f(a: [n, m]f64, k: [p]i64, v: [p, m]f64) -> [n, m]f64 { var b = a\n b[k] += "
                 "v\n return b }",
                 {Mat(2, 2, {1, 2, 3, 4}), IntVec({1, 1}), Mat(2, 2, {10, 20, 30, 40})}) ==
        Numbers{1, 2, 43, 64});
}

TEST_CASE("regions: what is added at places that data say is a statement, once") {
  const std::string once =
      "fn f(k: [m]i64, v: [m, d]f64, n: i64) -> f64 { var a = gen i < n, j < d { 0.0 }\n"
      "a[k] += v\n a[k, 0] -= v[:, 1]\n a[2, k] += 0.5\n a[k, 1:] += v[:, 1:]\n"
      "return sum i < n, j < d { f64(i + 1) * f64(3 * j + 2) * a[i, j] } }";
  const std::string ir = Ir(once);
  CHECK(!Has(ir, "add_at"));
  CHECK(Has(ir, "add_arrays"));
  const std::vector<Tensor> args = {IntVec({2, 0, 2}), Mat(3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9})};
  std::vector<Tensor> with_size = args;
  with_size.push_back(I64(3));
  CHECK(Elements(once, with_size) == Numbers{1035});
  // Where it would run again and again it takes as long as the part is large.
  CHECK(Has(Ir("fn f(k: [m]i64, v: [m]f64, x: [n]f64) -> f64 { var a = 2.0 * x\n"
               "for i < 9 { a[k] += v }\n return sum(a) }"),
            "add_at"));
  CHECK(Has(
      Ir("fn add(k: [m]i64, v: [m]f64, x: [n]f64) -> [n]f64 { var a = x\n a[k] += v\n return a }\n"
         "fn f(k: [m]i64, v: [m]f64, x: [n]f64) -> f64 { var a = x\n"
         "for i < 9 { a = add(k, v, a) }\n return sum(a) }"),
      "add_at"));
  // Also where the caller's array has been changed first.
  CHECK(Has(Ir("fn f(k: [m]i64, v: [m]f64, x: [n]f64) -> f64 { var a = x\n a[0] = 1.0\n"
               "a[k] += v\n return sum(a) }"),
            "add_at"));
  const std::string out =
      "fn f(k: [m]i64, v: [m]f64, n: i64) -> f64 { var a = zeros(n)\n a[k] += v\n return sum(a) }";
  CHECK(TrapOf(out, {IntVec({1, 5}), Vec({1, 2}), I64(3)}) ==
        TrapPlace{ir::TrapKind::kIndex, 5, 3, "a[k]"});
  CHECK(TrapOf(out, {IntVec({1}), Vec({1, 2}), I64(3)}).kind == ir::TrapKind::kSizeMismatch);
}

TEST_CASE("regions: only the part that changes is visited") {
  const std::string ir = Ir("fn f(x: [n]f64) -> [n]f64 { var y = x\n y[1:3] = 0.0\n return y }");
  CHECK(Has(ir, "update"));
  CHECK(!Has(ir, "each"));
}

TEST_CASE("regions: traps and errors") {
  const std::string slice =
      "fn f(x: [n]f64, i: i64) -> [n]f64 { var y = x\n y[i:2] = 0.0\n return y }";
  CHECK(TrapOf(slice, {Vec({1, 2, 3}), I64(-1)}) ==
        TrapPlace{ir::TrapKind::kIndex, -1, 3, "y[i:2]"});
  CHECK(TrapOf(slice, {Vec({1}), I64(0)}).kind == ir::TrapKind::kIndex);
  CHECK(TrapOf("fn f(x: [n]f64) -> [n]f64 { var y = x\n y[1:] = x\n return y }", {Vec({1, 2})})
            .kind == ir::TrapKind::kSizeMismatch);
  CHECK(Messages(R"(fn f(x: [n]f64, a: [n, n]f64, k: [m]i64, b: bool) -> f64 {
  var y = x
  y[1:2] = b
  y[k] = a
  y[x] = 1.0
  let z = x[x] + a[k, k]
  var c = a
  c[k] += x
  return x[0:k]
}
)") == R"(3:12 this part of 'y' is [*]f64, but the value is bool
4:10 this part of 'y' is [*]f64, but the value is [*, *]f64
5:5 an index must be an i64, got [*]f64
6:13 an index must be an i64, got [*]f64
9:14 a bound of a slice must be an i64, got [*]i64
)");
}

TEST_CASE("regions: concatenation and reshaping") {
  CHECK(Same("fn f(x: [n]i64) -> [2 * n]i64 { return concat(x, x + 1) }", {IntVec({1, 2})}) ==
        Numbers{1, 2, 2, 3});
  CHECK(Same("fn f(a: [n, m]f64) -> [n + 1, m]f64 { return concat(a, [a[0],]) }",
             {Mat(2, 2, {1, 2, 3, 4})}) == Numbers{1, 2, 3, 4, 1, 2});
  CHECK(Same("fn f(x: f64) -> f64 { let a = concat(list(x), list(2.0, 3.0))\n"
             " return a[0] + last(a) * f64(len(a)) }",
             {F64(5)}) == Numbers{14});
  CHECK(Same("fn f(x: [n]f64) -> [3, n / 3]f64 { return reshape(x, 3, n / 3) }",
             {Vec({1, 2, 3, 4, 5, 6})}) == Numbers{1, 2, 3, 4, 5, 6});
  CHECK(Same("fn f(a: [n, m]f64) -> [n * m]f64 { return flatten(a.T) }",
             {Mat(2, 3, {1, 2, 3, 4, 5, 6})}) == Numbers{1, 4, 2, 5, 3, 6});
  CHECK(
      Same("fn f(x: [n]f64) -> [2, 2, 2]f64 {\n"
           "  let c = reshape(x, 2, 2, 2)\n  return reshape(flatten(concat(c, c)), 4, 2, 2)[2:] }",
           {Vec({1, 2, 3, 4, 5, 6, 7, 8})}) == Numbers{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(RunText("fn f(x: [n]f64) -> [2, 2]f64 { return reshape(x, 2, 2) }", {Vec({1, 2, 3})})
            .trap->kind == ir::TrapKind::kSizeMismatch);
}

}  // namespace
}  // namespace pullback::lang
