// Arrays that are updated in loops and read as wholes: the reverse half undoes the updates.
#include <catch2/catch.hpp>

#include "core/ir/printer.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

std::string Adjoint(const std::string& program, std::vector<bool> wrt) {
  const auto staged = pipeline::Derive(LowerText(program, "f"), Transform::kVjp, wrt, {});
  REQUIRE(staged.ok());
  return ir::Print(staged->adjoint);
}

// An array goes on the tape where it comes off with an array's type.
bool PushesArrays(const std::string& text) {
  for (size_t at = text.find("= pop"); at != std::string::npos; at = text.find("= pop", at + 1)) {
    if (text.substr(at, text.find('\n', at) - at).find(": [") != std::string::npos) return true;
  }
  return false;
}

struct Case {
  const char* name;
  std::string text;
  std::vector<Tensor> args;
  std::vector<bool> wrt;
  bool undone;
};

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {"forward substitution",
       "fn f(l: [n, n]f64, b: [n]f64) -> [n]f64 {\n  var x = gen i < n { 0.0 }\n"
       "  for i < n { x[i] = (b[i] - sum j < i { l[i, j] * x[j] }) / l[i, i] }\n  return x }",
       {Mat(3, 3, {2, 0, 0, 0.5, 1.5, 0, -0.3, 0.7, 1.2}), Vec({1, -2, 0.5})},
       {true, true},
       true},
      {"a window",
       "fn f(x: [n]f64) -> f64 {\n  var a = x\n"
       "  for i in 2..n { a[i] = 0.5 * (sum j < 2 { a[i - j] * a[i - j] }) }\n"
       "  return a[n - 1] }",
       {Vec({0.3, 1.2, -0.7, 0.9, 0.4})},
       {true},
       true},
      {"a total now and then, and updates by addition",
       "fn f(x: [n]f64) -> f64 {\n  var a = x\n  var s = 0.0\n"
       "  for i in 1..n {\n    a[i] = a[i] + sin(a[i - 1])\n"
       "    if i % 2 == 0 { s = s + sum j < n { a[j] * a[j] } }\n    a[0] = s\n  }\n"
       "  return s + a[1] }",
       {Vec({0.3, 1.2, -0.7, 0.9, 0.4})},
       {true},
       true},
      {"an update, then an array made from all of it",
       "fn f(x: [n]f64) -> f64 {\n  var a = x\n"
       "  for i in 1..n {\n    a[i] = sin(a[i - 1])\n    a = a * a * 0.9\n  }\n"
       "  return sum(a) }",
       {Vec({0.3, 1.2, -0.7, 0.9, 0.4})},
       {true},
       false},
      {"an update, then an array made by a call",
       "fn g(a: [n]f64, k: i64) -> [n]f64 {\n  if k > 0 { return g(a * a * 0.3, k - 1) }\n"
       "  return a }\n"
       "fn f(x: [n]f64) -> f64 {\n  var a = x\n"
       "  for i in 1..n {\n    a[i] = sin(a[i - 1])\n    a[0] = 0.1 * sum j < n { a[j] * a[j] }\n"
       "    a = checkpoint(|b: [n]f64| g(b, 1))(a)\n  }\n  return sum(a) }",
       {Vec({0.3, 1.2, -0.7, 0.9, 0.4})},
       {true},
       false},
      {"one arm updates",
       "fn f(x: [n]f64) -> f64 {\n  var a = x\n  var s = 0.1\n  for i < n {\n"
       "    s = s * sum j < n { exp(0.1 * a[j]) }\n"
       "    if s > 5.0 { a[i] = s * 0.1 } else { s = s + 1.0 }\n  }\n  return s }",
       {Vec({0.3, 1.2, -0.7, 0.9, 0.4})},
       {true},
       true},
      {"loops in loops, the array made in the outer one",
       "fn f(x: [n]f64) -> f64 {\n  var s = 1.0\n  for k < 3 {\n    var a = gen i < n { x[i] * s "
       "}\n"
       "    for i in 1..n { a[i] = a[i] * (sum j < i { a[j] * a[j] }) }\n    s = s * 0.5 + a[n - "
       "1]\n"
       "  }\n  return s }",
       {Vec({0.3, 1.2, -0.7, 0.9})},
       {true},
       false},  // the last version of each turn is kept: no copy
      {"two arrays that change places",
       "fn f(x: [n]f64) -> f64 {\n  var a = x\n  var b = gen i < n { x[i] * 2.0 }\n"
       "  for i < n {\n    a[i] = sum j < n { b[j] * a[j] }\n    let c = a\n    a = b\n    b = c\n "
       " }\n"
       "  return a[0] + b[n - 1] }",
       {Vec({0.3, 0.2, -0.7, 0.4})},
       {true},
       false},
      {"the version before is still in use",
       "fn f(x: [n]f64) -> f64 {\n  var a = x\n  var s = 0.0\n  for i < n {\n    let before = a\n"
       "    a[i] = sin(a[i])\n    s = s + sum j < n { before[j] * a[j] }\n  }\n  return s }",
       {Vec({0.3, 1.2, -0.7, 0.9})},
       {true},
       false},
      {"integers that are subscripts",
       "fn f(x: [n]f64) -> f64 {\n  var k = gen i < n { i }\n  var s = 0.0\n  for i < n {\n"
       "    k[i] = (i * 2 + 1) % n\n    s = s + sum j < n { x[k[j]] * x[j] } * x[i]\n  }\n  return "
       "s }",
       {Vec({0.3, 1.2, -0.7, 0.9})},
       {true},
       true},
      {"out by break and by return",
       "fn f(x: [n]f64) -> f64 {\n  var a = x\n  var s = 0.0\n  for i < n {\n"
       "    s = s + sum j < n { a[j] * a[j] * a[j] }\n    if s > 4.0 { return s * a[i] }\n"
       "    a[i] = s\n    if i > 2 { break }\n  }\n  return s + sum j < n { a[j] * a[j] } }",
       {Vec({0.3, 0.2, -0.7, 0.9, 1.1})},
       {true},
       false},  // kept once, where the loop is left
      {"an array that begins anew where another one goes on",
       "fn f(x: [n]f64, c: f64) -> f64 {\n  var a = x\n  var s = 0.0\n  for i < n {\n"
       "    a[i] = a[i] * 0.5 + sum j < n { a[j] * a[j] }\n"
       "    if i % 2 == 1 { s = s + a[0]\n a = x } else { s = s * c }\n  }\n"
       "  return s + sum j < n { a[j] * a[j] } }",
       {Vec({0.3, 0.2, -0.7, 0.9, 0.1}), Tensor::F64(0.7)},
       {true, true},
       false},
      {"updated in one arm and read no more",
       "fn f(x: [n]f64, c: f64) -> f64 {\n  var a = x\n"
       "  for i < n { a[i] += sum j < n { a[j] * a[j] } }\n  let s = a[0]\n  var v = c\n"
       "  if s > 0.5 {\n    a[0] = c\n    v = s * c\n  }\n  return v }",
       {Vec({0.3, 0.2, -0.7, 0.9}), Tensor::F64(0.7)},
       {true, true},
       false},
      {"read and updated in one arm in front of the loop, made by a call",
       "fn g(a: [n]f64, k: i64) -> [n]f64 {\n  if k <= 0 { return a }\n  var b = g(a, k - 1)\n"
       "  b[0] = sin(b[1]) * b[0]\n  return b }\n"
       "fn f(x: [n]f64, c: f64, k: i64) -> f64 {\n  var a = g(x, k)\n"
       "  if k < 3 { a[k] = c + a[k % 2] * c }\n"
       "  for i < n { a[i] += sum j < n { a[j] * a[j] } }\n  return sum j < n { a[j] } }",
       {Vec({0.3, 0.2, -0.7, 0.9}), Tensor::F64(0.7), Tensor::I64(2)},
       {true, true, false},
       true},
      {"in a recursion",
       "fn g(a0: [n]f64, k: i64) -> f64 {\n  if k <= 0 { return a0[0] }\n  var a = a0\n"
       "  for i in 1..n { a[i] = 0.3 * sum j < n { a[j] * a[j] } }\n"
       "  return a[n - 1] * g(a, k - 1) }\n"
       "fn f(x: [n]f64) -> f64 { return g(x, 3) }",
       {Vec({0.3, 0.2, -0.7, 0.9})},
       {true},
       false},
  };
  return cases;
}

TEST_CASE("updates are undone") {
  for (const Case& c : Cases()) {
    SECTION(c.name) {
      CheckDerivatives(LowerText(c.text, "f"), c.args, 1e-5, c.wrt);
      if (c.undone) CHECK_FALSE(PushesArrays(Adjoint(c.text, c.wrt)));
    }
  }
}

}  // namespace
}  // namespace pullback::testing
