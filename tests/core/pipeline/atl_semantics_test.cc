// Bernstein et al., section 4, rule by rule: what programs give (4.1-4.21) and what they cost (4.22-4.34), by
// the reference interpreter on programs as lowered.
#include <catch2/catch.hpp>

#include "core/ir/printer.h"
#include "tests/support/derivatives.h"
#include "tests/support/relations.h"

namespace pullback::pipeline {
namespace {

using testing::Vec;

struct Rule {
  const char* numbers;
  const char* program;  // of x = [1, 2, 3], y = [4, 5, 6]
  std::vector<double> gives;
  int64_t costs;
};

const std::vector<Rule>& Rules() {
  static const std::vector<Rule> rules = {
      {"4.1, 4.22: a variable", "-> [n]f64 { return y }", {4, 5, 6}, 0},
      {"4.2, 4.23: a constant", "-> f64 { return 2.5 }", {2.5}, 0},
      {"4.3, 4.24: a sum", "-> f64 { return x[0] + y[0] }", {5}, 1},
      {"4.4, 4.25: a product", "-> f64 { return x[1] * y[1] * 2.0 }", {20}, 2},
      {"4.5, 4.26: a function",
       "-> [n]f64 { return gen i < n { sqrt(x[i] * x[i]) } }",
       {1, 2, 3},
       6},
      {"4.5, 4.26: a black box", "-> f64 { return sum i < n { black(x[i], y[i]) } }", {20}, 5},
      {"4.6, 4.27: a pair", "-> (f64, f64) { return (x[1] * y[1], x[2]) }", {10, 3}, 1},
      {"4.7, 4.29: gen", "-> [n]f64 { return gen i < n { x[i] * y[i] } }", {4, 10, 18}, 3},
      {"4.7, 4.6: gen of pairs, by a function of two results",
       "-> ([n]f64, [n]f64) { return two.(x, y) }",
       {4, 10, 18, 5, 7, 9},
       3},
      {"4.8, 4.30: a sum of n terms has n - 1 additions",
       "-> f64 { return sum i < n { x[i] } }",
       {6},
       2},
      {"4.30: sums in sums count jointly",
       "-> f64 { return sum i < n { sum j < n { x[i] * y[j] } } }",
       {90},
       9 + 8},
      {"4.30: terms that are absent are not added",
       "-> f64 { return sum i < n { [1 <= i] * x[i] * y[i] } }",
       {28},
       2 + 1},
      {"4.30: one term is no addition", "-> f64 { return sum i < n { [i == 1] * x[i] } }", {2}, 0},
      {"4.30: none is none", "-> f64 { return sum i < n { [7 <= i] * x[i] } }", {0}, 0},
      {"4.9, 4.32: let", "-> f64 { let a = x[1] * y[1]\n return a + a }", {20}, 2},
      {"4.10, 4.28: projections",
       "-> f64 { let p = (x[1] * y[1], x[2])\n return p.0 * p.1 }",
       {30},
       2},
      {"4.11, 4.31: an access of a gen",
       "-> f64 { let a = gen i < n { x[i] * y[i] }\n return a[1] }",
       {10},
       3},
      {"4.12, 4.33, 4.34: [p] · e costs where p holds",
       "-> [n]f64 { return gen i < n { [i == 1] * (x[i] * y[i]) } }",
       {0, 10, 0},
       1},
      {"4.12: [p] guards an access",
       "-> [n]f64 { return gen i < n { [1 <= i] * x[i - 1] } }",
       {0, 1, 2},
       0},
      {"4.24 *: an addition counts where both sides are present",
       "-> [n]f64 { return gen i < n { [i < 2] * x[i] + [1 <= i] * y[i] } }",
       {1, 7, 6},
       1},
      {"4.24 *: with one predicate",
       "-> [n]f64 { return gen i < n { x[i] + [1 <= i] * y[i] } }",
       {1, 7, 9},
       2},
      {"4.24 *: a difference is a sum with a negation",
       "-> [n]f64 { return gen i < n { [i < 2] * x[i] - [1 <= i] * y[i] } }",
       {1, -3, -6},
       2},
      {"4.13-4.17: indices are values and cost nothing",
       "-> [n]f64 { return gen i < n { f64(2 * i + n - 1) } }",
       {2, 4, 6},
       0},
      {"4.16, 4.17: affine accesses", "-> [2]f64 { return gen i < 2 { x[2 * i] } }", {1, 3}, 0},
      {"4.18: < <= =",
       "-> [n]f64 { return gen i < n { [i < 1] * 1.0 + [i <= 1] * 10.0 + [i == 1] * 100.0 } }",
       {11, 110, 0},
       2},
      {"4.19: and", "-> f64 { return sum i < n { [0 < i and i < 2] * y[i] } }", {5}, 0},
      {"4.19: or", "-> f64 { return sum i < n { [i == 0 or i == 2] * y[i] } }", {10}, 1},
      {"4.21: exists",
       "-> [n]f64 { return gen i < n { [exists j < n: 2 * j == i] * y[i] } }",
       {4, 0, 6},
       0},
  };
  return rules;
}

eval::Result Run(const std::string& text, const std::vector<Tensor>& args) {
  const ir::Module m = testing::LowerText(text, "f");
  eval::Limits limits;
  limits.call_cost = 1;
  auto r = eval::Run(m, args, limits);
  INFO(ir::Print(m));
  REQUIRE(r.ok());
  REQUIRE_FALSE(r->trap);
  return std::move(r).value();
}

std::vector<double> All(const std::vector<Tensor>& tensors) {
  std::vector<double> all;
  for (const Tensor& t : tensors) {
    for (double d : testing::Doubles(t)) all.push_back(d);
  }
  return all;
}

TEST_CASE("ATL, section 4: values and costs") {
  for (const Rule& rule : Rules()) {
    INFO(rule.numbers << "\n" << rule.program);
    const std::string text =
        std::string("fn black(a: f64, b: f64) -> f64 { return a * b - a * 2.0 }\n") +
        "fn two(a: f64, b: f64) -> (f64, f64) { return (a * b, a + b) }\n" +
        "fn f(x: [n]f64, y: [n]f64) " + rule.program;
    const eval::Result r = Run(text, {Vec({1, 2, 3}), Vec({4, 5, 6})});
    CHECK(All(r.values) == rule.gives);
    CHECK(r.cost.ops == rule.costs);
  }
}

TEST_CASE("ATL, 4.20 and 4.30: a relation, in time of its tuples") {
  const std::string text =
      "fn f(r: rel[n, n], x: [n]f64) -> f64 { return sum i < n, j < n { [r(i, j)] * x[i] * x[j] } "
      "}";
  const testing::TestRelation r{{4, 4}, {{0, 1, 3}, {1, 3, 0}}};
  const eval::Result got = Run(text, testing::WithRelations({r}, {Vec({1, 2, 3, 4})}));
  CHECK(All(got.values) == std::vector<double>{2 + 8 + 4});
  CHECK(got.cost.ops == 3 + 2);
  CHECK(got.cost.steps < 60);
}

// Section 2.1: the adjoint of a convolution is a correlation over k from 1 - m to n - 1.
TEST_CASE("ATL, section 2.1: ranges that start below 0") {
  const std::string conv =
      "fn f(x: [n + m - 1]f64, c: [m]f64) -> [n]f64 {\n"
      "  return gen i < n { sum j < m { x[i - j + m - 1] * c[j] } } }\n";
  const std::string correlation =
      "fn f(dy: [n]f64, c: [m]f64) -> [n + m - 1]f64 {\n"
      "  return gen k in 1 - m..n { sum j < m { [0 <= k + j and k + j < n] * dy[k + j] * c[j] } } "
      "}\n";
  const std::vector<Tensor> args = {Vec({1, 10, 100}), Vec({2, 3})};
  const eval::Result by_hand = Run(correlation, args);
  CHECK(All(by_hand.values) == std::vector<double>{3, 32, 320, 200});
  const ir::Module adjoint =
      testing::Derived(testing::LowerText(conv, "f"), Transform::kVjp, {true, false});
  const std::vector<Tensor> got = testing::RunOk(adjoint, {Vec({0, 0, 0, 0}), args[1], args[0]});
  CHECK(testing::Doubles(got[1]) == All(by_hand.values));
  testing::CheckDerivatives(testing::LowerText(correlation, "f"), args);
}

}  // namespace
}  // namespace pullback::pipeline
