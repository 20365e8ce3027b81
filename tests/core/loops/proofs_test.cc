// Programs whose accesses are proven in bounds: no check of a subscript is left in their loops, nor in
// those of their gradients.
#include <catch2/catch.hpp>

#include "core/loops/loops.h"
#include "core/loops/lower.h"
#include "tests/core/loops/testing.h"
#include "tests/support/derivatives.h"

namespace pullback::loops {
namespace {

using pipeline::Transform;

int IndexChecks(const std::vector<Node>& nodes) {
  int count = 0;
  for (const Node& n : nodes) {
    count +=
        n.kind == Node::Kind::kCheck && static_cast<ir::TrapKind>(n.bits) == ir::TrapKind::kIndex;
    count += IndexChecks(n.body);
  }
  return count;
}

int ChecksLeft(const std::string& text, const std::string& entry, Transform transform) {
  const auto loops = LowerToLoops(testing::Derived(testing::LowerText(text, entry), transform));
  REQUIRE(loops.ok());
  int count = 0;
  for (const auto& f : loops->functions) {
    for (const Block& b : f->blocks) count += IndexChecks(b.nodes);
  }
  return count;
}

struct Program {
  const char* name;
  const char* text;
};

constexpr Program kProven[] = {
    {"matmul", "fn f(a: [n, m]f64, b: [m, p]f64) -> f64 { return sum(a @ b) }"},
    {"convolution", R"(
fn f(x: [n]f64, c: [m]f64) -> f64 {
  let y = gen i < n - m + 1 { sum j < m { x[i + j] * c[j] } }
  return sum i < n - m + 1 { y[i] * y[i] }
})"},
    {"stencil", R"(
fn f(x: [n]f64) -> f64 {
  let y = gen i < n { [0 <= i - 1] * x[i - 1] - 2.0 * x[i] + [i + 1 < n] * x[i + 1] }
  return sum i < n { y[i] * y[i] }
})"},
    {"held at the ends",
     "fn f(x: [n, m]f64) -> f64 { return sum i < n, j < m, p < 3 { x[max(0, min(n - 1, i + p - "
     "1)), min(m - 1, "
     "max(0, j - p))] * x[min(i + p, n - 1), j] } }"},
    {"strided by a factor of the size",
     "fn f(x: [2 * n]f64) -> f64 { return sum i < n { x[2 * i] * x[2 * i + 1] } }"},
    {"strided by half the size",
     "fn f(x: [m]f64) -> f64 { return sum i < m / 2 { x[2 * i] * x[2 * i + 1] } }"},
    {"strided by a guard",
     "fn f(x: [m]f64) -> f64 { return sum i < m { [2 * i < m] * x[2 * i] } }"},
    {"triangular sum",
     "fn f(a: [n, n]f64) -> f64 { return sum i < n, j < n { [j <= i] * a[i, j] * a[j, i] } }"},
    {"a product of what is in front",
     "fn f(x: [n]f64, y: [n]f64) -> f64 { return sum i < n { y[i] * prod j < i { x[j] } } }"},
    {"triangular range",
     "fn f(x: [n]f64) -> f64 { return sum i < n { sum j < i + 1 { x[j] * x[i - j] } } }"},
    {"loop", R"(
fn f(x: [n]f64) -> f64 {
  var s = 0.0
  for i < n { s = sin(s) * x[i] }
  return s
})"},
    {"loop over pairs", R"(
fn f(x: [n]f64) -> f64 {
  var s = 0.0
  for i in 1..n { s = s + x[i] * x[i - 1] }
  return s
})"},
};

TEST_CASE("proven accesses have no checks, in values, gradients and their tangents") {
  for (const Program& p : kProven) {
    INFO(p.name);
    CHECK(ChecksLeft(p.text, "f", Transform::kValue) == 0);
    CHECK(ChecksLeft(p.text, "f", Transform::kValueAndGrad) == 0);
    CHECK(ChecksLeft(p.text, "f", Transform::kJvp) == 0);
    CHECK(ChecksLeft(p.text, "f", Transform::kHvp) == 0);
  }
}

TEST_CASE("a triangular solve has no checks") {
  CHECK(ChecksLeft(R"(
fn f(a: [n, n]f64, b: [n]f64) -> [n]f64 {
  var x = b
  for i < n { x[i] = (x[i] - sum j < i { a[i, j] * x[j] }) / a[i, i] }
  return x
})",
                   "f", Transform::kValue) == 0);
}

TEST_CASE("what data say is checked") {
  CHECK(ChecksLeft("fn f(x: [n]f64, k: [m]i64) -> f64 { return sum i < m { x[k[i]] } }", "f",
                   Transform::kValue) == 1);
  // Once, whoever asks.
  CHECK(ChecksLeft("fn f(x: [n]f64, k: [m]i64) -> f64 { return sum i < m { exp(x[k[i]]) } }", "f",
                   Transform::kValueAndGrad) == 1);
  CHECK(ChecksLeft("fn f(x: [n]f64, k: i64) -> f64 { return sum i < n { x[i + k] } }", "f",
                   Transform::kValue) == 1);
}

}  // namespace
}  // namespace pullback::loops
