// Sums of two arrays that become part of the loop that makes the later of them.
#include "core/loops/join_sums.h"

#include <catch2/catch.hpp>

#include "core/pipeline/pipeline.h"
#include "tests/core/loops/rows.h"
#include "tests/support/derivatives.h"

namespace pullback::loops {
namespace {

// Products of p and q by rows; each is a loop of its own.
std::string RowsOfProduct(const std::string& name, const std::string& left,
                          const std::string& right) {
  return "  %" + name + " = each(i < %n, j < %n, k < %n) {\n    %u = index %" + left +
         "[%i, %k]\n    %v = index %" + right +
         "[%k, %j]\n    %w = mul %u, %v\n  } sum [%i, %j] of (%n, %n): %w\n";
}

std::string Program(const std::string& body, const std::string& result) {
  return "fn @f(%p: [*,*]f64, %q: [*,*]f64) -> (" + result +
         ") {\nb0:\n  %n = dim %p, 0\n  %m = dim %p, 1\n  %k0 = dim %q, 0\n  %k1 = dim %q, 1\n"
         "  %e0 = eq %n, %m\n  check %e0, size_mismatch, %n, %m !1\n  %e1 = eq %n, %k0\n  check "
         "%e1, "
         "size_mismatch, %n, %k0 !1\n  %e2 = eq %n, %k1\n  check %e2, size_mismatch, %n, %k1 !1\n" +
         body + "}\n";
}

// Arrays that are made, and whether loops add arrays.
struct ArraysMade {
  int64_t arrays;
  bool adds;
};
ArraysMade Of(const std::string& text) {
  const ir::Module module = ParseIr(text);
  for (const int64_t n : {0, 1, 5}) RunBoth(module, {Ramp({n, n}), Ramp({n, n})});
  const std::string loops = PrintLoops(text, kRows);
  return {ElementsMade(module, {Ramp({7, 7}), Ramp({7, 7})}, kRows) / 49,
          loops.find("for %o in") != std::string::npos};
}

TEST_CASE("join sums: the later of two arrays is added to where it is made") {
  // One of them, or the other.
  for (const char* sum : {"%a, %b", "%b, %a"}) {
    const ArraysMade made = Of(Program(RowsOfProduct("a", "p", "q") + RowsOfProduct("b", "q", "p") +
                                           "  %s = add_arrays " + sum + "\n  ret %s\n",
                                       "[*,*]f64"));
    CHECK(made.arrays == 1);
    CHECK_FALSE(made.adds);
  }
  // Three, one after the other.
  const ArraysMade made = Of(Program(
      RowsOfProduct("a", "p", "q") + RowsOfProduct("b", "q", "p") + RowsOfProduct("c", "p", "p") +
          "  %s = add_arrays %a, %b\n  %t = add_arrays %s, %c\n  ret %t\n",
      "[*,*]f64"));
  CHECK(made.arrays == 1);
  CHECK_FALSE(made.adds);
}

TEST_CASE("join sums: arrays that others read stay") {
  const std::string two = RowsOfProduct("a", "p", "q") + RowsOfProduct("b", "q", "p");
  // Behind the sum, and in front of it.
  CHECK(
      Of(Program(two + "  %s = add_arrays %a, %b\n  ret %s, %b\n", "[*,*]f64, [*,*]f64")).arrays ==
      2);
  CHECK(Of(Program(two + RowsOfProduct("c", "a", "b") + "  %s = add_arrays %a, %b\n  ret %s, %c\n",
                   "[*,*]f64, [*,*]f64"))
            .arrays == 3);
  // The second is made of the first.
  CHECK(Of(Program(RowsOfProduct("a", "p", "q") + RowsOfProduct("b", "a", "p") +
                       "  %s = add_arrays %a, %b\n  ret %s\n",
                   "[*,*]f64"))
            .adds);
}

// Of both sides of a product of columns one adds term by term; the other, which is made first, moves behind it.
TEST_CASE("join sums: what is made first moves behind what takes its terms one by one") {
  const ir::Module ssa = testing::LowerText(
      "fn f(x: [n, d]f64) -> f64 { let g = x.T @ x\n return sqrt(sum(g * g)) }", "f");
  const auto args = [](int64_t n) { return std::vector<Tensor>{Ramp({n, 4})}; };
  testing::CheckDerivatives(ssa, args(3));
  const ir::Module gradient = testing::Derived(ssa, pipeline::Transform::kValueAndGrad);
  for (const int64_t n : {0, 1, 17}) RunBoth(gradient, args(n));
  CHECK(ElementsMade(gradient, args(100), kRows) < 100 * 4 + 50);
}

// A loop that adds a part of an array to a part of another looks much like one that adds all of it.
TEST_CASE("join sums: sums of parts stay") {
  const std::string programs[] = {
      "let t = gen i < n { tanh(y[i]) }\n var a = gen i < n { sin(x[i]) }\n a[0:k] += t[0:k]\n "
      "return sum i < n { a[i] * f64(i + 1) }",
      "var a = gen i < n { sin(x[i]) }\n let t = gen i < m { tanh(y[i]) }\n a[0:k] += t[0:k]\n "
      "return sum i < n { a[i] * f64(i + 1) }",
      "let s = sum i < m { y[i] }\n var a = gen i < n { sin(x[i]) * s }\n a[0:m] += y\n return "
      "sum i < n { a[i] * f64(i + 1) }",
      "let s = sum(y)\n var a = gen i < n, j < m { x[i] * y[j] * s }\n a[0] += y\n return sum i < "
      "n, j < m { a[i, j] * f64(i + j) }",
      "let b = gen i < n, j < m { x[i] + y[j] }\n let s = sum(b)\n var a = gen i < n, j < m { "
      "sin(x[i]) * s }\n a[0] += b[0]\n return sum i < n, j < m { a[i, j] * f64(i + j) }",
  };
  for (const std::string& text : programs) {
    INFO(text);
    const ir::Module ssa =
        testing::LowerText("fn f(x: [n]f64, y: [m]f64, k: i64) -> f64 { " + text + " }", "f");
    const int64_t m = &text == &programs[0] ? 6 : 3;
    const std::vector<Tensor> args = {Ramp({6}), Ramp({m}), Tensor::I64(2)};
    for (const auto t : {pipeline::Transform::kValue, pipeline::Transform::kValueAndGrad}) {
      const ir::Module derived = testing::Derived(ssa, t, {true, true, false});
      RunBoth(derived, args);
      RunBoth(testing::Derived(ssa, t, {true, true, false}, false), args);
    }
  }
}

}  // namespace
}  // namespace pullback::loops
