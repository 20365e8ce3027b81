// Products of arrays with Iverson brackets: nothing of them is evaluated where a bracket is false.
#include <catch2/catch.hpp>

#include <cmath>

#include "tests/core/lang/lower_support.h"

namespace pullback::lang {
namespace {

using ir::TrapKind;
using All = std::vector<double>;

const Tensor kA = Mat(2, 2, {1, 2, 3, 4});
const Tensor kX = Vec({1, 2, 4});

std::string Of(const std::string& params, const std::string& size, const std::string& value) {
  return "fn f(" + params + ") -> " + size + "f64 { return " + value + " }";
}

TEST_CASE("array chains: a row out of range is not read where the bracket is false") {
  const std::string text = Of("a: [n, m]f64, k: i64", "[m]", "[0 <= k < n] * a[k] * 2.0");
  CHECK(Elements(text, {kA, I64(1)}) == All{6, 8});
  CHECK(Elements(text, {kA, I64(7)}) == All{0, 0});
  CHECK(Elements(text, {kA, I64(-1)}) == All{0, 0});
  const std::string wrong = Of("a: [n, m]f64, k: i64", "[m]", "[k < n] * a[k]");
  CHECK(TrapOf(wrong, {kA, I64(-1)}) == TrapPlace{TrapKind::kIndex, -1, 2, "a[k]"});
  CHECK(Elements(wrong, {kA, I64(2)}) == All{0, 0});
}

TEST_CASE("array chains: what is kept from derivatives is guarded as well") {
  const std::string row = Of("a: [n, m]f64, k: i64", "[m]", "[k < n] * stop_gradient(a[k])");
  CHECK(Elements(row, {kA, I64(7)}) == All{0, 0});
  CHECK(Elements(row, {kA, I64(1)}) == All{3, 4});
  const std::string ends =
      "fn f(a: [m]f64, d: i64) -> [m]f64 { return a + [d > 0] * stop_gradient(f(0.5 * a, d - 1)) }";
  CHECK(Elements(ends, {kX, I64(2)}) == All{1.75, 3.5, 7});
}

TEST_CASE("array chains: in bodies rows are guarded") {
  const std::string gen = Of("a: [n, m]f64", "[n, m]", "gen i < n { -([i > 0] * a[i - 1]) }");
  CHECK(Elements(gen, {kA}) == All{0, 0, -1, -2});
  const std::string sum = Of("a: [n, m]f64", "[m]", "sum i < n { [i + 1 < n] * a[i + 1] * a[i] }");
  CHECK(Elements(sum, {kA}) == All{3, 8});
  for (const std::string& text : {gen, sum}) {
    INFO(Ir(text));
    CHECK_FALSE(Has(Ir(text), "jump"));  // one statement
    CHECK_FALSE(Has(Ir(text), "check"));
  }
  // The bracket lets a row pass that is out of range.
  const std::string wrong = Of("a: [n, m]f64", "[n, m]", "gen i < n { [i > 0] * a[i + 1] }");
  CHECK(TrapOf(wrong, {kA}) == TrapPlace{TrapKind::kIndex, 2, 2, "a[i + 1]"});
  // Predicates and rows that are data.
  const std::string data =
      Of("a: [n, m]f64, k: [l]i64", "[l, m]", "gen i < l { [0 <= k[i] < n] * a[k[i]] }");
  CHECK(Elements(data, {kA, IntVec({1, 5, -3})}) == All{3, 4, 0, 0, 0, 0});
  const std::string in_loop =
      "fn f(a: [n, m]f64) -> [n, m]f64 { return gen i < n { var k = i; while k > 3 { k = k - 1 }\n"
      "[k > 0] * a[k - 1] } }";
  CHECK(Elements(in_loop, {kA}) == All{0, 0, 1, 2});
}

TEST_CASE("array chains: slices, gathers, quotients, sizes that differ") {
  const auto of = [](const std::string& value) {
    return Of("x: [n]f64, y: [m]f64, k: [m]i64, c: bool", "", "sum([c] * " + value + ")");
  };
  const Tensor y = Vec({3, 5});
  const auto run = [&](const std::string& value, bool c, const std::vector<int64_t>& k) {
    return NumberOf(of(value), {kX, y, IntVec(k), Tensor::Bool(c)});
  };
  CHECK(run("x[m:n]", true, {0, 0}) == 4);
  CHECK(run("x[k[0]:k[1]]", true, {0, 2}) == 3);
  CHECK(run("x[2:n + 3]", false, {0, 0}) == 0);
  CHECK(run("x[3:1]", false, {0, 0}) == 0);
  CHECK(run("x[3:1:2]", false, {0, 0}) == 0);
  CHECK(run("x[k]", true, {2, 0}) == 5);
  CHECK(run("x[k]", false, {9, -9}) == 0);
  CHECK(run("(x + y)", false, {0, 0}) == 0);
  CHECK(run("zeros(m - 5)", false, {0, 0}) == 0);
  CHECK(run("(if n > m { x } else { y[7] * x })", true, {0, 0}) == 7);
  CHECK(TrapOf(of("(x + y)"), {kX, y, IntVec({0, 0}), Tensor::Bool(true)}).kind ==
        TrapKind::kSizeMismatch);
  // What only a value tells is evaluated.
  CHECK(TrapOf(of("x[k[0]:k[7]]"), {kX, y, IntVec({0, 0}), Tensor::Bool(false)}) ==
        TrapPlace{TrapKind::kIndex, 7, 2, "k[7]"});
}

TEST_CASE("array chains: a divisor is guarded by the dividend's brackets") {
  const auto rows = [](const std::string& value) {
    return Of("a: [n, m]f64, b: [n, m]f64", "[n, m]", "gen i < n { " + value + " }");
  };
  const Tensor b = Mat(2, 2, {2, 4, 0, 0});
  for (const std::string& value :
       {"[i > 0] * a[i - 1] / b[i - 1]", "-(-[i > 0] * (a[i - 1] / b[i - 1]))",
        "a[i] * [i > 0] * a[i - 1] / b[i - 1] / a[i]"}) {
    INFO(value);
    CHECK(Elements(rows(value), {kA, b}) == All{0, 0, 0.5, 0.5});
    CHECK(Count(Ir(rows(value)), "each(") == 1);
    CHECK_FALSE(Has(Ir(rows(value)), "jump"));
  }
  const auto of = [](const std::string& value) {
    return Of("x: [n]f64, y: [m]f64, k: [m]i64, c: bool", "", "sum(" + value + ")");
  };
  const auto run = [&](const std::string& value, bool c) {
    return NumberOf(of(value), {kX, Vec({2, 5}), IntVec({0, 4}), Tensor::Bool(c)});
  };
  CHECK(run("[c] * x / y[7]", false) == 0);
  CHECK(run("[c] * x / x[k]", false) == 0);
  CHECK(run("[c] * f64(k / k)", false) == 0);
  CHECK(run("f64([c] * k / k)", false) == 0);
  CHECK(run("[c] * y / (y + x)", false) == 0);  // sizes that do not fit
  CHECK(run("[c] * 6.0 / x", true) == 10.5);
  CHECK(run("[c] / x", true) == 1.75);
  CHECK(run("-[c] / x", true) == -1.75);
  CHECK(run("[c] / x", false) == 0);
  CHECK(run("[c] * x / 2.0 * x", true) == 10.5);
  CHECK(run("([c] / y[0]) * x", true) == 3.5);
  CHECK(run("x * ([c] / y[0])", false) == 0);
  CHECK(run("x / ([c] * x)", true) == 3);
  CHECK(run("x / ([c] * x)", false) == HUGE_VAL);
  CHECK(run("[c] * x / ([c] * x)", false) == 0);
  CHECK(TrapOf(of("f64([c] * k / k)"), {kX, kX, IntVec({0, 4, 1}), Tensor::Bool(true)}).kind ==
        TrapKind::kDivideByZero);
}

// What is inside may be control flow, and may trap.
TEST_CASE("array chains: brackets inside are not looked at where the one around is false") {
  for (const std::string& rest :
       {"x / ([b[k]] * x)", "(x + [b[k]] * x)", "x / (x + [b[k]] * (x + x))"}) {
    INFO(rest);
    const std::string text = Of("x: [n]f64, b: [n]bool, k: i64, c: bool", "[n]", "[c] * " + rest);
    const Tensor b = Tensor::Of<uint8_t>(DType::kBool, {3}, {1, 1, 1});
    CHECK(Elements(text, {kX, b, I64(7), Tensor::Bool(false)}) == All{0, 0, 0});
    CHECK(TrapOf(text, {kX, b, I64(7), Tensor::Bool(true)}).kind == TrapKind::kIndex);
    CHECK(Elements(text, {kX, b, I64(0), Tensor::Bool(true)})[0] > 0);
  }
  const std::string sizes =
      Of("x: [n]f64, y: [m]f64, b: bool, c: bool", "[n]", "[c] * (x + [b] * (x + y))");
  CHECK(Elements(sizes, {kX, Vec({1, 2}), Tensor::Bool(true), Tensor::Bool(false)}) ==
        All{0, 0, 0});
  CHECK(TrapOf(sizes, {kX, Vec({1, 2}), Tensor::Bool(true), Tensor::Bool(true)}).kind ==
        TrapKind::kSizeMismatch);
}

TEST_CASE("array chains: one element of a product is no more than that") {
  const std::string text = Of("k: [n]i64, c: bool", "", "f64(([c] * (k / k))[1])");
  CHECK(NumberOf(text, {IntVec({0, 0}), Tensor::Bool(false)}) == 0);
  CHECK(NumberOf(text, {IntVec({0, 7}), Tensor::Bool(true)}) == 1);
  const std::string all = "fn f(k: [n]i64, c: bool) -> i64 { return sum([c] * (k / k)) }";
  CHECK(NumberOf(all, {IntVec({0, 7}), Tensor::Bool(false)}) == 0);
  CHECK(TrapOf(all, {IntVec({0, 7}), Tensor::Bool(true)}).kind == TrapKind::kDivideByZero);
}

TEST_CASE("array chains: what is a name and cannot trap stays one expression") {
  const std::string text = Of("x: [n]f64, y: [n]f64, c: bool", "[n]", "y + [c] * x * y");
  CHECK_FALSE(Has(Ir(text), "br "));
  CHECK(Count(Ir(text), "each(") == 1);
}

// --- ranges that end before they begin

TEST_CASE("ranges: a gen under a bracket has no elements where its range ends before it begins") {
  const auto of = [](const std::string& value) {
    return Of("x: [n]f64, m: i64, c: bool", "", value);
  };
  for (const std::string& value :
       {std::string("sum([c] * gen j < m { x[j] })"), std::string("[c] * sum(gen j < m { x[j] })"),
        std::string("[c] * f64(len(gen j < m { x[j] }))"),
        std::string("sum i < n { [i < 2] * sum(gen j < m { x[j] }) }"),
        std::string("sum(sum i < n { [c] * gen j < m { x[j] } })"),
        std::string("sum i < n { [i < 2] * f64(len(gen j < m { x[j] "
                    "})) }")}) {
    INFO(value);
    const bool all = value.find("[c]") != std::string::npos;
    for (const bool c : {false, true}) {
      if (!all && !c) continue;
      CHECK(NumberOf(of(value), {kX, I64(-2), Tensor::Bool(c)}) == 0);
    }
    CHECK(NumberOf(of(value), {kX, I64(1), Tensor::Bool(true)}) > 0);
  }
  CHECK(TrapOf(of("sum(gen j < m { x[j] })"), {kX, I64(-2), Tensor::Bool(true)}).kind ==
        TrapKind::kNegativeSize);
}

TEST_CASE("ranges: so has one in a gen, a sum or a loop nest") {
  const std::string loop = "var y = 1.0; while y < 2.0 { y = y + 1.0 }; ";
  for (const std::string& value :
       {std::string("gen i < 2 { gen j < k { 1.0 } }"),
        std::string("gen i < 2 { (gen j < k { 1.0 }) * 2.0 }"),
        "gen i < 2 { " + loop + "gen j < k { y } }", std::string("gen i < 2 { zeros(k) }"),
        std::string("gen i < 0 { gen j < k { 1.0 } }"),
        "sum h < 2 { gen i < 2 { " + loop + "gen j < k { y } } }"}) {
    INFO(value);
    const std::string text = "fn f(k: i64) -> i64 { let e = [k > 0] * (" + value +
                             ")\n return 10 * dim(e, 0) + dim(e, 1) }";
    const double rows = value.find("i < 0") == std::string::npos ? 2 : 0;
    CHECK(NumberOf(text, {I64(-3)}) == 10 * rows);
    CHECK(NumberOf(text, {I64(3)}) == 10 * rows + 3);
  }
  const std::string free = "fn f(k: i64) -> f64 { return sum(gen i < 2 { gen j < k { 1.0 } }) }";
  CHECK(TrapOf(free, {I64(-3)}).kind == TrapKind::kNegativeSize);
}

TEST_CASE("ranges: a gen whose range depends on an index around has no elements either") {
  const std::string loop = "var t = 0.0; while t < 1.0 { t = t + 1.0 }; t * ";
  for (const std::string body : {"sum(gen j < i - 1 { x[j] })", "sum(gen j in 2..i { x[j] })",
                                 "f64(len(gen j < i - 1 { x[j] }))"}) {
    INFO(body);
    const auto text = [](const std::string& value) {
      return "fn f(x: [n]f64) -> [n]f64 { return gen i < n { " + value + " } }";
    };
    const All expected = Elements(text(body), {Vec({1, 2, 4, 8})});
    CHECK(expected[0] == 0);
    CHECK(expected[3] > 0);
    CHECK(Elements(text(loop + body), {Vec({1, 2, 4, 8})}) == expected);
  }
}

}  // namespace
}  // namespace pullback::lang
