// Products of arrays with Iverson brackets that keep what would trap from being evaluated.
#include "tests/support/programs.h"

namespace pullback::testing {
namespace {

Tensor Rows(int64_t rows, int64_t columns, const std::vector<double>& v) {
  return Tensor::Of(DType::kF64, {rows, columns}, v);
}
Tensor Row(const std::vector<double>& v) {
  return Tensor::Of(DType::kF64, {static_cast<int64_t>(v.size())}, v);
}

}  // namespace

const std::vector<ProgramCase>& BracketPrograms() {
  static const std::vector<ProgramCase> all = [] {
    const Tensor a = Rows(3, 2, {1, 2, 3, 4, 5, 6});
    const std::string row =
        "fn f(a: [n, m]f64, k: i64) -> f64 { let b = [0 <= k < n] * a[k] * a[k]\n"
        " return sum(b) + sum(a) }";
    const std::string range =
        "fn f(x: [n]f64, m: i64, c: bool) -> f64 { let b = [c] * gen j < m { x[j] * x[j] }\n"
        " return sum(b) + sum(x) + sum i < n { [i < 2] * x[i] * sum(gen j < m { x[j] }) } }";
    return std::vector<ProgramCase>{
        {"a bracket over rows, in bodies",
         "fn f(a: [n, m]f64) -> f64 { let b = gen i < n { [i > 0] * a[i - 1] }\n"
         " let s = sum i < n { [i + 1 < n] * a[i + 1] * a[i] }\n"
         " return sum(b * b) + sum(s) }",
         "f",
         {a},
         {{5, 8, 12, 16, 3, 4}}},
        {"a bracket over a row that is there", row, "f", {a, Tensor::I64(1)}, {{1, 1, 7, 9, 1, 1}}},
        {"a bracket over a row that is not", row, "f", {a, Tensor::I64(7)}, {{1, 1, 1, 1, 1, 1}}},
        {"a bracket over a range that ends before it begins",
         range,
         "f",
         {Row({1, 2, 3}), Tensor::I64(-2), Tensor::Bool(true)},
         {{1, 1, 1}}},
        {"a bracket over a range",
         range,
         "f",
         {Row({1, 2, 3}), Tensor::I64(2), Tensor::Bool(true)},
         {{9, 11, 1}}},
        {"quotients of brackets, of numbers and rows",
         "fn f(a: [n, m]f64) -> f64 { let b = gen i < n { [i > 0] * a[i] / a[i - 1] }\n"
         " return sum(b * a) + sum i < n { [i + 1 < n] * a[i, 0] / a[i + 1, 1] * a[i, 1] } +\n"
         " sum i < n { [a[i, 0] > 2.0] / (a[i, 0] - 1.0) } }",
         "f",
         {Rows(2, 2, {1, 2, 4, 5})},
         {}},
        {"a bracket over rows that are data",
         "fn f(a: [n, m]f64, k: [l]i64) -> f64 {\n"
         " let b = gen i < l { [0 <= k[i] < n] * a[k[i]] }\n return sum(b * b) }",
         "f",
         {a, Tensor::Of<int64_t>(DType::kI64, {3}, {1, 5, 1})},
         {{0, 0, 12, 16, 0, 0}}},
    };
  }();
  return all;
}

}  // namespace pullback::testing
