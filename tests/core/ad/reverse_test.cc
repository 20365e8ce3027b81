// Reverse mode on IR text: one program per construct, checked against forward mode and differences.
#include <catch2/catch.hpp>

#include "core/ir/printer.h"
#include "tests/support/derivatives.h"

namespace pullback {
namespace {

using testing::CheckDerivatives;
using testing::Derived;
using testing::Gradients;
using testing::ParseIr;
using testing::Scalar;
using testing::Vec;

constexpr char kPow[] = R"(
entry @pow
fn @pow(%x: f64, %n: i64) -> f64 {
b0:
  jump b1(1.0, %n)
b1(%r: f64, %k: i64):
  %c = gt %k, 0
  br %c, b2, b3
b2:
  %k1 = sub %k, 1
  %r1 = mul %r, %x
  jump b1(%r1, %k1)
b3:
  ret %r
}
)";

TEST_CASE("reverse: the turns of a loop inside are counted where its end is not known alone") {
  const auto pushes = [](const std::string& end) {
    return testing::CountText(
        testing::AdjointText("fn f(a: [n, m]f64, b: [m, n]f64, k: [n]i64) -> f64 {\n"
                             "  var c = zeros(n, n)\n"
                             "  for i < n { for j < n {\n    var s = 0.0\n"
                             "    for l in 1.." +
                                 end +
                                 " { s += a[i, l] * b[l, j] }\n    c[i, j] = s\n  } }\n"
                                 "  return sum(c * c)\n}",
                             {true, true, false}),
        "push ");
  };
  CHECK(pushes("m") == 0);
  CHECK(pushes("k[i]") > 0);
}

TEST_CASE("reverse: a turn makes differences of rows again, and keeps functions of them") {
  const auto made = [](const std::string& row) {
    const std::string text =
        "fn f(x: [n, d]f64) -> f64 {\n  var s = 0.0\n"
        "  for i < n { for j < n { if j > i { s += sqrt(norm2(" +
        row + ") + 0.1) } } }\n  return s\n}";
    testing::CheckDerivatives(testing::LowerText(text, "f"),
                              {testing::Mat(3, 2, {0.3, -0.4, 1.7, 0.2, 0.9, -1.1})});
    return testing::CountText(testing::AdjointText(text, {true}), "} gen [");
  };
  CHECK(made("x[i] - x[j]") == 0);
  CHECK(made("exp.(x[i] - x[j])") == 1);
}

TEST_CASE("reverse: turns ask a cotangent for the extent of an array from a loop around") {
  const std::string text =
      "fn f(x: [n]f64, k: [t]i64) -> f64 {\n  var s = 1.0\n"
      "  for i < t {\n    let e = gen j < k[i], q < n { x[j] * x[q] }\n"
      "    for j < k[i] { s = sin(s + dot(e[j], x)) }\n  }\n  return s\n}";
  testing::CheckDerivatives(
      testing::LowerText(text, "f"),
      {testing::Vec({0.3, -0.4, 0.9}), Tensor::Of(DType::kI64, {3}, std::vector<int64_t>{2, 0, 3})},
      1e-5, {true, false});
  const std::string adjoint = testing::AdjointText(text, {true, false});
  INFO(adjoint);
  CHECK(testing::CountText(adjoint, " = dim %e.bar, 0") == 1);
}

TEST_CASE("pow: a while loop keeps a trip count and one value a step") {
  const ir::Module m = ParseIr(kPow);
  CHECK(Scalar(Gradients(m, {Tensor::F64(2), Tensor::I64(3)})[0]) == 12);
  CHECK(Scalar(Gradients(m, {Tensor::F64(2), Tensor::I64(0)})[0]) == 0);
  CheckDerivatives(m, {Tensor::F64(1.3), Tensor::I64(5)});
  const std::string text = ir::Print(Derived(m, pipeline::Transform::kVjp));
  INFO(text);
  CHECK(text.find("push %tape, %r") != std::string::npos);
  CHECK(text.find("push", text.find("push") + 1) == std::string::npos);
}

constexpr char kLeaky[] = R"(
entry @leaky
fn @leaky(%x: f64) -> f64 {
b0:
  %c = gt %x, 0.0
  br %c, b1, b2
b1:
  ret %x
b2:
  %y = mul 0.01, %x
  ret %y
}
)";

TEST_CASE("leaky: a branch whose condition is known needs no tape") {
  const ir::Module m = ParseIr(kLeaky);
  CHECK(Scalar(Gradients(m, {Tensor::F64(2)})[0]) == 1);
  CHECK(Scalar(Gradients(m, {Tensor::F64(-2)})[0]) == 0.01);
  CheckDerivatives(m, {Tensor::F64(-2)});
  const std::string text = ir::Print(Derived(m, pipeline::Transform::kValueAndGrad));
  INFO(text);
  CHECK(text.find("tape") == std::string::npos);
}

constexpr char kFib[] = R"(
entry @fib
fn @fib(%x: f64, %n: i64) -> f64 {
b0:
  %c = le %n, 1
  br %c, b1, b2
b1:
  %s = sin %x
  ret %s
b2:
  %n1 = sub %n, 1
  %n2 = sub %n, 2
  %a = call @fib(%x, %n1)
  %b = call @fib(%x, %n2)
  %p = mul %a, %b
  %q = add %p, %x
  ret %q
}
)";

TEST_CASE("recursion: forward and reverse halves share one tape") {
  CheckDerivatives(ParseIr(kFib), {Tensor::F64(0.7), Tensor::I64(6)});
}

constexpr char kRunning[] = R"(
entry @running
fn @running(%x: [*]f64) -> f64 {
b0:
  %n = dim %x, 0
  jump b1(%x, 1)
b1(%a: [*]f64, %i: i64):
  %c = lt %i, %n
  br %c, b2, b3
b2:
  %u = index %a[%i - 1]
  %v = index %a[%i]
  %s = sin %u
  %w = mul %s, %v
  %a1 = update %a[%i], %w
  %i1 = add %i, 1
  jump b1(%a1, %i1)
b3:
  %y = index %a[%n - 1]
  ret %y
}
)";

TEST_CASE("element reads and updates in a loop") {
  CheckDerivatives(ParseIr(kRunning), {Vec({0.3, 1.2, -0.7, 2.0})});
}

constexpr char kConv[] = R"(
entry @conv
fn @conv(%x: [*]f64, %c: [*]f64) -> [*]f64 {
b0:
  %n = dim %x, 0
  %m = dim %c, 0
  %d = sub %n, %m
  %h = add %d, 1
  %y = each(i < %h, j < %m) {
    %p = index %x[%i + %j]
    %q = index %c[%j]
    %t = mul %p, %q
  } sum [%i] of (%h): %t
  ret %y
}
)";

TEST_CASE("convolution: the transpose gathers") {
  const ir::Module m = ParseIr(kConv);
  CheckDerivatives(m, {Vec({1, 2, 3, 4, 5}), Vec({0.5, -1, 2})});
  INFO(ir::Print(Derived(m, pipeline::Transform::kVjp)));
  CHECK(true);
}

}  // namespace
}  // namespace pullback
