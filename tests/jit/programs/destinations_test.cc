// Rows that statements write where they go: compiled code against the interpreter bit for bit.
#include <catch2/catch.hpp>

#include "tests/jit/programs/compiled.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

Tensor Wave(int64_t n) {
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(0.1 * static_cast<double>(i * 7 % 23) - 0.9);
  return Tensor::Of(DType::kF64, {n}, values);
}

TEST_CASE("destinations: compiled programs that assign rows") {
  const char* const bodies[] = {
      "y[i] = exp.(x) * f64(i)",
      "y[i] = gen k < n { x[k] + [i > 0] * y[i - 1, k] }",
      "if i > 0 { y[i] = gen k < n { 0.5 * y[i - 1, k] + 0.25 * y[i - 1, n - 1 - k] + x[k] } }",
      "if i > 0 { y[i] = gen k < n { sum j < n { y[i - 1, j] * x[k] * 0.1 } } }",
      "y[i] = gen k < n { x[k] * y[i, k] + 1.0 }",
      "y[i] = gen k < n { y[i, n - 1 - k] + x[k] }",
      "y[:, 1] = gen k < 4 { x[0] * f64(k + i) }",
      "y[i] += exp.(x) * f64(i)",
      "y[i] -= gen k < n { x[k] + [i > 0] * y[i - 1, k] }",
      "y[i] = gen k < n { [k < i] * x[k] }",
      "y[i] = gen k < n { [x[k] > 0.0] * x[k] * f64(i) }",
      "y[i] = gen k < n { g(x[k], i) }",
      "let q = [3, 1, 0, 2]; y[q[i]] = gen k < n { x[k] * f64(q[i]) }",
      "let q = [1, 0, 1, 0]; y[i] = gen k < n { x[q[k % 4]] * f64(i) }",
      "y[0:2] = gen a < 2, k < n { x[k] * 0.5 + y[a + 2, k] }",
      "y[1:4] += gen a < 3, k < n { x[k] * f64(a) }",
      "y[3 - i, 0:n - 1] -= gen k < n - 1 { sum j < k { x[j] * x[k] } }",
  };
  for (const char* body : bodies) {
    INFO(body);
    const ir::Module ssa = LowerText(
        std::string("fn g(x: f64, i: i64) -> f64 { if x > 0.0 { return x * f64(i) } return 1.0 }\n"
                    "fn f(x: [n]f64) -> f64 { var y = zeros(4, n)\n for i < 4 { ") +
            body + " }\n return sum i < 4, k < n { f64(i + 1) * y[i, k] ** 2 } }",
        "f");
    for (int64_t n : {2, 37}) {
      CheckBitwise(Derived(ssa, pipeline::Transform::kValue), {Wave(n)});
      CheckBitwise(Derived(ssa, pipeline::Transform::kValueAndGrad), {Wave(n)});
    }
  }
}

// Rows of several axes, of matrices that others see, and integers.
TEST_CASE("destinations: compiled programs that assign matrices") {
  const char* const bodies[] = {
      "y[i] = gen a < n, b < n { x[a] * x[b] + f64(i) }",
      "y[i] = gen a < n, b < n { x[a] * y[i, a, b] + 1.0 }",
      "y[i] = gen a < n, b < n { x[a] + y[i, b, a] }",
      "if i > 0 { y[i] = 0.1 * (y[i - 1] @ y[i - 1]) }",
      "y[i] += gen a < n, b < n { [a <= b] * x[a] }",
      "y[i] = gen a < n, b < n { [a < b] * x[b - a] }",
      "y[:, i % n] = gen a < 3, b < n { x[b] * f64(a) }",
      "y[:, :, 0] -= gen a < 3, b < n { g(x[b], a) }",
      "let z = y; y[i] = gen a < n, b < n { x[a] - z[i, a, b] }; s += sum(z)",
      "y[i, 1:n, 0:n - 1] = gen a < n - 1, b < n - 1 { x[a] * x[b + 1] }",
      "k[i] = gen a < n, b < n { a * b + i }; y[i] = gen a < n, b < n { x[k[i, a, b] % n] }",
  };
  for (const char* body : bodies) {
    INFO(body);
    const ir::Module ssa = LowerText(
        std::string(
            "fn g(x: f64, i: i64) -> f64 { if x > 0.0 { return x * f64(i) } return 1.0 }\n"
            "fn f(x: [n]f64) -> f64 {\n  var y = gen i < 3, a < n, b < n { 0.1 * f64(a + i * b) }\n"
            "  var k = gen i < 3, a < n, b < n { 0 }\n  var s = 0.0\n  for i < 3 { ") +
            body + " }\n return s + sum i < 3, a < n, b < n { f64(i + b) * y[i, a, b] ** 2 } }",
        "f");
    for (int64_t n : {2, 11}) {
      CheckBitwise(Derived(ssa, pipeline::Transform::kValue), {Wave(n)});
      CheckBitwise(Derived(ssa, pipeline::Transform::kValueAndGrad), {Wave(n)});
    }
  }
}

// The array that a row goes into is made after the row, or is another row's.
TEST_CASE("destinations: compiled programs whose rows are there before their array") {
  const char* const bodies[] = {
      "let a = exp.(x); var y = zeros(4, n); y[0] = a; return y",
      "var y = zeros(4, n); let a = exp.(x); let b = sin.(x); y[0] = b; y[1] = a; return y",
      "let a = exp.(x); var y = gen i < 4, k < n { x[k] * f64(i) }; y[2] = a; return y",
      "var y = gen i < 4, k < n { x[k] * f64(i) }; let a = y[1]; y[1] = y[2]; y[2] = a; return y",
      "var y = zeros(4, n); for i < 4 { let a = exp.(x * f64(i)); var z = zeros(2, n); z[1] = a; "
      "y[i] = z[1] + z[0] }; return y",
      "let a = gen k < n { x[k] + 1.0 }; var y = gen k < n { sin(x[k]) }; "
      "for k < n { y[k] = a[k] }; return gen i < 4 { y }",
  };
  for (const char* body : bodies) {
    INFO(body);
    const ir::Module ssa =
        LowerText(std::string("fn f(x: [n]f64) -> [4, n]f64 { ") + body + " }", "f");
    for (int64_t n : {2, 37}) CheckBitwise(Derived(ssa, pipeline::Transform::kValue), {Wave(n)});
  }
}

}  // namespace
}  // namespace pullback::testing
