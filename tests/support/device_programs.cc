#include "tests/support/device_programs.h"

namespace pullback::testing {

namespace {

Tensor Numbers(std::vector<int64_t> shape) {
  std::vector<double> v;
  int64_t n = 1;
  for (const int64_t d : shape) n *= d;
  for (int64_t i = 0; i < n; ++i) v.push_back(0.25 + static_cast<double>((i * 37) % 19) / 8);
  return Tensor::Of<double>(DType::kF64, std::move(shape), v);
}

}  // namespace

const std::vector<ProgramCase>& DeviceShapes() {
  const Tensor index = Tensor::Of<int64_t>(DType::kI64, {7}, {3, 0, 2, 3, 11, 3, 5});
  static const std::vector<ProgramCase> cases = {
      {"elementwise",
       "fn f(x: [n]f64, y: [n]f64) -> f64 { let z = gen i < n { sin(x[i]) * y[i] }\n"
       "return sum i < n { z[i] * exp(z[i]) } }",
       "f",
       {Numbers({301}), Numbers({301})},
       {}},
      {"product",
       "fn f(a: [n, p]f64, b: [p, m]f64) -> f64 { return sum(a @ b) }",
       "f",
       {Numbers({9, 21}), Numbers({21, 5})},
       {}},
      {"product of more than a tile",
       "fn f(a: [n, p]f64, b: [m, p]f64) -> f64 {\n"
       "let c = gen i < n, j < m { sum k < p { a[i, k] * exp(b[j, k]) } }\n"
       "return sum i < n, j < m { c[i, j] * c[i, j] } }",
       "f",
       {Numbers({35, 50}), Numbers({18, 50})},
       {}},
      {"products of a batch",
       "fn f(a: [c, n, p]f64, b: [c, p, m]f64) -> f64 {\n"
       "let z = gen t < c, i < n, j < m { sum k < p { a[t, i, k] * b[t, k, j] } }\n"
       "return sum t < c, i < n, j < m { z[t, i, j] * z[t, i, j] } }",
       "f",
       {Numbers({3, 17, 33}), Numbers({3, 33, 5})},
       {}},
      {"product over few steps",
       "fn f(a: [n, 3]f64, b: [m, 3]f64) -> f64 {\n"
       "let c = gen i < n, j < m { sum k < 3 { a[i, k] * b[j, k] } }\n"
       "return sum i < n, j < m { c[i, j] * c[i, j] } }",
       "f",
       {Numbers({20, 3}), Numbers({17, 3})},
       {}},
      {"distances",
       "fn f(a: [n, p]f64, b: [m, p]f64, w: [p]f64) -> f64 {\n"
       "let c = gen i < n, j < m { max k < p { w[k] * (a[i, k] - b[j, k]) * (a[i, k] - b[j, k]) } "
       "}\n"
       "return sum i < n, j < m { c[i, j] * c[i, j] } }",
       "f",
       {Numbers({20, 19}), Numbers({17, 19}), Numbers({19})},
       {}},
      {"gather",
       "fn f(x: [n]f64, j: [m]i64) -> f64 { return sum i < m { x[j[i]] * x[j[i]] } }",
       "f",
       {Numbers({12}), index},
       {}},
      {"triangle",
       "fn f(x: [n, n]f64) -> f64 { return sum i < n, j < n { [j <= i] * tanh(x[i, j]) * x[j, i] } "
       "}",
       "f",
       {Numbers({13, 13})},
       {}},
      {"broadcast",
       "fn cell(c: f64, z: f64) -> f64 { if z > 1.0 { return c * tanh(z) }  return exp(c) }\n"
       "fn f(c: [n, n]f64, z: [n]f64) -> f64 { return sum(cell.(c, z)) }",
       "f",
       {Numbers({11, 11}), Numbers({11})},
       {}},
      {"loop around",
       "fn f(x: [n]f64, k: i64) -> f64 { var y = x\nvar t = 0\nwhile t < k { t = t + 1\n"
       "y = gen i < n { 0.5 * y[i] + cos(x[i]) } }\nreturn sum(y) }",
       "f",
       {Numbers({65}), Tensor::I64(5)},
       {}},
      {"scatter",
       "fn f(x: [n]f64, j: [m]i64, w: [m]f64) -> f64 { let g = sum i < m { x[j[i]] * w[i] }\n"
       "return g * g + sum i < n { log(1.0 + x[i] * x[i]) } }",
       "f",
       {Numbers({12}), index, Numbers({7})},
       {}},
      {"rows of several lengths",
       "fn f(x: [n, n]f64, k: i64) -> f64 {\n"
       "return sum i < n, j < n { [j <= i && i + j > k] * exp(x[i, j]) } }",
       "f",
       {Numbers({37, 37}), Tensor::I64(9)},
       {}},
      {"largest",
       "fn f(x: [n, m]f64) -> f64 { return sum(gen i < n { max j < m { x[i, j] } }) }",
       "f",
       {Numbers({6, 17})},
       {}},
      {"columns",
       "fn f(x: [n, m]f64) -> f64 { let s = gen j < m { sum i < n { x[i, j] } }\n"
       "return sum j < m { s[j] * s[j] } }",
       "f",
       {Numbers({19, 6})},
       {}},
      {"sums in runs",
       "fn f(x: [n, k]f64, c: [p]f64, w: [r]f64) -> f64 { return sum a < p, b < r {\n"
       "(sum i < n { sin((x[i, 0] - c[a]) * w[b] + x[i, 1]) }) ** 2 } }",
       "f",
       {Numbers({19, 2}), Numbers({5}), Numbers({7})},
       {}},
      {"greatest of rows",
       "fn f(x: [n, m]f64) -> f64 { let k = gen i < n { argmax j < m { x[i, j] } }\n"
       "let l = gen i < n { argmin j in 1..m { x[i, j] * x[i, 0] } }\n"
       "return sum i < n { x[i, k[i]] * x[i, l[i]] } }",
       "f",
       {Numbers({19, 37})},
       {}},
      {"greatest by rows and by columns",
       "fn f(x: [n, m]f64) -> f64 { let s = gen i < n, j < n { sin(x[i, 0]) * x[j, 1] }\n"
       "let k = gen i < n { argmax j < n { s[i, j] } }\n"
       "let l = gen j < n { argmin i < n { s[i, j] } }\n"
       "return sum i < n { x[k[i], 0] * x[l[i], 1] } }",
       "f",
       {Numbers({19, 2})},
       {}},
      {"greatest of all",
       "fn f(x: [n, m]f64) -> f64 { let (i, j) = argmin i < n, j < m { [i != 3] * x[i, j] }\n"
       "return x[i, j] * x[i, j] * sum(x) }",
       "f",
       {Numbers({23, 7})},
       {}},
      {"running sums of rows",
       "fn f(x: [n, m]f64) -> f64 { let s = gen i < n { scan sum j < m { x[i, j] * x[i, j] } }\n"
       "return sum i < n, j < m { s[i, j] * x[i, j] } }",
       "f",
       {Numbers({9, 21})},
       {}},
      {"running extrema and products of rows",
       "fn f(x: [n, m]f64) -> f64 { let s = gen i < n { scan max j < m { x[i, j] } }\n"
       "let p = gen i < n { exscan prod j < m { x[i, j] } }\n"
       "return sum i < n, j < m { s[i, j] * p[i, j] } }",
       "f",
       {Numbers({11, 6})},
       {}},
      {"a loop in a function",
       "fn root(a: f64) -> f64 { var x = a\nvar k = 0\n"
       "while abs(x * x - a) > 0.000001 { k = k + 1\n"
       "if k > 50 { break }\nx = 0.5 * (x + a / x) }\nreturn x }\n"
       "fn f(x: [n]f64) -> f64 { return sum i < n { root(x[i]) * x[i] } }",
       "f",
       {Numbers({43})},
       {}},
  };
  return cases;
}

const std::vector<ExpandedCase>& ExpandedArguments() {
  const std::string row =
      "fn f(x: [n, m]f64, z: [m]f64) -> f64 { return sum i < n, j < m { cell(x[i, j], z[j]) } }\n"
      "fn g(x: [n, m]f64, z: [m]f64) -> ([n, m]f64, [m]f64) { return grad(f)(x, z) }\n";
  const std::string planes =
      "fn f(x: [n, m, p]f64, v: [m]f64, w: [p]f64) -> f64 {\n"
      "return sum i < n, j < m, k < p { cell(x[i, j, k], v[j], w[k]) } }\n"
      "fn g(x: [n, m, p]f64, v: [m]f64, w: [p]f64) -> ([n, m, p]f64, [m]f64, [p]f64) {\n"
      "return grad(f)(x, v, w) }\n";
  const std::vector<Tensor> of_row = {Numbers({23, 9}), Numbers({9})};
  const std::vector<Tensor> of_planes = {Numbers({5, 7, 6}), Numbers({7}), Numbers({6})};
  static const std::vector<ExpandedCase> cases = {
      {{"both need the same",
        "fn cell(c: f64, z: f64) -> f64 { if z > 1.0 { return c * tanh(z) }  return exp(c * z) "
        "}\n" +
            row,
        "g",
        of_row,
        {}},
       "grid/1 stores 2 joins 0"},
      {{"the matrix's needs what is costly, and the row's does not: more threads are worth more",
        "fn cell(c: f64, z: f64) -> f64 { return tanh(exp(c)) + z * z }\n" + row,
        "g",
        of_row,
        {}},
       "grid/2 stores 1 joins 0; grid/1 stores 1 joins 0"},
      {{"the sum is of other threads, and costly",
        "fn cell(c: f64, z: f64) -> f64 {\n"
        "return tanh(c * z) * exp(sin(c) + z) * cosh(z * c) * log(1.0 + c * c * z) }\n" +
            row +
            "fn h(x: [n, m]f64, z: [m]f64) -> (f64, ([n, m]f64, [m]f64)) {\n"
            "return value_and_grad(f)(x, z) }\n",
        "h",
        of_row,
        {}},
       "ordered/2 stores 1 joins 2"},
      {{"cheap: the sum is a nest of its own",
        "fn cell(c: f64, z: f64) -> f64 { return c * z * z }\n" + row +
            "fn h(x: [n, m]f64, z: [m]f64) -> (f64, ([n, m]f64, [m]f64)) {\n"
            "return value_and_grad(f)(x, z) }\n",
        "h",
        of_row,
        {}},
       "ordered/2 stores 0 joins 1; grid/1 stores 2 joins 0"},
      {{"neither has the other's loops",
        "fn cell(x: f64, v: f64, w: f64) -> f64 { return x * v * w }\n" + planes,
        "g",
        of_planes,
        {}},
       "grid/1 stores 2 joins 0; grid/1 stores 1 joins 0"},
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
