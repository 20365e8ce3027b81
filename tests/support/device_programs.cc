#include "tests/support/device_programs.h"

namespace pullback::testing {

const std::vector<ProgramCase>& DeviceShapes() {
  const auto numbers = [](std::vector<int64_t> shape) {
    std::vector<double> v;
    int64_t n = 1;
    for (const int64_t d : shape) n *= d;
    for (int64_t i = 0; i < n; ++i) v.push_back(0.25 + static_cast<double>((i * 37) % 19) / 8);
    return Tensor::Of<double>(DType::kF64, std::move(shape), v);
  };
  const Tensor index = Tensor::Of<int64_t>(DType::kI64, {7}, {3, 0, 2, 3, 11, 3, 5});
  static const std::vector<ProgramCase> cases = {
      {"elementwise",
       "fn f(x: [n]f64, y: [n]f64) -> f64 { let z = gen i < n { sin(x[i]) * y[i] }\n"
       "return sum i < n { z[i] * exp(z[i]) } }",
       "f",
       {numbers({301}), numbers({301})},
       {}},
      {"product",
       "fn f(a: [n, p]f64, b: [p, m]f64) -> f64 { return sum(a @ b) }",
       "f",
       {numbers({9, 21}), numbers({21, 5})},
       {}},
      {"product of more than a tile",
       "fn f(a: [n, p]f64, b: [m, p]f64) -> f64 {\n"
       "let c = gen i < n, j < m { sum k < p { a[i, k] * exp(b[j, k]) } }\n"
       "return sum i < n, j < m { c[i, j] * c[i, j] } }",
       "f",
       {numbers({35, 50}), numbers({18, 50})},
       {}},
      {"products of a batch",
       "fn f(a: [c, n, p]f64, b: [c, p, m]f64) -> f64 {\n"
       "let z = gen t < c, i < n, j < m { sum k < p { a[t, i, k] * b[t, k, j] } }\n"
       "return sum t < c, i < n, j < m { z[t, i, j] * z[t, i, j] } }",
       "f",
       {numbers({3, 17, 33}), numbers({3, 33, 5})},
       {}},
      {"product over few steps",
       "fn f(a: [n, 3]f64, b: [m, 3]f64) -> f64 {\n"
       "let c = gen i < n, j < m { sum k < 3 { a[i, k] * b[j, k] } }\n"
       "return sum i < n, j < m { c[i, j] * c[i, j] } }",
       "f",
       {numbers({20, 3}), numbers({17, 3})},
       {}},
      {"distances",
       "fn f(a: [n, p]f64, b: [m, p]f64, w: [p]f64) -> f64 {\n"
       "let c = gen i < n, j < m { max k < p { w[k] * (a[i, k] - b[j, k]) * (a[i, k] - b[j, k]) } "
       "}\n"
       "return sum i < n, j < m { c[i, j] * c[i, j] } }",
       "f",
       {numbers({20, 19}), numbers({17, 19}), numbers({19})},
       {}},
      {"gather",
       "fn f(x: [n]f64, j: [m]i64) -> f64 { return sum i < m { x[j[i]] * x[j[i]] } }",
       "f",
       {numbers({12}), index},
       {}},
      {"triangle",
       "fn f(x: [n, n]f64) -> f64 { return sum i < n, j < n { [j <= i] * tanh(x[i, j]) * x[j, i] } "
       "}",
       "f",
       {numbers({13, 13})},
       {}},
      {"broadcast",
       "fn cell(c: f64, z: f64) -> f64 { if z > 1.0 { return c * tanh(z) }  return exp(c) }\n"
       "fn f(c: [n, n]f64, z: [n]f64) -> f64 { return sum(cell.(c, z)) }",
       "f",
       {numbers({11, 11}), numbers({11})},
       {}},
      {"loop around",
       "fn f(x: [n]f64, k: i64) -> f64 { var y = x\nvar t = 0\nwhile t < k { t = t + 1\n"
       "y = gen i < n { 0.5 * y[i] + cos(x[i]) } }\nreturn sum(y) }",
       "f",
       {numbers({65}), Tensor::I64(5)},
       {}},
      {"scatter",
       "fn f(x: [n]f64, j: [m]i64, w: [m]f64) -> f64 { let g = sum i < m { x[j[i]] * w[i] }\n"
       "return g * g + sum i < n { log(1.0 + x[i] * x[i]) } }",
       "f",
       {numbers({12}), index, numbers({7})},
       {}},
      {"rows of several lengths",
       "fn f(x: [n, n]f64, k: i64) -> f64 {\n"
       "return sum i < n, j < n { [j <= i && i + j > k] * exp(x[i, j]) } }",
       "f",
       {numbers({37, 37}), Tensor::I64(9)},
       {}},
      {"largest",
       "fn f(x: [n, m]f64) -> f64 { return sum(gen i < n { max j < m { x[i, j] } }) }",
       "f",
       {numbers({6, 17})},
       {}},
      {"columns",
       "fn f(x: [n, m]f64) -> f64 { let s = gen j < m { sum i < n { x[i, j] } }\n"
       "return sum j < m { s[j] * s[j] } }",
       "f",
       {numbers({19, 6})},
       {}},
      {"greatest of rows",
       "fn f(x: [n, m]f64) -> f64 { let k = gen i < n { argmax j < m { x[i, j] } }\n"
       "let l = gen i < n { argmin j in 1..m { x[i, j] * x[i, 0] } }\n"
       "return sum i < n { x[i, k[i]] * x[i, l[i]] } }",
       "f",
       {numbers({19, 37})},
       {}},
      {"greatest of all",
       "fn f(x: [n, m]f64) -> f64 { let (i, j) = argmin i < n, j < m { [i != 3] * x[i, j] }\n"
       "return x[i, j] * x[i, j] * sum(x) }",
       "f",
       {numbers({23, 7})},
       {}},
      {"running sums of rows",
       "fn f(x: [n, m]f64) -> f64 { let s = gen i < n { scan sum j < m { x[i, j] * x[i, j] } }\n"
       "return sum i < n, j < m { s[i, j] * x[i, j] } }",
       "f",
       {numbers({9, 21})},
       {}},
      {"running extrema and products of rows",
       "fn f(x: [n, m]f64) -> f64 { let s = gen i < n { scan max j < m { x[i, j] } }\n"
       "let p = gen i < n { exscan prod j < m { x[i, j] } }\n"
       "return sum i < n, j < m { s[i, j] * p[i, j] } }",
       "f",
       {numbers({11, 6})},
       {}},
      {"a loop in a function",
       "fn root(a: f64) -> f64 { var x = a\nvar k = 0\n"
       "while abs(x * x - a) > 0.000001 { k = k + 1\n"
       "if k > 50 { break }\nx = 0.5 * (x + a / x) }\nreturn x }\n"
       "fn f(x: [n]f64) -> f64 { return sum i < n { root(x[i]) * x[i] } }",
       "f",
       {numbers({43})},
       {}},
  };
  return cases;
}

std::vector<ProgramCase> DevicePrograms() {
  std::vector<ProgramCase> all = DeviceShapes();
  for (const auto* list : {&FirstPrograms(), &DataPrograms(), &ReductionPrograms()}) {
    all.insert(all.end(), list->begin(), list->end());
  }
  return all;
}

bool HasLists(const ir::Module& final) {
  const ir::Function& entry = final.Get(final.entry);
  bool lists = false;
  for (const ir::Type t : entry.results) lists = lists || t.IsList();
  for (const ir::Value v : entry.params()) lists = lists || entry.TypeOf(v).IsList();
  return lists;
}

}  // namespace pullback::testing
