// Rows of which a condition, on data or on the row's number, chooses how each is made: as chosen from tables of both, in
// statements alone, and no table is made.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/eval/interpreter.h"
#include "core/ir/ir.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

const char* const kHead =
    "fn f(x: [n, d]f64, w: [d, h]f64, u: [h, h]f64, v: [h]f64, y: [n]f64) -> f64 {\n"
    "  let z = tanh.(x @ w)\n";
const char* const kTail = "  return sum i < n { dot(q[i], v) ** 2 + norm2(q[i] + 1.0) }\n}\n";

Tensor Line(int64_t n, double start) {
  Tensor t = Waves(n, 1, start);
  t.shape = {n};
  return t;
}
std::vector<Tensor> ChosenArgs(int64_t n) {
  return {Waves(n, 2, 0.5), Waves(2, 3, 1.5), Waves(3, 3, 0.25), Line(3, 0.75), Line(n, 2.5)};
}

struct Rows {
  const char *condition, *yes, *no;
};
const Rows kRows[] = {
    {"y[i] > 0.0", "z[i] @ u", "z[i]"},
    {"i % 2 == 0", "z[i]", "tanh.(z[i] @ u)"},
    {"y[i] > 0.0", "softmax(z[i] @ u)", "z[i] @ u"},
    {"norm2(z[i]) > 0.9", "z[i] / norm2(z[i])", "z[i]"},
    {"y[i] > 0.0 and i > 1", "tanh.(z[i] @ u) @ u", "v"},
    {"z[i, 0] > 0.0", "let a = z[i] @ u; a * norm2(a + 1.0)", "cumsum(z[i])"},
    {"not (y[i] > 0.1)", "gen k < h { sum l < h { exp(z[i, k] * z[i, l]) } }", "zeros(h)"},
    {"y[max(0, i - 1)] > 0.0", "z[max(0, i - 1)] @ u", "z[i] * y[i]"},
    {"y[0] > 0.3", "z[i] @ u", "u @ z[i]"},
};

std::string Chosen(const Rows& r) {
  return std::string(kHead) + "  let q = gen i < n { if " + r.condition + " { " + r.yes +
         " } else { " + r.no + " } }\n" + kTail;
}
std::string FromTables(const Rows& r) {
  return std::string(kHead) + "  let a = gen i < n { " + r.yes + " }\n  let b = gen i < n { " +
         r.no + " }\n  let q = gen i < n, k < h { if " + r.condition +
         " { a[i, k] } else { b[i, k] } }\n" + kTail;
}

}  // namespace

TEST_CASE("chosen rows: as from tables of both arms") {
  for (const Rows& r : kRows) {
    INFO(Chosen(r));
    const ir::Module chosen = LowerText(Chosen(r), "f"), tables = LowerText(FromTables(r), "f");
    CHECK(chosen.Get(chosen.entry).blocks.size() == 1);
    for (const int64_t n : {0, 1, 2, 7}) {
      const auto one = eval::Run(chosen, ChosenArgs(n)), other = eval::Run(tables, ChosenArgs(n));
      REQUIRE(one.ok());
      REQUIRE(other.ok());
      CHECK(one->values[0].At<double>(0) == Approx(other->values[0].At<double>(0)));
      CheckSameOptimised(chosen, Transform::kValue, ChosenArgs(n));
      CheckSameOptimised(chosen, Transform::kValueAndGrad, ChosenArgs(n));
    }
    CheckDerivatives(chosen, ChosenArgs(5));
  }
}

TEST_CASE("chosen rows: an arm takes work where it is chosen alone") {
  const ir::Module ssa =
      LowerText(Chosen({"y[i] > 0.0", "tanh.(tanh.(z[i] @ u) @ u) @ u", "z[i]"}), "f");
  for (const Transform transform : {Transform::kValue, Transform::kValueAndGrad}) {
    const ir::Module module = Derived(ssa, transform);
    const auto ops = [&](double y) {
      std::vector<Tensor> args = ChosenArgs(40);
      args[4] = Tensor::Of(DType::kF64, {40}, std::vector<double>(40, y));
      const auto run = eval::Run(module, args);
      REQUIRE(run.ok());
      return static_cast<double>(run->cost.ops);
    };
    CHECK(ops(-1.0) * 2 < ops(1.0));
  }
}

// What an arm reads out of range ends the run where the arm is chosen alone.
TEST_CASE("chosen rows: errors are those of the arm that is chosen") {
  const ir::Module ssa = LowerText(
      std::string(kHead) +
          "  let q = gen i < n { if y[i] > 0.0 { z[i + 1] @ u } else { z[i] } }\n" + kTail,
      "f");
  const auto args = [](std::vector<double> y) {
    std::vector<Tensor> all = ChosenArgs(3);
    all[4] = Tensor::Of(DType::kF64, {3}, y);
    return all;
  };
  const ir::Module optimised = Derived(ssa, Transform::kValue);
  REQUIRE(CheckSameTrap(optimised, ssa, args({1.0, 1.0, 1.0})));
  CheckSameOptimised(ssa, Transform::kValue, args({1.0, 1.0, -1.0}));
  CheckSameOptimised(ssa, Transform::kValueAndGrad, args({1.0, -1.0, -1.0}));
}

// As under a bracket (docs/language.md, ranges): there is nothing to add.
TEST_CASE("chosen rows: a range of an arm that ends below its start has no elements") {
  const ir::Module ssa = LowerText(
      "fn f(z: [n, h]f64, y: [n]f64, c: i64) -> f64 {\n"
      "  let q = gen i < n { if y[i] > 0.0 { z[i] * sum j < c { z[i, j] } } else { z[i] } }\n"
      "  return sum(q)\n}\n",
      "f");
  const std::vector<Tensor> args = {
      Tensor::Of(DType::kF64, {2, 2}, std::vector<double>{1, 2, 3, 4}),
      Tensor::Of(DType::kF64, {2}, std::vector<double>{1, -1}), Tensor::I64(-2)};
  for (const bool optimise : {false, true}) {
    const auto run = eval::Run(Derived(ssa, Transform::kValue, {}, optimise), args);
    REQUIRE(run.ok());
    REQUIRE_FALSE(run->trap);
    CHECK(run->values[0].At<double>(0) == 7);
  }
}

}  // namespace pullback::testing
