// Programs that the clean-up passes did not come back from, or not in form.
#include <catch2/catch.hpp>

#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

// The same value, optimised and not, and derivatives that agree with differences.
void CheckProgram(const std::string& text, const std::vector<Tensor>& args) {
  INFO(text);
  const ir::Module ssa = LowerText(text, "f");
  const auto value = [&](bool optimise) {
    return RunOk(Derived(ssa, pipeline::Transform::kValue, {}, optimise), args)[0].At<double>(0);
  };
  CHECK(value(true) == value(false));
  CheckDerivatives(ssa, args);
}

TEST_CASE("simplify: a loop that nothing enters and whose variables swap") {
  const std::string loop = "{ let t = a\n a = b\n b = t\n k = k + x }\n";
  CheckProgram(
      "fn f(x: f64, y: f64, n: i64) -> f64 {\n var a = x\n var b = y\n var k = x\n"
      "if n < n { while x > y " +
          loop + "}\n return a + k }",
      {Tensor::F64(1), Tensor::F64(2), Tensor::I64(1)});
  CheckProgram(
      "fn f(x: f64, y: f64, n: i64) -> f64 {\n var a = x\n var b = y\n var k = x\n"
      "if n > 3 { return 1.0 }\n if n > 3 { while a > y " +
          loop + "}\n return a + k }",
      {Tensor::F64(1), Tensor::F64(2), Tensor::I64(1)});
}

// Each condition is part of the next two: learned anew each time they are 10^12.
TEST_CASE("simplify: conditions that share their parts are learned once") {
  std::string text = "fn f(x: f64, y: f64) -> f64 {\n let c0 = x > 0.0\n let c1 = y > 0.0\n";
  for (int k = 2; k < 60; ++k) {
    const auto c = [&](int i) { return "c" + std::to_string(i); };
    text += "let " + c(k) + " = " + c(k - 1) + " and " + c(k - 2) + "\n";
  }
  CheckProgram(text + "if c59 { return x * y }\n return y }", {Tensor::F64(1.5), Tensor::F64(2)});
}

TEST_CASE("simplify: the states that a loop keeps go with it") {
  CheckProgram(
      "fn f(x: f64, a: [n]f64, b: [m]f64, k: i64) -> f64 {\n  var y = x\n"
      "  if k > 0 { return 1.0 }\n  if x > 0.0 { let z = a * b }\n"
      "  while k > 0 checkpoint(k) { y = y * x }\n  return y\n}",
      {Tensor::F64(1), Vec({1}), Vec({1}), Tensor::I64(0)});
}

}  // namespace
}  // namespace pullback::testing
