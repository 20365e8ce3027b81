// Relations: values and derivatives, against the same programs over dense masks.
#include <catch2/catch.hpp>

#include "tests/support/derivatives.h"
#include "tests/support/random_relations.h"
#include "tests/support/relations.h"
#include "tests/support/settings.h"

namespace pullback::testing {
namespace {

void CheckClose(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  REQUIRE(got.size() == want.size());
  for (size_t k = 0; k < got.size(); ++k) {
    CHECK(got[k].shape == want[k].shape);
    const std::vector<double> a = Doubles(got[k]), b = Doubles(want[k]);
    REQUIRE(a.size() == b.size());
    for (size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).epsilon(1e-12).margin(1e-14));
  }
}

TEST_CASE("relations: values are those over dense masks") {
  for (const RelationProgram& c : RelationPrograms()) {
    SECTION(c.name) {
      CheckClose(RunOk(LowerText(c.text, "f"), WithRelations(c.relations, c.rest)),
                 RunOk(LowerText(Masked(c.text), "f"), WithMasks(c.relations, c.rest)));
    }
  }
}

// Any number of tuples, from none to more than there are.
TEST_CASE("relations: random ones give the values of dense masks") {
  for (uint32_t seed = 0; seed < 8; ++seed) {
    for (const RelationProgram& c : RelationPrograms()) {
      INFO(c.name << ", seed " << seed);
      std::vector<TestRelation> relations;
      for (const TestRelation& r : c.relations) {
        const auto tuples = static_cast<int64_t>(seed * seed);
        relations.push_back(RandomRelation(r.sizes, tuples, 100 * seed + 1));
      }
      CheckClose(RunOk(LowerText(c.text, "f"), WithRelations(relations, c.rest)),
                 RunOk(LowerText(Masked(c.text), "f"), WithMasks(relations, c.rest)));
    }
  }
}

// So are ties: which point has the derivative of an extremum.
TEST_CASE("relations: tangents are those over dense masks") {
  const auto tangent = [](const std::string& text, std::vector<Tensor> args,
                          const std::vector<Tensor>& rest) {
    for (const Tensor& t : rest) {
      if (t.dtype == DType::kF64) args.push_back(t);
    }
    return RunOk(Derived(LowerText(text, "f"), pipeline::Transform::kJvp), args);
  };
  for (const RelationProgram& c : RelationPrograms()) {
    SECTION(c.name) {
      CheckClose(tangent(c.text, WithRelations(c.relations, c.rest), c.rest),
                 tangent(Masked(c.text), WithMasks(c.relations, c.rest), c.rest));
    }
  }
}

TEST_CASE("relations: modes agree with each other and with differences") {
  for (const RelationProgram& c : RelationPrograms()) {
    SECTION(c.name) {
      CheckDerivatives(LowerText(c.text, "f"), WithRelations(c.relations, c.rest));
    }
  }
}

// nullopt: a trap.
std::optional<std::vector<Tensor>> Gradient(const std::string& text,
                                            const std::vector<Tensor>& args) {
  StatusOr<eval::Result> result =
      eval::Run(Derived(LowerText(text, "f"), pipeline::Transform::kValueAndGrad), args);
  REQUIRE(result.ok());
  return result->trap ? std::nullopt : std::optional(std::move(result->values));
}

// PULLBACK_SEED is the seed, PULLBACK_PROGRAMS how many conditions.
TEST_CASE("relations: random conditions have the gradients of loops", "[long]") {
  std::mt19937 random(Setting("PULLBACK_SEED", 11));
  const uint32_t rounds = Setting("PULLBACK_PROGRAMS", 12);
  for (uint32_t round = 0; round < rounds; ++round) {
    for (const auto& programs : {RandomPairPrograms(random), RandomTriplePrograms(random)}) {
      const std::vector<Tensor> args = RandomRelationArguments(random);
      for (const RandomRelationProgram& p : programs) {
        if (!p.smooth) continue;
        INFO(p.statement);
        const auto want = Gradient(p.loop, args);
        if (!want) continue;
        const auto got = Gradient(p.statement, args);
        REQUIRE(got);
        CheckClose(*got, *want);
      }
    }
  }
}

// --- work

eval::Cost CostOf(const ir::Module& module, const std::vector<Tensor>& args) {
  StatusOr<eval::Result> result = eval::Run(module, args);
  REQUIRE(result.ok());
  REQUIRE_FALSE(result->trap);
  return result->cost;
}

Tensor Ones(std::vector<int64_t> shape) {
  int64_t count = 1;
  for (int64_t n : shape) count *= n;
  return Tensor::Of(DType::kF64, std::move(shape),
                    std::vector<double>(static_cast<size_t>(count), 1.0));
}

ir::Module WithKeys(const std::string& body) {
  return LowerText(
      "fn half(i: i64) -> i64 { if i < 0 { return 0 } return i / 2 }\n"
      "fn low(i: i64) -> i64 { var s = i; while s > 200 { s = s - 200 } return s }\n"
      "fn f(r: rel[n, n], k: [n]i64, a: [n, 4]f64, x: [n]f64) -> f64 { return " +
          body + " }",
      "f");
}

// Tuples are of indices below `used`.
std::vector<Tensor> KeyArguments(int64_t size, int64_t used, int64_t tuples) {
  TestRelation relation = RandomRelation({used, used}, tuples, 1);
  relation.sizes = {size, size};
  std::vector<int64_t> next;
  for (int64_t i = 0; i < size; ++i) next.push_back((i * 7 + 1) % size);
  return WithRelations({relation},
                       {Tensor::Of(DType::kI64, {size}, next), Ones({size, 4}), Ones({size})});
}

// All of these do work for each tuple and each index, never for each pair of indices.
TEST_CASE("relations: values and gradients in time and memory of their tuples") {
  constexpr int64_t kSize = 400, kTuples = 800;
  const char* const programs[] = {
      "sum i < n, j < n { [r(i, j)] * (x[i] - x[j]) ** 2 }",
      "sum i < n { x[i] * sum j < n { [r(i, j)] * (x[i] - x[j]) } }",
      "sum i < n { x[i] * sum j < n { [r(j, i)] * (x[i] - x[j]) } }",
      "sum i < n, j < n { [r(i, j) and i < j and x[j] > 0.5] * x[i] * x[j] }",
      "sum i < n, j < n { [r(i, j)] * x[j] * tanh(sum k < 4 { a[i, k] * a[j, k] }) }",
      "sum i < n { x[i] + sum j < n { [r(i, j)] * x[j] * (sum k < 4 { a[i, k] * a[j, k] }) } }",
      "sum i < n, j < n { [r(i, j)] * norm(a[i] - a[j] + x[i]) }",
      "sum i < n, j < n, k < n { [r(i, j) and r(j, k)] * x[i] * x[k] }",
      "sum i < n, j < n, k < n { [r(i, j) and r(k, j)] * x[i] * x[k] }",
      "sum i < n, j < n, k < n { [r(i, j) and r(j, k) and r(k, i)] * x[i] * x[k] }",
      "sum i < n, j < n { [r(i, j)] * x[i] * exp(sum k < n { [r(j, k)] * x[k] * x[j] }) }",
      "sum i < n, j < n { [r(i, j)] * x[i] * exp(sum k < n { [r(k, j)] * x[k] * x[i] }) }",
      "sum i < n, j < n { [r(i, j)] * (exp(x[j]) / (sum k < n { [r(i, k)] * exp(x[k]) })) }",
      "sum(sum i < n, j < n { [r(i, j)] * x[i] * a[j] })",
      "sum(gen i < n { sum j < n { [r(i, j)] * tanh.(a[j]) } })",
      "sum i < n { [exists j < n: r(i, j) and x[j] > 0.5] * x[i] }",
      // Quotients of products with brackets.
      "sum i < n, j < n { [r(i, j)] * x[j] / x[i] }",
      "sum i < n, j < n { [r(j, i)] * x[j] / x[i] * x[j] / 2.0 }",
      "sum i < n { x[i] * sum j < n { [r(i, j)] / x[j] } }",
      "sum i < n { x[i] * sum j < n { -(x[j] * [r(j, i)] / x[i]) } }",
      "sum i < n, j < n { [r(i, j) and x[j] > 0.5] * x[i] / (sum k < n { [r(i, k)] * x[k] }) }",
      "sum i < n, j < n, k < n { [r(i, j) and r(j, k)] * x[i] / x[j] / x[k] }",
      "sum(sum i < n, j < n { [r(i, j)] * a[j] / x[i] })",
      "sum(gen i < n { sum j < n { [r(i, j)] * x[i] / (2.0 + a[j]) } })",
      "sum(gen i < n { max j < n { [r(i, j)] * x[i] / x[j] } })",
      "sum(gen j < n { min i < n { [r(i, j)] * (x[i] - 2.0 * x[j]) / x[j] } })",
      "sum i < n { x[i] * prod j < n { [r(i, j)] * x[j] / x[i] } }",
      "sum i < n { x[argmax j < n { [r(i, j)] * x[j] / x[i] }] }",
      "sum i < n { x[i] * sum j < n { [r(k[i], j)] * x[j] / x[i] } }",
      "sum i < n, j < n { [j == k[i]] * x[i] / x[j] }",
      "sum i < n, j < n { [j == k[i]] * x[i] * x[j] }",
      "sum i < n, j < n { [r(i, j) and not r(j, i)] * x[i] * x[j] }",
      "sum(gen i < n { max j < n { [r(i, j)] * x[i] * x[j] } })",
      "sum(gen j < n { min i < n { [r(i, j)] * (x[i] - 2.0 * x[j]) } })",
      "sum i < n { x[i] * prod j < n { if r(i, j) { x[j] + x[i] } else { 1.0 } } }",
      "sum j < n { x[j] * prod i < n { [r(i, j)] * x[j] } }",
      "max i < n, j < n { [r(i, j)] * x[i] * x[j] }",
      "sum i < n, j < n { [r(i, j)] * x[i] * max k < n { [r(j, k)] * x[k] * x[j] } }",
      "sum(gen i < n { max j < n { [r(i, j)] * tanh.(a[j]) } })",
      "sum i < n { x[argmax j < n { [r(i, j)] * x[j] }] }",
      "sum i < n { x[i] * f64(argmin j < n { if r(j, i) { x[j] } else { 2.0 } }) }",
      "sum i < n { [and j < n { not r(i, j) or x[j] > 0.5 }] * x[i] }",
      // Conditions on an index that the relation binds.
      "sum i < n { x[i] * sum j < n { [i < 300 and r(i, j)] * x[j] } }",
      "sum i < n { [exists j < n: r(i, j) and i < 300] * x[i] }",
      "sum i < n { x[i] * sum j < n { [r(2 * i, j) and i > 3] * x[j] * x[i - 1] } }",
      "sum i < n { [i > 3] * sum j < n { [r(k[i], j)] * x[j] * x[i - 1] } }",
      "sum i < n, l < 2 { x[i] * sum j < n { [r(i, j) and l < i] * x[j] * x[l] } }",
      // Arguments that are data, or computed from an index.
      "sum i < n { x[i] * sum j < n { [r(k[i], j)] * x[j] } }",
      "sum i < n { x[i] + sum j < n { [r(j, k[i])] * x[j] * x[i] } }",
      "sum i < n, j < n { [r(k[i], j)] * x[i] * x[j] }",
      "sum i < n { x[i] * sum j < n { [r(i, k[j])] * x[j] } }",
      "sum i < n, j < n { [r(k[j], i)] * x[i] * x[j] }",
      "sum(gen i < n - 1 { sum j < n { [r(i + 1, j)] * x[i] * x[j] } })",
      "sum i < n { x[i] * sum j < n { [r(n - 1 - i, j)] * x[j] * x[i] } }",
      "sum i < n { x[i] + sum j < n { [r(2 * i, j)] * x[j] * x[i] } }",
      "sum i < n - 1 { x[i] * sum j < n { [r(k[i + 1] - 1, j)] * x[j] } }",
      "sum i < n { let a = k[i]; x[i] * sum j < n { [r(a, j)] * x[j] * x[i] } }",
      "sum i < n { x[i] * sum j < n { let b = k[i] + 1; [r(b, j) and x[j] > 0.5] * x[j] } }",
      "sum(gen i < n { sum j < n { [r(k[i], j)] * x[i] * a[j] } })",
      "sum i < n { exp(sum j < n { [r(k[i], j)] * x[j] * (sum l < 4 { a[i, l] * a[j, l] }) }) }",
      "sum i < n, j < n, l < n { [r(k[i], j) and r(j, l)] * x[i] * x[l] }",
      "sum i < n { [exists j < n: r(k[i], j) and x[j] > 0.5] * x[i] }",
      "sum(gen i < n { max j < n { [r(k[i], j)] * x[i] * x[j] } })",
      "sum(gen i < n { min j < n { [r(j, k[i])] * (x[i] - 2.0 * x[j]) } })",
      "sum i < n { x[i] * prod j < n { if r(k[i], j + 1) { x[j] + x[i] } else { 1.0 } } }",
      "sum i < n { x[argmax j < n { [r(2 * i, j)] * x[j] }] }",
      "sum i < n { [and j < n { not r(k[i] - 1, j) or x[j] > 0.5 }] * x[i] }",
  };
  const std::vector<Tensor> args = KeyArguments(kSize, kSize, kTuples);
  for (const char* body : programs) {
    INFO(body);
    const ir::Module ssa = WithKeys(body);
    const eval::Cost primal = CostOf(ssa, args);
    const eval::Cost gradient = CostOf(Derived(ssa, pipeline::Transform::kValueAndGrad), args);
    CHECK(primal.steps <
          700 * kTuples);  // a search is some 250 steps, and some run over 2 * kTuples
    CHECK(primal.array_bytes < 100 * kTuples);
    CHECK(gradient.steps < 1400 * kTuples);
    CHECK(gradient.array_bytes < 400 * kTuples);
  }
}

// Once optimised, in time and memory of the tuples; the values are those that are not optimised.
void CheckOptimised(const std::string& body, int64_t steps = 1400) {
  INFO(body);
  constexpr int64_t kSize = 400, kTuples = 800;
  const std::vector<Tensor> args = KeyArguments(kSize, kSize, kTuples),
                            few = KeyArguments(12, 12, 30);
  const ir::Module ssa = LowerText(
      "fn f(r: rel[n, n], k: [n]i64, a: [n, 4]f64, x: [n]f64) -> f64 {\n" + body + " }", "f");
  for (const auto t : {pipeline::Transform::kValue, pipeline::Transform::kValueAndGrad}) {
    const eval::Cost cost = CostOf(Derived(ssa, t), args);
    CHECK(cost.steps < steps * kTuples);
    CHECK(cost.array_bytes < 300 * kTuples);
  }
  CHECK(Scalar(RunOk(Derived(ssa, pipeline::Transform::kValue), few)[0]) ==
        Approx(Scalar(RunOk(Derived(ssa, pipeline::Transform::kValue, {}, false), few)[0]))
            .epsilon(1e-12));
  CheckDerivatives(ssa, few);
}

TEST_CASE("relations: an equation beside a relation is found where rows are added up") {
  CheckOptimised("return sum(gen i < n { sum j < n { [r(i, j) or i == j] * a[j] * x[i] } })");
  CheckOptimised("return sum(gen i < n { sum j < n { [i == j + 2 or r(j, i)] * tanh.(a[j]) } })");
}

TEST_CASE("relations: terms under conditions of their own are added up over what has them") {
  const char* const bodies[] = {
      "sum(gen i < n { sum j < n { [i == j] * a[i, 0] * x[j] - [r(i, j)] * x[j] * a[j, 0] } })",
      "sum i < n, j < n { ([r(i, j)] + [i == j]) * x[i] * x[j] }",
      "sum i < n { x[i] * exp(sum j < n { 0.01 * ([r(i, j)] - [i == j] + [k[i] == j]) * x[j] }) }",
      "sum i < n, j < n { ([i == j] * a[i, 0] + [i == j + 1] * a[j, 0]) * x[i] * x[j] }",
  };
  for (const char* body : bodies) CheckOptimised(std::string("return ") + body);
}

TEST_CASE("relations: a matrix of its tuples with a name is not made") {
  const char* const bodies[] = {
      "let m = gen i < n, j < n { [r(i, j)] * x[i] }\n  return m @ x @ x",
      "let m = gen i < n, j < n { [r(i, j)] * exp(x[i] - x[j]) }\n  return sum(m) + x @ m @ x",
      "let m = gen i < n, j < n { [r(i, j)] * exp(x[i] - x[j]) }\n  return sum(x @ (2.0 * m.T))",
      "let m = gen i < n, j < n { [r(i, j) and i < j] * x[i] }\n  return sum(m @ a)",
      "let m = gen i < n, j < n { [r(i, j)] * a[i, 0] }\n  return sum(tanh.(m @ tanh.(m @ a)))",
      "let m = gen i < n, j < n { [r(i, j)] * x[i] / x[j] }\n"
      "let d = gen i < n { sum j < n { m[i, j] } }\n"
      "return sum i < n { d[i] * x[i] ** 2 } - x @ m @ x",
      "let m = gen i < n, j < n { [r(i, j)] * x[i] }\n  return sum i < n, j < i { m[i, j] * x[j] }",
      "let m = gen i < n, j < n { [k[i] == j] * x[i] }\n  return m @ x @ x",
      // Of several relations, and read twice.
      "let m = gen i < n, j < n { [r(i, j) or r(j, i)] * x[i] }\n  return m @ (m @ x) @ x",
      "let m = gen i < n, j < n { [r(i, j) or i == j] * x[i] }\n  return m @ (m @ x) @ x",
      "let m = gen i < n, j < n { [r(i, j) and r(j, i)] * x[i] * x[j] }\n  return m @ (m @ x) @ x",
      "let m = gen i < n, j < n { [r(i, j) and sin(x[j]) > 0.8] * a[j, 0] }\n"
      "  return sum(m @ tanh.(m @ a))",
      "let m = gen i < n, j < n, l < 3 { [r(i, j)] * exp(x[i] * f64(l)) }\n"
      "  let y = gen i < n { sum j < n, l < 3 { m[i, j, l] * x[j] } }\n"
      "  return y @ y + sum(m)",
  };
  for (const char* body : bodies) CheckOptimised(body);
}

TEST_CASE("relations: nor is one that extrema read, or products with others") {
  const std::string m =  // no ties but those of 0
      "let y = gen i < n { x[i] + 0.013 * f64(i) + 0.0007 * f64(i * i) }\n"
      "  let m = gen i < n, j < n { [r(i, j)] * (y[i] + 2.0) * y[j] }\n  ";
  const char* const bodies[] = {
      "return sum i < n { x[i] * max j < n { m[i, j] } }",
      "return sum j < n { x[j] * min i < n { m[i, j] - 0.3 * x[j] * m[i, j] } }",
      "return max i < n, j < n { m[i, j] * x[j] }",
      "return sum i < n { x[argmax j < n { m[i, j] }] }",
      "return sum i < n { x[i] * prod j < n { 1.0 - 0.25 * m[i, j] } }",
      "return sum i < n { [and j < n { m[i, j] == 0.0 or x[j] > 0.5 }] * x[i] }",
      "return sum i < n { x[i] * max(m[i]) } + max(m)",
      "var t = 0.0\n  for i in 0..n { t = tanh(t + x[i] * max j < n { m[i, j] }) }\n  return t",
      "let c = gen i < n, j < n { if r(i, j) { exp(x[j]) } else { 0.0 } }\n"
      "  return sum i < n { x[i] * max j < n { c[i, j] * m[i, j] } }",
      "return sum i < n, j < n { m[i, j] * m[j, i] }",
      "return sum i < n, j < n { m[i, j] * m[j, i] * x[j] - [r(j, i)] * m[i, j] + m[i, j] }",
      "let c = gen i < n, j < n { m[i, j] * m[j, i] }\n"
      "  return sum i < n { x[i] * sqrt(1.0 + sum j < n { c[i, j] }) } + max(c)",
      "return sum(m * m.T)",
  };
  for (const char* body : bodies) CheckOptimised(m + body);
  // Two searches at the tuples of both.
  CheckOptimised(m + "return sum i < n { x[i] * max j < n { m[i, j] - m[j, i] } }", 5000);
}

TEST_CASE("relations: names of matrices that are read beyond them trap there") {
  const char* const bodies[] = {
      "max j < n + 1 { m[0, j] }",
      "max j < n { m[n, j] }",
      "sum i < n + 1, j < n { m[i, j] * m[j, i] }",
      "max(m[n])",
  };
  for (const char* body : bodies) {
    INFO(body);
    const ir::Module ssa =
        LowerText(std::string("fn f(r: rel[n, n], x: [n]f64) -> f64 {\n"
                              "  let m = gen i < n, j < n { [r(i, j)] * x[i] }\n  return ") +
                      body + " }",
                  "f");
    const std::vector<Tensor> args = WithRelations({RandomRelation({12, 12}, 30, 1)}, {Ones({12})});
    for (const bool optimise : {false, true}) {
      const auto run = eval::Run(Derived(ssa, pipeline::Transform::kValue, {}, optimise), args);
      REQUIRE(run.ok());
      REQUIRE(run->trap);
      CHECK(run->trap->kind == ir::TrapKind::kIndex);
    }
  }
}

TEST_CASE(
    "relations: a matrix with a name that is a sum is not made where some terms are tuples'") {
  const std::string m = "let m = gen i < n, j < n { [r(i, j)] * x[i] }\n  ";
  const char* const bodies[] = {
      // Laplacians: of the graph, normalised, applied twice; by brackets.
      "let l = diag(gen i < n { sum j < n { m[i, j] } }) - m\n  return x @ l @ x",
      "let l = diag(gen i < n { sum j < n { m[i, j] } }) - m\n  let y = l @ x\n  return y @ l @ y",
      "let d = gen i < n { 1.0 / (2.0 + sum j < n { m[i, j] ** 2 }) }\n"
      "  let l = gen i < n, j < n { [i == j] - d[i] * m[i, j] * d[j] }\n  return x @ l @ x",
      "let d = diag(gen i < n { 1.0 / (2.0 + sum j < n { m[i, j] ** 2 }) })\n"
      "  let l = eye(n) - d @ m @ d\n  return x @ l @ x",
      "let l = gen i < n, j < n { [i == j] * x[i] - [r(i, j)] * x[j] }\n  return x @ l @ (l @ x)",
      "let g = gen i < n, j < n { ([r(i, j)] + [i == j]) * x[i] * x[j] }\n"
      "  return sum(g @ tanh.(g @ a))",
      // With itself the other way round, with numbers and several columns.
      "let s = (m + m.T) / 2.0\n  return x @ s @ x",
      "return sum(tanh.((m + eye(n)) @ a))",
      "return x @ (2.0 * eye(n) - 0.5 * m) @ x",
      "let s = gen i < n, j < n { (m[i, j] - m[j, i]) * x[j] }\n  return sum i < n, j < n { s[i, "
      "j] * x[i] }",
  };
  for (const char* body : bodies) CheckOptimised(m + body);
}

TEST_CASE(
    "relations: sums of matrices, what is not linear in them, and dense terms keep their values") {
  const std::string m = "let m = gen i < n, j < n { [r(i, j)] * x[i] }\n  ";
  const char* const bodies[] = {
      "let l = diag(x) - m\n  return sum i < n, j < n { l[i, j] * l[i, j] }",
      "let l = diag(x) - m\n  return sum i < n, j < n { exp(l[i, j]) }",
      "let l = diag(x) - m\n  return sum i < n { prod j < n { 1.0 + 0.1 * l[i, j] } }",
      "let l = diag(x) - m\n  return sum(l @ x) + sum(exp.(l))",
      "let b = gen i < n, j < n { x[i] * a[j, 1] }\n  return x @ (b + m) @ x",
      "let b = gen i < n, j < n { x[i] * a[j, 1] }\n  return x @ (b - m / 3.0 + m.T) @ x",
      "let l = gen i < n, j < n { if i < j { x[j] - m[i, j] } else { x[i] } }\n  return x @ l[0]",
  };
  const std::vector<Tensor> few = KeyArguments(12, 12, 30);
  for (const char* body : bodies) {
    INFO(body);
    const ir::Module ssa = LowerText(
        "fn f(r: rel[n, n], k: [n]i64, a: [n, 4]f64, x: [n]f64) -> f64 {\n" + m + body + " }", "f");
    const auto value = [&](bool optimise) {
      return Scalar(RunOk(Derived(ssa, pipeline::Transform::kValue, {}, optimise), few)[0]);
    };
    CHECK(value(true) == Approx(value(false)).epsilon(1e-12));
    CheckDerivatives(ssa, few);
  }
}

TEST_CASE("relations: a range that is negative traps beside a matrix of tuples, too") {
  for (const char* range : {"i < n - 14, j < n", "j < n, i < n - 14", "i < n - 14, j < n - 14"}) {
    INFO(range);
    const ir::Module ssa =
        LowerText(std::string("fn f(r: rel[n, n], x: [n]f64) -> f64 {\n"
                              "  let m = gen i < n, j < n { [r(i, j)] * x[i] }\n  return sum ") +
                      range + " { m[i, j] * x[j] } }",
                  "f");
    const std::vector<Tensor> args = WithRelations({RandomRelation({12, 12}, 30, 1)}, {Ones({12})});
    for (const auto t : {pipeline::Transform::kValue, pipeline::Transform::kValueAndGrad}) {
      const auto run = eval::Run(Derived(ssa, t), args);
      REQUIRE(run.ok());
      REQUIRE(run->trap);
      CHECK(run->trap->kind == ir::TrapKind::kNegativeSize);
    }
  }
}

// With as many tuples in a box that is twice as long and wide, no more than twice the work: that of the indices.
TEST_CASE("relations: work grows with the tuples and the indices, not with the pairs") {
  const char* const programs[] = {
      // Keys of keys, of several indices, of other operations, of what is told.
      "sum i < n { x[i] * sum j < n { [r(k[k[i]], j)] * x[j] } }",
      "sum(gen i < n { sum j < n { [r(k[k[i]], j) and x[j] > 0.5] * x[i] * a[j] } })",
      "sum i < n, j < n { [i > 3 and r(k[k[i]], j)] * x[i] * x[j] }",
      "sum(gen i < n { max j < n { [r(k[k[i]], j)] * x[i] * x[j] } })",
      "sum i < n { x[i] * prod j < n { if r(k[n - 1 - k[i]], j) { x[j] + x[i] } else { 1.0 } } }",
      "sum(gen i < n, l < 3 { sum j < n { [r(i + l, j)] * x[i] * x[j] } })",
      "sum i < n { x[i] * exp(sum l < 3, j < n { [r(i + l, j)] * x[l] * x[j] }) }",
      "sum i < n { x[i] * sum j < n { [r(i / 2, j)] * x[j] } }",
      "sum i < n { let b = max(i - 1, 0); x[i] * sum j < n { [r(b, j)] * x[j] } }",
      "sum i < n, j < n, l < n { [r(i, j) and r(k[j], l)] * x[i] * x[l] }",
      "sum i < n, j < n { [r(i, j)] * x[i] * exp(sum l < n { [r(k[j], l)] * x[l] * x[j] }) }",
      // Keys that may trap behind what is told, or in statements over tuples.
      "sum i < n { x[i] * sum j < n { [x[j] > 0.5 and r(k[k[i]], j)] * x[j] } }",
      "sum(gen i < n { sum j < n { [x[j] > 0.5 and i > 0 and r(k[i - 1], j)] * x[i] * a[j] } })",
      "sum i < n, j < n { [x[j] > 0.5 and r(k[k[i]], j)] * x[i] * x[j] }",
      "sum i < n, j < n, l < n { [r(i, j) and r(k[k[j]], l)] * x[i] * x[l] }",
      "sum i < n, j < n { [r(i, j)] * x[i] * exp(sum l < n { [r(k[k[j]], l)] * x[l] * x[j] }) }",
      // Keys by casts, branches and calls.
      "sum i < n { x[i] * sum j < n { [r(i64(floor(3.0 * x[i])) + i, j)] * x[j] } }",
      "sum(gen i < n { sum j < n { [r(if i > 0 { k[i - 1] } else { 0 }, j)] * x[i] * a[j] } })",
      "sum i < n, j < n { [x[i] > 0.5 and r(half(i), j)] * x[i] * x[j] }",
      "sum i < n { x[i] * sum j < n { [r(low(i), j)] * x[j] } }",
      "sum(gen i < n { max j < n { [r(half(k[i]), j)] * x[i] * x[j] } })",
      "sum(gen i < n { max j < n { [r(if i > 0 { k[i - 1] } else { 0 }, j)] * x[i] * x[j] } })",
      "sum(gen i < n { max j < n { [r(i, half(j))] * x[i] * x[j] } })",
      // A gathered binder.
      "sum(gen i < n { max j < n { [r(i, k[j])] * x[i] * x[j] } })",
      "sum(gen i < n { min j < n { [r(k[j], i)] * (x[i] - 2.0 * x[j]) } })",
      "sum i < n { x[i] * prod j < n { if r(i, k[j]) { x[j] + x[i] } else { 1.0 } } }",
      "sum i < n { x[argmax j < n { [r(i, k[j])] * x[j] }] }",
      "sum i < n { [and j < n { not r(k[i], k[j]) or x[j] > 0.5 }] * x[i] }",
      "max i < n, j < n { [r(i, k[j])] * x[i] * x[j] }",
      // A gathered binder whose key may trap, or depends on an index around.
      "sum(gen i < n { max j < n { [r(i, k[k[j]])] * x[i] * x[j] } })",
      "sum i < n { x[i] * prod j < n { if r(i, k[k[j]]) { x[j] + x[i] } else { 1.0 } } }",
      "sum i < n { x[argmax j < n { [j > 0 and r(i, k[j - 1])] * x[j] }] }",
      "sum(gen l < 3, i < n { max j < n { [r(i, (k[j] + l) % n)] * x[i] * x[j] } })",
      "sum l < 3 { x[l] * sum(gen i < n { max j < n { [r(i, (k[j] + l) % n)] * x[i] * x[j] } }) }",
      // Arms with lets.
      "sum(gen i < n { sum j < n { [r(if i > 0 { let b = k[i - 1]; b } else { 0 }, j)] * x[i] * "
      "x[j] } })",
      "sum i < n { x[i] * prod j < n { if r(i, j) { let d = x[j]; d + x[i] } else { let b = 1.0; b "
      "} } }",
      "sum(gen i < n { max j < n { if x[i] > 0.5 { let b = 0.0; if r(i, j) { x[j] } else { b } } "
      "else { 2.0 } } })",
      // Inner ranges over an index that the relation binds.
      "sum i < n, j < n { [r(i, j)] * x[i] * sum l in i..i + 3 { x[min(l, j)] } }",
      "sum i < n { x[i] * sum j < n { [r(i, j)] * exp(sum l in j..j + 2 { x[min(l, i)] }) } }",
      "sum i < n, j < n { [r(i, j)] * x[i] * sum(gen l < k[i] % 3 { x[l] * x[j] }) }",
      // One of several conditions.
      "sum i < n, j < n { [r(i, j) or r(j, i)] * (x[i] - x[j]) ** 2 }",
      "sum i < n, j < n { [r(i, j) or r(j, i)] * x[i] / x[j] }",
      "sum(gen i < n { sum j < n { [r(i, j) or r(j, i) or x[j] > 1.5] * a[j] / x[i] } })",
      "sum(gen i < n { max j < n { [r(i, j) or r(j, i)] * x[i] / x[j] } })",
      "sum i < n { x[i] * exp(sum j < n { [r(i, j) or i == j or r(k[j], i)] * x[j] * x[i] }) }",
      "sum(gen i < n { sum j < n { [r(i, j) or r(j, i)] * a[j] * x[i] } })",
      "sum i < n { [exists j < n: (r(i, j) or r(j, i)) and x[j] > 0.5] * x[i] }",
      "sum i < n, j < n { [r(i, j) or r(j, i) or i == j or r(k[i], j) or r(i, k[j])] * x[i] * x[j] "
      "}",
      "sum i < n, j < n { [r(i, j) or r(if i > 0 { k[i - 1] } else { 0 }, j)] * x[i] * x[j] }",
      "sum i < n, j < n { [r(i, j) or k[j] == 1] * x[i] * x[j] }",
      "sum i < n { x[i] * exp(sum j < n { [r(i, j) or x[i] > 1.5] * x[j] * x[i] }) }",
      "sum i < n, j < n { [r(i, j) or x[0] > 1.5] * x[i] * x[j] }",
      // Terms under conditions of their own.
      "sum i < n, j < n { [r(i, j)] * x[i] / x[j] + [r(j, i)] * x[j] }",
      "sum(gen i < n { sum j < n { [r(i, j)] * a[j, 1] - [r(j, i)] * a[i, 0] / x[j] } })",
  };
  const std::vector<Tensor> small = KeyArguments(200, 200, 400),
                            large = KeyArguments(400, 200, 400);
  for (const char* body : programs) {
    INFO(body);
    const ir::Module value = WithKeys(body);
    const ir::Module gradient = Derived(value, pipeline::Transform::kValueAndGrad);
    for (const ir::Module* m : {&value, &gradient}) {
      const eval::Cost before = CostOf(*m, small), after = CostOf(*m, large);
      CHECK(after.steps < 2.2 * before.steps);
      CHECK(after.array_bytes <= 2.2 * before.array_bytes);
    }
  }
}

}  // namespace
}  // namespace pullback::testing
