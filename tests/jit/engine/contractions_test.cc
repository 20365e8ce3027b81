// Requests that let a library compute contractions: values and derivatives, in each tier.
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>

#include "jit/baseline/baseline_backend.h"
#include "jit/llvm/llvm_backend.h"
#include "tests/jit/engine/fake_backend.h"
#include "tests/jit/engine/random_array.h"

namespace pullback::jit {
namespace {

Engine& TheEngine() {
  static Engine engine(EngineOptions(), MakeLlvmBackend().value(), MakeBaselineBackend().value());
  return engine;
}

void AddLeaves(const ApiValue& value, std::vector<Tensor>& leaves) {
  if (!value.is_tuple) leaves.push_back(value.tensor);
  for (const ApiValue& element : value.elements) AddLeaves(element, leaves);
}
std::vector<Tensor> Leaves(const Outputs& outputs) {
  std::vector<Tensor> leaves;
  AddLeaves(outputs.value, leaves);
  for (const ApiValue& d : outputs.derivatives) AddLeaves(d, leaves);
  return leaves;
}

struct Question {
  std::string program;
  Transform transform = Transform::kValue;
  Inputs inputs;
  std::vector<std::string> wrt = {};
  Target target = Target::kCpu;
};

StatusOr<Outputs> Answer(const Question& q, Contractions contractions, Tier tier,
                         const RunLimits& limits = {}) {
  KernelRequest request = Ask(q.program, "f", q.transform, q.wrt);
  request.options.contractions = contractions;
  request.options.tier = tier;
  PB_ASSIGN_OR_RETURN(const Handle handle, TheEngine().Compile(request));
  return TheEngine().Run(handle, q.inputs, limits);
}

double At(const Tensor& t, size_t i) {
  if (t.dtype == DType::kF64) return reinterpret_cast<const double*>(t.data.data())[i];
  return static_cast<double>(reinterpret_cast<const float*>(t.data.data())[i]);
}

// The library's answer is the exact one within rounding, and has the same bits in each tier.
void Check(const Question& q, int64_t contractions) {
  INFO(q.program << " " << pipeline::TransformName(q.transform));
  const std::vector<Tensor> exact = Leaves(Ok(Answer(q, Contractions::kExact, Tier::kLlvm)));
  const Outputs by_llvm = Ok(Answer(q, Contractions::kBlas, Tier::kLlvm));
  const Outputs by_baseline = Ok(Answer(q, Contractions::kBlas, Tier::kBaseline));
  CHECK(by_llvm.contractions == contractions);
  CHECK(by_baseline.contractions == contractions);
  CHECK(by_llvm.contracted_by == (contractions > 0 ? LoadBlas().value()->name : ""));
  const std::vector<Tensor> llvm = Leaves(by_llvm), baseline = Leaves(by_baseline);
  REQUIRE(llvm.size() == exact.size());
  for (size_t k = 0; k < llvm.size(); ++k) {
    CHECK(llvm[k].shape == exact[k].shape);
    CHECK(llvm[k].data == baseline[k].data);
    const double rounding = exact[k].dtype == DType::kF64 ? 1e-10 : 1e-2;
    for (size_t i = 0; i < static_cast<size_t>(exact[k].ElementCount()); ++i) {
      const double want = At(exact[k], i), got = At(llvm[k], i);
      if (std::isfinite(want)) {
        CHECK(got == Approx(want).epsilon(rounding).margin(rounding));
      } else {
        CHECK((std::isnan(want) ? std::isnan(got) : got == want));
      }
    }
  }
}

constexpr const char* kProduct = "fn f(a: [n, k]f64, b: [k, m]f64) -> [n, m]f64 { return a @ b }";
constexpr const char* kLoss =
    "fn f(a: [n, k]f64, b: [k, m]f64) -> f64 { return sum(tanh.(a @ b)) }";

TEST_CASE("Contractions: products of matrices and vectors, transposed, batched and chained") {
  const ApiValue a = Random({40, 33}, 1), b = Random({33, 27}, 2), c = Random({27, 50}, 3);
  const ApiValue x = Random({133}, 4), tall = Random({133, 70}, 5), y = Random({70}, 6);
  Check({kProduct, Transform::kValue, {{a, b}, {}}}, 1);
  Check({"fn f(a: [k, n]f64, b: [m, k]f64) -> [n, m]f64 { return transpose(a) @ transpose(b) }",
         Transform::kValue,
         {{b, Random({20, 33}, 7)}, {}}},
        1);
  Check({"fn f(a: [n, k]f64, b: [k, m]f64) -> [m, n]f64 { return transpose(a @ b) }",
         Transform::kValue,
         {{a, b}, {}}},
        1);
  Check(
      {"fn f(a: [n, k]f64) -> [n, n]f64 { return a @ transpose(a) }", Transform::kValue, {{a}, {}}},
      1);
  Check({"fn f(a: [n, k]f64, b: [k, m]f64, c: [m, p]f64) -> [n, p]f64 { return a @ b @ c }",
         Transform::kValue,
         {{a, b, c}, {}}},
        2);
  Check({"fn f(a: [n, k]f64, x: [k]f64) -> [n]f64 { return a @ x }",
         Transform::kValue,
         {{tall, y}, {}}},
        1);
  Check({"fn f(a: [n, k]f64, x: [n]f64) -> [k]f64 { return transpose(a) @ x }",
         Transform::kValue,
         {{tall, x}, {}}},
        1);
  Check({"fn f(a: [t, n, k]f64, b: [t, k, m]f64) -> [t, n, m]f64 {\n"
         "  return gen l < t, i < n, j < m { sum p < k { a[l, i, p] * b[l, p, j] } }\n}",
         Transform::kValue,
         {{Random({3, 20, 18}, 8), Random({3, 18, 22}, 9)}, {}}},
        1);
  Check({"fn f(a: [n, k]f32, b: [k, m]f32) -> [n, m]f32 { return a @ b }",
         Transform::kValue,
         {{Random<float>({40, 33}, 1), Random<float>({33, 27}, 2)}, {}}},
        1);
}

TEST_CASE("Contractions: derivatives of a product") {
  const ApiValue a = Random({30, 24}, 1), b = Random({24, 28}, 2);
  const ApiValue da = Random({30, 24}, 3), db = Random({24, 28}, 4), dy = Random({30, 28}, 5);
  Check({kLoss, Transform::kValueAndGrad, {{a, b}, {}}}, 3);
  Check({kProduct, Transform::kVjp, {{a, b}, {dy}}}, 3);
  Check({kProduct, Transform::kJvp, {{a, b}, {da, db}}}, 3);
  Check({kLoss, Transform::kHvp, {{a, b}, {da, db}}}, 7);
  // One array twice: both cotangents are added to one array.
  Check({"fn f(a: [n, k]f64) -> f64 { return sum(tanh.(a @ transpose(a))) }",
         Transform::kValueAndGrad,
         {{a}, {}}},
        3);
}

constexpr const char* kMlp = R"(
fn f(x: [n, d]f64, y: [n, o]f64, w1: [d, h]f64, b1: [h]f64, w2: [h, o]f64, b2: [o]f64) -> f64 {
  let z = tanh.(x @ w1 + b1)
  let p = z @ w2 + b2
  return sum i < n, j < o { (p[i, j] - y[i, j]) * (p[i, j] - y[i, j]) } / f64(n)
})";

Inputs MlpInputs(int64_t n, int64_t d, int64_t h, int64_t o) {
  return {{Random({n, d}, 1), Random({n, o}, 2), Random({d, h}, 3), Random({h}, 4),
           Random({h, o}, 5), Random({o}, 6)},
          {}};
}

TEST_CASE("Contractions: a network's value, gradient and Hessian's product") {
  Question q{kMlp, Transform::kValueAndGrad, MlpInputs(40, 20, 32, 17), {"w1", "b1", "w2", "b2"}};
  Check(q, 5);
  q.transform = Transform::kValue;
  Check(q, 2);
  q.transform = Transform::kHvp;
  q.inputs.seeds = {Random({20, 32}, 7), Random({32}, 8), Random({32, 17}, 9), Random({17}, 10)};
  Check(q, 11);
}

TEST_CASE("Contractions: cotangents that are added to an array in a loop") {
  // The rows of each step are a product of their own, and its cotangents are added up.
  Check({R"(
fn f(a: [n, n]f64, x: [n, m]f64, steps: i64) -> f64 {
  var y = x
  for s < steps { y = tanh.(a @ y) }
  return sum(y)
})",
         Transform::kValueAndGrad,
         {{Random({24, 24}, 1), Random({24, 16}, 2), Integer(5)}, {}}},
        15);
}

TEST_CASE("Contractions: extents of 0 and 1, and what is small, are loops") {
  for (const auto& [n, k, m] : {std::array<int64_t, 3>{0, 5, 4},
                                {5, 0, 4},
                                {5, 4, 0},
                                {1, 1, 1},
                                {15, 16, 17},
                                {3, 3, 3}}) {
    Check({kProduct, Transform::kValue, {{Random({n, k}, 1), Random({k, m}, 2)}, {}}}, 0);
  }
  // Of one row or column: products with vectors.
  Check({kProduct, Transform::kValue, {{Random({1, 100}, 1), Random({100, 60}, 2)}, {}}}, 1);
  Check({kProduct, Transform::kValue, {{Random({60, 100}, 1), Random({100, 1}, 2)}, {}}}, 1);
}

TEST_CASE("Contractions: NaN and infinity come through") {
  ApiValue a = Random({30, 24}, 1), b = Random({24, 28}, 2);
  auto* numbers = reinterpret_cast<double*>(a.tensor.data.data());
  numbers[5] = INFINITY;
  numbers[100] = NAN;
  reinterpret_cast<double*>(b.tensor.data.data())[5 * 28 + 3] = 0;
  Check({kProduct, Transform::kValue, {{a, b}, {}}}, 1);
}

TEST_CASE("Contractions: a deadline and a memory limit end a product") {
  const Question q{
      kProduct, Transform::kValue, {{Random({2500, 2500}, 1), Random({2500, 2500}, 2)}, {}}};
  for (const Tier tier : {Tier::kLlvm, Tier::kBaseline}) {
    KernelRequest request = Ask(kProduct);
    request.options.contractions = Contractions::kBlas;
    request.options.tier = tier;
    const Handle handle = Ok(TheEngine().Compile(request));
    RunLimits limits;
    limits.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    CHECK(TheEngine().Run(handle, q.inputs, limits).status().code() == Code::kDeadlineExceeded);
    RunLimits little;
    little.memory_bytes = 2500 * 2500 * 8 - 1;
    CHECK(TheEngine().Run(handle, q.inputs, little).status().reason() == "MEMORY_BUDGET");
  }
}

TEST_CASE("Contractions: the choice is part of the key, with the library's version and core") {
  KernelRequest exact = Ask(kProduct), blas = exact;
  blas.options.contractions = Contractions::kBlas;
  CHECK(Ok(TheEngine().Compile(exact)).kernel_id != Ok(TheEngine().Compile(blas)).kernel_id);
  CHECK(Ok(TheEngine().Compile(blas)).cache_hit);
  CHECK(Ok(TheEngine().Explain(blas, "loops")).find("contract %") != std::string::npos);
  CHECK(Ok(TheEngine().Explain(exact, "loops")).find("contract %") == std::string::npos);
}

TEST_CASE("Contractions: without OpenBLAS they are NO_BLAS, and exact ones need none") {
  EngineOptions options;
  options.blas = "libpullback_has_no_such_blas.so";
  Engine engine(options, MakeLlvmBackend().value());
  KernelRequest request = Ask(kProduct);
  CHECK(engine.Compile(request).ok());
  request.options.contractions = Contractions::kBlas;
  const auto refused = engine.Compile(request);
  CHECK(refused.status().code() == Code::kFailedPrecondition);
  CHECK(refused.status().reason() == "NO_BLAS");
}

}  // namespace
}  // namespace pullback::jit
