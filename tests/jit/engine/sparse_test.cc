// Sparse Jacobians and Hessians of compiled code: against dense ones, at sizes where there are none, within a budget.
#include <catch2/catch.hpp>

#include "core/base/relation.h"
#include "core/base/sparse.h"
#include "jit/llvm/llvm_backend.h"
#include "tests/jit/engine/fake_backend.h"

namespace pullback::jit {
namespace {

Engine& TheEngine() {
  static Engine engine(EngineOptions(), Ok(MakeLlvmBackend()));
  return engine;
}

StatusOr<Outputs> Evaluate(const std::string& program, Transform transform,
                           const std::vector<std::string>& wrt, bool sparse,
                           const std::vector<ApiValue>& args, const RunLimits& limits = {}) {
  KernelRequest request = Ask(program, "f", transform, wrt);
  request.sparse = sparse;
  PB_ASSIGN_OR_RETURN(const Handle handle, TheEngine().Compile(request));
  return TheEngine().Run(handle, {args, {}}, limits);
}

SparseTensor Block(const ApiValue& value) {
  const std::optional<SparseTensor> block = SparseFromTuple(value);
  REQUIRE(block);
  return *block;
}

// The same value and blocks; gives the first block.
void CheckSame(const ApiValue& sparse, const ApiValue& dense) {
  if (dense.is_tuple) {
    REQUIRE(sparse.elements.size() == dense.elements.size());
    for (size_t k = 0; k < dense.elements.size(); ++k)
      CheckSame(sparse.elements[k], dense.elements[k]);
    return;
  }
  ApiValue filled;
  filled.tensor = DenseFromSparse(Block(sparse));
  CHECK(filled.tensor.shape == dense.tensor.shape);
  CHECK(filled.tensor.dtype == dense.tensor.dtype);
  const std::vector<double> got = Doubles(filled), want = Doubles(dense);
  REQUIRE(got.size() == want.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(want[i]).margin(1e-13));
}

void CheckAgainstDense(const std::string& program, const std::vector<ApiValue>& args,
                       Transform transform = Transform::kJacobian,
                       const std::vector<std::string>& wrt = {}) {
  INFO(program);
  const Outputs sparse = Ok(Evaluate(program, transform, wrt, true, args));
  const Outputs dense = Ok(Evaluate(program, transform, wrt, false, args));
  CHECK(Doubles(sparse.value) == Doubles(dense.value));
  REQUIRE(sparse.derivatives.size() == dense.derivatives.size());
  for (size_t k = 0; k < dense.derivatives.size(); ++k)
    CheckSame(sparse.derivatives[k], dense.derivatives[k]);
}

const char* const kTridiagonal =
    "fn step(x: f64) -> f64 {\n"
    "  var r = x\n  var k = 0\n  while k < 3 { r = sin(r) * x; k = k + 1 }\n  return r }\n"
    "fn f(x: [n]f64) -> [n]f64 {\n"
    "  return gen i < n { step(x[i] + [i > 0] * x[i - 1] + [i + 1 < n] * x[i + 1]) } }";

TEST_CASE("sparse blocks are the dense ones") {
  const ApiValue x = Vector({0.5, -1.25, 2, 0.75, 1.5});
  CheckAgainstDense(kTridiagonal, {x});
  CheckAgainstDense("fn f(x: [n]f64, s: f64) -> [n]f64 { return s * x * x }", {x, Scalar(3)});
  // In the order of wrt.
  CheckAgainstDense("fn f(x: [n]f64, s: f64) -> [n]f64 { return s * x * x }", {x, Scalar(3)},
                    Transform::kJacobian, {"s", "x"});
  CheckAgainstDense("fn f(x: [n]f64, s: f64) -> f64 { return s * s * sum(x * x * x) }",
                    {x, Scalar(3)}, Transform::kHessian);
  CheckAgainstDense("fn f(x: [n]f64, s: f64) -> f64 { return s * s * sum(x * x * x) }",
                    {x, Scalar(3)}, Transform::kHessian, {"s", "x"});
}

TEST_CASE("sparse blocks by structs") {
  const std::string program =
      "struct S { a: [n]f64, k: i64, b: f64 }\n"
      "fn f(s: S, y: [m]f64) -> (S, f64) {\n"
      "  return (S(s.a * s.b, s.k, s.b * y[0]), s.a[s.k]) }";
  const ApiValue s = Tuple({Vector({1, 2, 3}), Integer(1), Scalar(2)});
  const Outputs out =
      Ok(Evaluate(program, Transform::kJacobian, {"y", "s"}, true, {s, Vector({4, 5})}));
  REQUIRE(out.derivatives.size() == 2);
  // of ((a, k, b), f64), by s: (a, k, b) in place of each float
  const ApiValue& rows = out.derivatives[1].elements[0];
  CHECK(rows.elements[1].elements.empty());
  CHECK(rows.elements[0].elements[1].elements.empty());
  const SparseTensor by_a = Block(rows.elements[0].elements[0]);
  CHECK(by_a.shape == std::vector<int64_t>{3, 3});
  CHECK(by_a.seeds == 1);
  CHECK(by_a.coordinates == std::vector<std::vector<int64_t>>{{0, 1, 2}, {0, 1, 2}});
  CHECK(by_a.elements.At<double>(2) == 2);
  const SparseTensor element = Block(out.derivatives[1].elements[1].elements[0]);
  CHECK(element.coordinates == std::vector<std::vector<int64_t>>{{1}});
  CHECK(Block(out.derivatives[0].elements[1]).seeds == 0);  // s.a[s.k] by y: nothing
}

ApiValue Ramp(int64_t n) {
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(0.001 * static_cast<double>(i % 1000));
  return Vector(values);
}

// Sequential code: loops of element updates and of time steps, where a set of columns goes with each value.
TEST_CASE("sparse blocks of sequential code: loops, branches, recursion") {
  const ApiValue x = Vector({0.5, -1.25, 2, 0.75, 1.5});
  const std::string loop =
      "fn f(x: [n]f64) -> [n]f64 {\n  var y = x\n  for i in 1..n - 1 {\n"
      "    if x[i] > 0.0 { y[i] = x[i] * x[i] - x[i - 1] } else { y[i] = y[i - 1] * x[i + 1] }\n"
      "  }\n  return y }";
  CheckAgainstDense(loop, {x});
  CheckAgainstDense(
      "fn g(u: [n]f64, k: i64) -> [n]f64 {\n  if k == 0 { return u }\n"
      "  return g(gen i < n { u[i] * u[i] + [i > 0] * u[i - 1] }, k - 1) }\n"
      "fn f(x: [n]f64, k: i64) -> [n]f64 { return g(x, k) }",
      {x, Integer(2)});
  CheckAgainstDense(
      "fn f(x: [n]f64) -> f64 {\n  var s = 0.0\n"
      "  for i in 1..n { s += (x[i] - x[i - 1] * x[i - 1]) * x[i] }\n  return s }",
      {x}, Transform::kHessian);
  const int64_t n = 100000;
  const Outputs out =
      Ok(Evaluate("fn f(x: [n]f64) -> [n]f64 {\n  var y = x\n"
                  "  for i in 1..n - 1 { y[i] = x[i] * x[i] - x[i - 1] - x[i + 1] }\n  return y }",
                  Transform::kJacobian, {}, true, {Ramp(n)}));
  const SparseTensor block = Block(out.derivatives[0]);
  CHECK(block.seeds == 3);
  CHECK(block.elements.ElementCount() == 3 * n - 4);
}

TEST_CASE("a million rows take as many seeds as the band is wide") {
  const int64_t n = 1000000;
  const Outputs out = Ok(Evaluate(kTridiagonal, Transform::kJacobian, {}, true, {Ramp(n)}));
  const SparseTensor block = Block(out.derivatives[0]);
  CHECK(block.seeds == 3);
  CHECK(block.shape == std::vector<int64_t>{n, n});
  CHECK(block.elements.ElementCount() == 3 * n - 2);
  CHECK(out.peak_bytes < 300 * n);
  // A dense one is 8 TB.
  CHECK(Evaluate(kTridiagonal, Transform::kJacobian, {}, false, {Ramp(n)}).status().reason() ==
        "MEMORY_BUDGET");
}

TEST_CASE("the Jacobian of a Laplacian over a relation: colours of the graph") {
  const int64_t n = 20000;
  std::vector<int64_t> from, to;
  for (int64_t i = 0; i < n; ++i) {
    for (const int64_t j : {i + 1, (i * 7 + 3) % n}) {
      if (j >= n) continue;
      from.push_back(i);
      to.push_back(j);
    }
  }
  const std::string program =
      "fn f(r: rel[n, n], x: [n]f64) -> [n]f64 {\n"
      "  return gen i < n { sum j < n { [r(i, j)] * sin(x[j] - x[i]) } } }";
  const auto run = [&](int64_t bytes) {
    RunLimits limits;
    limits.memory_bytes = bytes;
    return Evaluate(program, Transform::kJacobian, {}, true,
                    {RelationFromCoo({n, n}, {from, to}), Ramp(n)}, limits);
  };
  const Outputs out = Ok(run(int64_t{1} << 30));
  const SparseTensor block = Block(out.derivatives[0]);
  CHECK(block.seeds >= 3);
  CHECK(block.seeds <= 16);
  CHECK(block.elements.ElementCount() <= 3 * n);
  // Rows sum to 0: what x[i] and its neighbours have in common changes nothing.
  std::vector<double> sums(static_cast<size_t>(n), 0.0);
  for (int64_t e = 0; e < block.elements.ElementCount(); ++e)
    sums[static_cast<size_t>(block.coordinates[0][static_cast<size_t>(e)])] +=
        block.elements.At<double>(e);
  double worst = 0;
  for (double s : sums) worst = std::max(worst, std::abs(s));
  CHECK(worst < 1e-12);
  CHECK(run(2000000).status().reason() == "MEMORY_BUDGET");
}

TEST_CASE("sparse is for matrices of derivatives") {
  const Status s =
      Evaluate("fn f(x: f64) -> f64 { return x }", Transform::kValueAndGrad, {}, true, {Scalar(1)})
          .status();
  CHECK(s.code() == Code::kInvalidArgument);
  CHECK(s.reason() == "INVALID_OPTION");
}

// Its own kernel; the pattern of explain is that of the block.
TEST_CASE("sparse kernels and stages") {
  KernelRequest request = Ask(kTridiagonal, "f", Transform::kJacobian);
  const std::string dense = Ok(TheEngine().Compile(request)).kernel_id;
  request.sparse = true;
  CHECK(Ok(TheEngine().Compile(request)).kernel_id != dense);
  const std::string pattern = Ok(TheEngine().Explain(request, "sparsity"));
  CHECK_THAT(pattern, Catch::Matchers::Contains("%i == %i.1 + 1 and 1 <= %i"));
  CHECK_THAT(pattern, !Catch::Matchers::Contains("seeds"));
  const Inputs inputs{{Ramp(10)}, {}};
  CHECK_THAT(Ok(TheEngine().Explain(request, "sparsity", &inputs)),
             Catch::Matchers::Contains("\"seeds\": 3, \"count\": 28}"));
}

}  // namespace
}  // namespace pullback::jit
