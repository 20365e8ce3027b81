// Control flow that no cotangent passes is neither recorded nor run backwards; values of the math table are
// kept for the reverse half where that costs no more than what is read.
#include <catch2/catch.hpp>

#include "core/ir/printer.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

struct Case {
  const char* name;
  std::string text;
  std::vector<Tensor> args;
  std::vector<bool> wrt;
  int pushes;
};

TEST_CASE("inert control flow is not recorded") {
  const std::vector<Tensor> array = {Vec({0.3, 1.7, -0.4, 1.2, 0.9})};
  const std::vector<Tensor> scalar = {Tensor::F64(1.1), Tensor::I64(6)};
  const Case cases[] = {
      {"the place of the maximum",
       "fn f(x: [n]f64) -> f64 {\n  var k = 0\n"
       "  for i in 1..n { if x[i] > x[k] { k = i } }\n  return sin(x[k]) }",
       array,
       {true},
       0},
      {"a loop that breaks",
       "fn f(x: [n]f64) -> f64 {\n  var k = 0\n"
       "  for i < n { if x[i] > 1.0 { k = i\n break } }\n  return sin(x[k]) * x[0] }",
       array,
       {true},
       -1},
      {"a branch inside a loop that has a cotangent",
       "fn f(x: f64, n: i64) -> f64 {\n  var s = x\n  var k = 0\n"
       "  for i < n { if i % 2 == 0 { k = k + i } else { k = k - 1 }\n s = s * 0.5 + x }\n"
       "  return s * f64(k) }",
       scalar,
       {true, false},
       0},
      {"a loop inside a loop that has a cotangent",
       "fn f(x: f64, n: i64) -> f64 {\n  var s = x\n  var k = 0\n"
       "  for i < n { for j < i { if j % 3 == 1 { k = k + j } }\n s = s * 0.5 + x }\n"
       "  return s * f64(k) }",
       scalar,
       {true, false},
       0},
      {"an arm with a loop that breaks",
       "fn f(x: f64, n: i64) -> f64 {\n  var s = x\n  var k = 1\n"
       "  for i < n {\n    if i > 2 { while true { k = k + 1\n if k % 4 == 0 { break } } }\n"
       "    s = sin(s) * x\n    if s > 100.0 { return s } }\n"
       "  return s * f64(k) }",
       scalar,
       {true, false},
       -1},
      {"returns in inert arms",
       "fn f(x: f64, n: i64) -> f64 {\n  var k = 0\n"
       "  for i < n { k = k + i\n if k > 3 { return x * x * f64(k) } }\n  return sin(x) }",
       scalar,
       {true, false},
       -1},
      {"logsumexp", "fn f(x: [n]f64) -> f64 { return logsumexp(x) }", array, {true}, -1},
      {"logsumexp of rows",
       "fn f(x: [n]f64) -> f64 { return sum i < n { logsumexp(gen j < n { x[j] * x[i] }) } }",
       array,
       {true},
       -1},
  };
  for (const Case& c : cases) {
    SECTION(c.name) {
      CheckDerivatives(LowerText(c.text, "f"), c.args, 1e-5, c.wrt);
      if (c.pushes >= 0) CHECK(CountText(AdjointText(c.text, c.wrt), "= push ") == c.pushes);
    }
  }
}

TEST_CASE("exp of each element is kept for the reverse half, not computed again") {
  const std::string text = "fn f(x: [n]f64) -> f64 { return log(sum i < n { exp(x[i]) }) }";
  CHECK(CountText(AdjointText(text, {true}), "= exp ") == 1);
  CheckDerivatives(LowerText(text, "f"), {Vec({0.3, 1.7, -0.4})});
  // Over a space that is larger than what is read it would take more memory.
  const std::string pairs =
      "fn f(x: [n]f64) -> f64 { return sum i < n, j < n { exp(x[i] * x[j]) } }";
  CHECK(CountText(AdjointText(pairs, {true}), "= exp ") == 2);
  CheckDerivatives(LowerText(pairs, "f"), {Vec({0.3, 0.7, -0.4})});
  // In a loop it would be kept once a turn.
  const std::string loop =
      "fn f(x: [n]f64) -> f64 {\n  var s = 0.0\n"
      "  for k < 3 { s = s + sum i < n { exp(x[i] * s) } }\n  return s }";
  CHECK(CountText(AdjointText(loop, {true}), "= exp ") == 2);
  CheckDerivatives(LowerText(loop, "f"), {Vec({0.3, 0.7, -0.4})});
}

}  // namespace
}  // namespace pullback::testing
