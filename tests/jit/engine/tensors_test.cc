// Runs on tensors that lie elsewhere: what runs on values give, and where they may be asked for.
#include <catch2/catch.hpp>
#include <cmath>
#include <deque>
#include <limits>

#include "jit/llvm/llvm_backend.h"
#include "tests/jit/engine/fake_backend.h"

namespace pullback::jit {
namespace {

Engine& TheEngine() {
  static Engine engine(EngineOptions(), Ok(MakeLlvmBackend()));
  return engine;
}

// Keeps what it is given as a message would.
struct KeptResults : TensorSink {
  struct Kept {
    DType dtype;
    std::vector<int64_t> shape;
    std::string data;
  };
  std::string* Begin(size_t number, DType dtype, std::span<const int64_t> shape) override {
    while (results.size() <= number) results.emplace_back();
    results[number] = {dtype, {shape.begin(), shape.end()}, {}};
    return &results[number].data;
  }
  std::deque<Kept> results;
};

void CheckSame(const KeptResults::Kept& got, const Tensor& want) {
  CHECK(got.dtype == want.dtype);
  CHECK(got.shape == want.shape);
  CHECK(got.data == std::string(want.data.begin(), want.data.end()));
}

std::vector<TensorView> Views(const std::vector<ApiValue>& values) {
  std::vector<TensorView> views;
  for (const ApiValue& value : values) views.emplace_back(value.tensor);
  return views;
}

// Both ways: the same results, or the same error.
Status RunBoth(const KernelRequest& request, const Inputs& inputs, const RunLimits& limits = {}) {
  const Handle handle = Ok(TheEngine().Compile(request));
  REQUIRE(Engine::RunsOnTensors(handle));
  const std::vector<TensorView> args = Views(inputs.args), seeds = Views(inputs.seeds);
  KeptResults kept;
  const StatusOr<RunReport> report = TheEngine().Run(handle, {args, seeds}, limits, &kept);
  const StatusOr<Outputs> outputs = TheEngine().Run(handle, inputs, limits);
  CHECK(report.status().ToString() == outputs.status().ToString());
  if (!report.ok() || !outputs.ok()) return report.status();
  REQUIRE(kept.results.size() == 1 + outputs->derivatives.size());
  CheckSame(kept.results[0], outputs->value.tensor);
  for (size_t i = 0; i < outputs->derivatives.size(); ++i) {
    CheckSame(kept.results[i + 1], outputs->derivatives[i].tensor);
  }
  CHECK(report->peak_bytes == outputs->peak_bytes);
  CHECK(report->tier == outputs->tier);
  CHECK(report->target == outputs->target);
  CHECK(report->execute_seconds > 0);
  return {};
}

const char* const kConv =
    "fn f(x: [n]f64, c: [m]f64) -> [n - m + 1]f64 {\n"
    "  return gen i < n - m + 1 { sum j < m { x[i + j] * c[j] } }\n}\n";
const char* const kDot = "fn f(x: [n]f64, y: [n]f64) -> f64 { return sum i < n { x[i] * y[i] } }";
const char* const kNumbers = "fn f(a: f32, b: i64, c: bool) -> f32 { return a * f32(b) }";

TEST_CASE("tensors: every transform, wrt in any order") {
  const std::vector<ApiValue> args = {Vector({1, 2, 3, 4}), Vector({10, 1})};
  CHECK(RunBoth(Ask(kConv), {args, {}}).ok());
  CHECK(RunBoth(Ask(kConv, "f", Transform::kVjp, {"c", "x"}), {args, {Vector({1, 0, 2})}}).ok());
  CHECK(RunBoth(Ask(kConv, "f", Transform::kJvp, {"c"}), {args, {Vector({0, 1})}}).ok());
  const std::vector<ApiValue> pair = {Vector({1, 2}), Vector({3, 4})};
  CHECK(RunBoth(Ask(kDot, "f", Transform::kValueAndGrad, {"y", "x"}), {pair, {}}).ok());
  CHECK(RunBoth(Ask(kDot, "f", Transform::kHvp, {"y", "x"}), {pair, pair}).ok());
  const std::vector<ApiValue> numbers = {Leaf(Tensor::F32(2.5f)), Integer(3),
                                         Leaf(Tensor::Bool(true))};
  CHECK(RunBoth(Ask(kNumbers), {numbers, {}}).ok());
  CHECK(RunBoth(Ask(kNumbers, "f", Transform::kValueAndGrad), {numbers, {}}).ok());
  CHECK(RunBoth(Ask("fn f() -> i64 { return 7 }"), {}).ok());
  CHECK(RunBoth(Ask("fn f(x: [n]bool) -> [n]bool { return x }"),
                {{Leaf(Tensor::Of<uint8_t>(DType::kBool, {3}, {1, 0, 1}))}, {}})
            .ok());
}

TEST_CASE("tensors: NaNs are canonical, empty arrays are arrays") {
  const double nan = -std::numeric_limits<double>::quiet_NaN();
  CHECK(RunBoth(Ask("fn f(x: [n]f64) -> [n]f64 { return x }"), {{Vector({1, nan})}, {}}).ok());
  CHECK(RunBoth(Ask("fn f(x: [n]f64) -> [n]f64 { return x }"), {{Vector({})}, {}}).ok());
  CHECK(RunBoth(Ask("fn f(x: f64) -> f64 { return x }"), {{Scalar(nan)}, {}}).ok());
}

TEST_CASE("tensors: what is wrong with them is said in the same words") {
  const auto reason = [](const char* program, std::vector<ApiValue> args) {
    return RunBoth(Ask(program), {std::move(args), {}}).reason();
  };
  CHECK(reason(kDot, {Vector({1}), Vector({1, 2})}) == "SIZE_MISMATCH");
  CHECK(reason(kDot, {Vector({1}), Scalar(1)}) == "TYPE_MISMATCH");
  CHECK(reason(kDot, {Vector({1}), Integer(1)}) == "TYPE_MISMATCH");
  CHECK(reason(kDot, {Vector({1})}) == "MISSING_ARGUMENT");
  CHECK(reason(kDot, {Vector({1}), Vector({1}), Vector({1})}) == "UNKNOWN_ARGUMENT");
  Tensor torn = Tensor::F64(1);
  torn.data.pop_back();
  CHECK(reason("fn f(x: f64) -> f64 { return x }", {Leaf(torn)}) == "INVALID_VALUE");
  Tensor two = Tensor::Bool(true);
  two.data[0] = 2;
  CHECK(reason("fn f(x: bool) -> bool { return x }", {Leaf(two)}) == "INVALID_VALUE");
  CHECK(reason("fn f(k: i64) -> [k + 1]f64 { return gen i < k + 1 { 1.0 } }", {Integer(-3)}) ==
        "NEGATIVE_SIZE");
}

TEST_CASE("tensors: seeds that do not fit") {
  const std::vector<ApiValue> args = {Vector({1, 2, 3, 4}), Vector({10, 1})};
  const auto vjp = [&](std::vector<ApiValue> seeds) {
    return RunBoth(Ask(kConv, "f", Transform::kVjp), {args, std::move(seeds)}).reason();
  };
  CHECK(vjp({Vector({1, 2})}) == "SIZE_MISMATCH");
  CHECK(vjp({}) == "MISSING_ARGUMENT");
  const auto jvp = [&](std::vector<ApiValue> seeds) {
    return RunBoth(Ask(kConv, "f", Transform::kJvp, {"x"}), {args, std::move(seeds)}).reason();
  };
  CHECK(jvp({Vector({1, 2})}) == "SIZE_MISMATCH");
  CHECK(jvp({Vector({1, 2, 3, 4}), Vector({1, 2})}) == "UNKNOWN_ARGUMENT");
  CHECK(jvp({Scalar(1)}) == "TYPE_MISMATCH");
}

// A size that divides by zero, in a program that does not once it is optimised: only the run knows it.
TEST_CASE("tensors: a seed is compared with the value that came out") {
  const char* const odd = "fn f(x: [n]f64, k: i64) -> [n + 0 * (n / k)]f64 { return x }";
  const auto vjp = [&](std::vector<double> seed) {
    return RunBoth(Ask(odd, "f", Transform::kVjp),
                   {{Vector({1, 2, 3}), Integer(0)}, {Vector(seed)}});
  };
  CHECK(vjp({1, 1, 1}).ok());
  const Status longer = vjp({1, 1, 1, 1, 1});
  CHECK(longer.message() == "seed axis 0: expected 3, got 5");
  CHECK(longer.reason() == "SIZE_MISMATCH");
  CHECK(vjp({1}).reason() == "SIZE_MISMATCH");
}

TEST_CASE("tensors: a copy is charged to the run") {
  RunLimits limits;
  limits.memory_bytes = 4000;
  const Inputs inputs{{Vector(std::vector<double>(1000, 1.0))}, {}};
  const Status status = RunBoth(Ask("fn f(x: [n]f64) -> [n]f64 { return x }"), inputs, limits);
  CHECK(status.reason() == "MEMORY_BUDGET");
}

TEST_CASE("tensors: kernels that take or give anything else do not run on them") {
  const auto runs = [](const char* program, Transform transform = Transform::kValue) {
    return Engine::RunsOnTensors(Ok(TheEngine().Compile(Ask(program, "f", transform))));
  };
  CHECK(runs(kDot));
  CHECK_FALSE(runs(kDot, Transform::kJacobian));
  CHECK_FALSE(runs(kDot, Transform::kHessian));
  CHECK_FALSE(runs("fn f(x: f64) -> (f64, f64) { return (x, x) }"));
  CHECK_FALSE(runs("fn f(x: (f64, f64)) -> f64 { return x.0 }"));
  CHECK_FALSE(runs("fn f(x: list f64) -> i64 { return len(x) }"));
  CHECK_FALSE(runs("fn f(r: rel[n, m]) -> f64 { return sum i < n, j < m { [r(i, j)] } }"));
}

}  // namespace
}  // namespace pullback::jit
