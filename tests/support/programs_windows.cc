// Programs whose loops hold windows of rows, over more than two strips of them.
#include <cmath>

#include "tests/support/derivatives.h"
#include "tests/support/programs.h"

namespace pullback::testing {
namespace {

Tensor WaveRows(int64_t rows, int64_t columns, double start) {
  std::vector<double> elements;
  for (int64_t k = 0; k < rows * columns; ++k)
    elements.push_back(0.6 * std::sin(start + 1.7 * static_cast<double>(k)));
  return Mat(rows, columns, elements);
}

}  // namespace

const std::vector<ProgramCase>& WindowPrograms() {
  static const std::vector<ProgramCase> all = {
      {"steps between rows of a layer",
       "fn f(x: [n, d]f64, w: [d, h]f64) -> f64 {\n let z = tanh.(x @ w)\n"
       " return sum i < n - 1, l < h { let e = z[i + 1, l] - z[i, l]; sqrt(1.0 + e * e) } }",
       "f",
       {WaveRows(35, 2, 0.1), WaveRows(2, 3, 0.7)},
       {}},
      {"filters of a signal, as wide as they are, behind each other",
       "fn f(x: [n]f64, a: [p, c]f64, b: [q, c]f64) -> f64 {\n"
       " let z = gen i < n - p + 1, j < c { tanh(sum u < p { x[i + u] * a[u, j] }) }\n"
       " let y = gen i < n - p - q + 2, j < c { z[i, j] * sum u < q { z[i + u, j] * b[u, j] } }\n"
       " return sum(y) }",
       "f",
       {Vec(Doubles(WaveRows(40, 1, 0.3))), WaveRows(3, 2, 0.2), WaveRows(4, 2, 0.9)},
       {}},
      {"rows before a loop's own",
       "fn f(x: [n, d]f64, w: [d, h]f64) -> f64 {\n let z = x @ w\n var a = 0.1\n"
       " for i in 1..n { a = sin(a + dot(z[i], z[i - 1])) }\n return a }",
       "f",
       {WaveRows(34, 2, 0.4), WaveRows(2, 3, 0.8)},
       {}},
  };
  return all;
}

}  // namespace pullback::testing
