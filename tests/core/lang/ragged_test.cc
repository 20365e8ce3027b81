// Arrays inside a body whose sizes depend on its indices: in a box, with a predicate, or a loop.
#include <catch2/catch.hpp>

#include "tests/core/lang/lower_support.h"

namespace pullback::lang {
namespace {

std::string Row(const std::string& row, const std::string& value) {
  return "fn f(x: [n]f64, k: [n]i64) -> [n]f64 { return gen i < n { let row = " + row + "; " +
         value + " } }";
}

TEST_CASE("ragged: affine extents are a box and a predicate") {
  const std::string programs[] = {
      Row("gen j < i + 1 { x[j] * x[i] }", "sum(row)"),
      Row("gen j in i..n { x[j] - x[i] }", "sum(row) + row[0]"),
      Row("gen j < i + 1 { x[j] + 1.0 }", "sum j < i + 1 { row[i - j] * row[j] }"),
      Row("gen j < i + 1 { exp(x[j]) }", "max(row)"),
      Row("x[i:n]", "norm(row)"),
  };
  for (const std::string& text : programs) {
    INFO(text);
    const std::string ir = Ir(text);
    CHECK_FALSE(Has(ir, "jump"));
    CHECK(Has(ir, " where ("));
    CHECK(Has(ir, "< %n"));
  }
}

TEST_CASE(
    "ragged: extents that are data, and what is dear and read by two loops, are made in a loop") {
  const std::string programs[] = {
      Row("gen j < k[i] { x[j] * x[i] }", "sum(row)"),
      Row("gen j < i + 1 { exp(x[j]) }", "sum(row) + max(row)"),
      Row("exp.(x[0:i + 1])", "sum(row) * sum(row)"),
      // Out of range for the last i.
      Row("gen j < i + 1 { x[j] }", "sum j < i + 1 { row[j + 1] }"),
  };
  for (const std::string& text : programs) {
    INFO(text);
    CHECK(Has(Ir(text), "jump"));
  }
}

TEST_CASE("ragged: values") {
  const Tensor x = Vec({1, 2, 4}), k = Tensor::Of<int64_t>(DType::kI64, {3}, {2, 0, 3});
  const auto values = [&](const std::string& row, const std::string& value) {
    return Doubles(Values(Row(row, value), {x, k})[0]);
  };
  using All = std::vector<double>;
  CHECK(values("gen j < i + 1 { x[j] * x[i] }", "sum(row) + row[i]") == All{2, 10, 44});
  CHECK(values("gen j in i..n { x[j] - x[i] }", "sum(row)") == All{4, 2, 0});
  CHECK(values("gen j < i + 1 { x[j] }", "sum j < i + 1 { row[i - j] * row[j] }") == All{1, 4, 12});
  CHECK(values("gen j < i { x[j] }", "prod(row)") == All{1, 1, 2});
  CHECK(values("gen j < k[i] { x[j] }", "sum(row)") == All{3, 0, 7});
  CHECK(values("x[i:n]", "sum(row)") == All{7, 6, 4});
}

// In a loop nest as in a statement: a range that depends on an index around ends where it begins.
TEST_CASE("ragged: ranges that end below their start, in loop nests") {
  const std::string loop = "var t = 0.0; while t < 1.0 { t = t + 1.0 }; t * ";
  const auto text = [](const std::string& body) {
    return "fn f(x: [n]f64) -> [n]f64 { return gen i < n { " + body + " } }";
  };
  const Tensor x = Vec({1, 2, 4, 8});
  for (const std::string body :
       {"sum j < i - 2 { x[j] }", "sum j in 3..i { x[j] }", "prod j < i - 2 { x[j] }",
        "max(0.0, max j < i - 2 { x[j] })", "sum p < i { sum j < p - 1 { x[j] } }"}) {
    INFO(body);
    CHECK(Doubles(Values(text(loop + body), {x})[0]) == Doubles(Values(text(body), {x})[0]));
  }
  CHECK(TrapOf(text(loop + "sum j < n - 7 { x[j] }"), {x}).kind == ir::TrapKind::kNegativeSize);
}

// So does one that depends on no index, where its reduction is a loop nest itself.
TEST_CASE("ragged: ranges of loop nests that end before they begin trap") {
  const std::string h =
      "fn h(b: bool, y: [m]f64) -> bool { if b { return y[0] > 0.0 } return false }\n"
      "fn f(y: [m]f64, n: i64) -> [n]f64 { return gen i < n { ";
  const Tensor y = Vec({1, 2, 4, 8});
  for (const std::string reduction : {"sum j < m - 6 { [h(y[j] > 1.0, y)] * y[j] }",
                                      "max j in 7..m { [h(y[j] > 1.0, y)] * y[j] }",
                                      "prod j < 2, k < m - 6 { [h(y[j] > 1.0, y)] * y[k] }",
                                      "f64(argmin j < m - 6 { [h(y[j] > 1.0, y)] * y[j] })",
                                      "[or j < m - 6 { h(y[j] > 1.0, y) }] * y[0]",
                                      "sum(sum j < m - 6 { [h(y[j] > 1.0, y)] * y })"}) {
    INFO(reduction);
    const std::string row = h + reduction + " } }";
    CHECK(TrapOf(row, {y, I64(2)}).kind == ir::TrapKind::kNegativeSize);
    // No row is made.
    CHECK(Values(row, {y, I64(0)})[0].ElementCount() == 0);
    const std::string alone = h + "0.0 } + (" + reduction + ") }";
    CHECK(TrapOf(alone, {y, I64(0)}).kind == ir::TrapKind::kNegativeSize);
  }
  // Under a bracket it has no elements, as in a statement.
  for (const std::string bracketed :
       {"[i > 0] * (1.0 + sum j < m - 6 { [h(y[j] > 1.0, y)] * y[j] })",
        "[h(y[i] > 1.0, y)] * (1.0 + sum j < m - 6 { y[j] })"}) {
    INFO(bracketed);
    CHECK(Doubles(Values(h + bracketed + " } }", {y, I64(2)})[0]) == std::vector<double>{0, 1});
  }
  const std::string triangle = h + "sum j < i - 2 { [h(y[j] > 1.0, y)] * y[j + 1] } } }";
  CHECK(Doubles(Values(triangle, {y, I64(5)})[0]) == std::vector<double>{0, 0, 0, 0, 4});
}

}  // namespace
}  // namespace pullback::lang
