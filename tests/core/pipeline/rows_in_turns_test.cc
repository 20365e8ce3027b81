// Loops over sets, whose turns take the rows of their own set: the same values and derivatives as by the array of all sets, and no
// such array.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "core/ir/ir.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

Tensor Sets(int64_t b, int64_t n, int64_t d) {
  Tensor t = Waves(b * n, d, 0.5);
  t.shape = {b, n, d};
  return t;
}
std::vector<Tensor> SetArgs(int64_t b, int64_t n) {
  return {Sets(b, n, 2), Waves(2, 3, 1.5), Waves(3, 3, 0.25), Waves(b, n, 2.5)};
}
std::string OverSets(const std::string& body) {
  return "fn f(x: [b, n, d]f64, w: [d, h]f64, u: [h, h]f64, y: [b, n]f64) -> f64 {\n"
         "  let z = gen a < b, i < n { tanh.(x[a, i] @ w) }\n  var s = 0.1\n" +
         body + "  return s + sum(u) * sum(y)\n}\n";
}

// Arrays of so many axes, or more, that statements make.
int CountOfAxes(const ir::Module& m, size_t axes) {
  int count = 0;
  for (const ir::Block& b : m.Get(m.entry).blocks) {
    for (const ir::Inst& inst : b.insts) {
      if (!inst.each) continue;
      for (const ir::EachResult& r : inst.each->results) count += r.shape.size() >= axes;
    }
  }
  return count;
}

void CheckSets(const std::string& body, int count = 0) {
  INFO(OverSets(body));
  const ir::Module ssa = LowerText(OverSets(body), "f");
  CHECK(CountOfAxes(Derived(ssa, Transform::kValue), 3) == count);
  for (const int64_t b : {0, 1, 3}) {
    for (const int64_t n : {0, 1, 5, 17}) {
      CheckSameOptimised(ssa, Transform::kValue, SetArgs(b, n));
      CheckSameOptimised(ssa, Transform::kValueAndGrad, SetArgs(b, n));
    }
  }
  CheckDerivatives(ssa, SetArgs(2, 4));
}

}  // namespace

TEST_CASE("rows in turns: what a turn takes of its own set") {
  CheckSets("  for a < b { s = s + sum i < n { sum(z[a, i]) ** 2 } }\n");
  CheckSets("  for a < b { for i < n { s = s + sum(z[a, i]) * y[a, i] } }\n");
  CheckSets("  for a < b { for i in 1..n { s = sin(s + dot(z[a, i], z[a, i - 1])) } }\n");
  CheckSets("  for a < b { for i < n { s = s + dot(z[a, i], z[a, max(0, i - 1)]) } }\n");
  CheckSets("  for a < b { s = sin(s + logsumexp(gen i < n { sum(z[b - 1 - a, i]) })) }\n");
  CheckSets(
      "  for a < b { if s > 1.5 { break }\n s = s + sum i < n { dot(z[a, i] @ u, z[a, i]) } }\n");
  CheckSets("  for a < b { s = sin(s + sum i < n { dot(z[a, i], z[0, i]) }) }\n");
  CheckSets("  for a in 1..b { s = s + norm2(sum i < n { z[a, i] * y[a - 1, i] } + 1.0) }\n");
  CheckSets(
      "  let t = gen a < b, i < n { tanh.(z[a, i] @ u) }\n"
      "  for a < b { s = s + sum i < n { sum(t[a, i]) * y[a, i] } }\n");
}

TEST_CASE("rows in turns: scans start anew for each row of a set, not for each element") {
  CheckSets(
      "  let e = gen a < b, i < n { cumsum(z[a, i]) }\n  var c = zeros(n, h)\n"
      "  for a < b { c = 0.5 * c + tanh.(e[a]) }\n  s = sum(c * c)\n");
}

TEST_CASE("rows in turns: what more than a turn takes is one array") {
  CheckSets("  for a < b { s = s + sum i < n { sum(z[a, i]) ** 2 } }\n  s += sum(z)\n", 2);
  CheckSets("  for a < b { for c < b { s = sin(s + sum i < n { dot(z[a, i], z[c, i]) }) } }\n", 2);
}

// Blocks of turns would hide that each place is stored at once.
TEST_CASE("rows in turns: rows of which turns fill a table") {
  const char* const text = R"(
fn f(x: [n, d]f64, w: [d, h]f64, u: [h, h]f64, y: [n]f64) -> f64 {
  let z = tanh.(x @ w)
  var g = zeros(n)
  for i < n { if i > 0 { g[i] = 0.5 * g[i - 1] + dot(z[i], u[0]) } }
  return sum(g * g * y)
})";
  const ir::Module ssa = LowerText(text, "f");
  CHECK(CountOfAxes(Derived(ssa, Transform::kValue), 2) == 0);
  for (const int64_t n : {0, 1, 2, 17}) {
    Tensor y = Waves(n, 1, 2.5);
    y.shape = {n};
    const std::vector<Tensor> args = {Waves(n, 2, 0.5), Waves(2, 3, 1.5), Waves(3, 3, 0.25), y};
    CheckSameOptimised(ssa, Transform::kValue, args);
    CheckSameOptimised(ssa, Transform::kValueAndGrad, args);
    if (n > 0) CheckDerivatives(ssa, args);
  }
}

}  // namespace pullback::testing
