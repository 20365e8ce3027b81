// Programs and inputs that the server's tests share.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "client/client.h"

namespace pullback::test {

// x^n by a loop: its gradient keeps one value per step.
inline constexpr char kPow[] = R"(fn pow(x: f64, n: i64) -> f64 {
  var r = 1.0
  var k = n
  while k > 0 { k = k - 1; r = r * x }
  return r
}
)";

// Does not end.
inline constexpr char kSpin[] = R"(fn spin(x: f64) -> f64 {
  var k = x
  while k > 0.0 { k = k + 1.0 }
  return k
}
)";

// Calls itself without end.
inline constexpr char kDive[] = R"(fn dive(x: f64) -> f64 { return x * dive(x + 1.0) }
)";

inline constexpr char kDot[] =
    R"(fn dot(a: [n]f64, b: [n]f64) -> f64 { return sum i < n { a[i] * b[i] } }
)";

inline constexpr char kAt[] = R"(fn at(x: [n]f64, i: i64) -> f64 {
  return x[i]
}
)";

inline constexpr char kDivide[] = R"(fn divide(a: i64, b: i64) -> i64 {
  let q = a / b
  return q
}
)";

inline client::KernelSpec Spec(const std::string& program, const std::string& entry,
                               client::Transform transform = client::Transform::kValue,
                               std::vector<std::string> wrt = {}) {
  client::KernelSpec spec;
  spec.program = program;
  spec.entry = entry;
  spec.transform = transform;
  spec.wrt = std::move(wrt);
  return spec;
}

inline client::KernelSpec PowGradient() {
  return Spec(kPow, "pow", client::Transform::kValueAndGrad, {"x"});
}

inline client::Inputs PowInputs(double x, int64_t n) {
  client::Inputs inputs;
  inputs.arguments = {client::Arg("x", Tensor::F64(x)), client::Arg("n", Tensor::I64(n))};
  return inputs;
}

inline client::Inputs Args(std::vector<client::NamedValue> arguments) {
  client::Inputs inputs;
  inputs.arguments = std::move(arguments);
  return inputs;
}

inline Tensor Vector(const std::vector<double>& values) {
  return Tensor::Of<double>(DType::kF64, {static_cast<int64_t>(values.size())}, values);
}

// Elements of a value's leaf.
inline std::vector<double> Doubles(const ApiValue& value) {
  std::vector<double> out;
  for (int64_t i = 0; i < value.tensor.ElementCount(); ++i) {
    out.push_back(value.tensor.At<double>(i));
  }
  return out;
}

inline double Scalar(const ApiValue& value) { return value.tensor.At<double>(0); }

}  // namespace pullback::test
