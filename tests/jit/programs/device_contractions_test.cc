// Contractions on a device by cuBLAS: a library of the tests' own, beside the driver without a device.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <thread>

#include "jit/llvm/llvm_backend.h"
#include "tests/jit/engine/fake_backend.h"
#include "tests/jit/engine/random_array.h"
#include "tests/support/fake_cublas.h"
#include "tests/support/fake_driver.h"

namespace pullback::jit {
namespace {

using testing::FakeCudaBackend;
using testing::LiveCublasHandles;
using testing::TheFakeDriver;

struct OnDevice {
  explicit OnDevice(bool cublas) {
    TheFakeDriver().Reset();
    TheFakeDriver().cublas = cublas;
    EngineOptions options;
    options.device = FakeCudaBackend();
    static const std::shared_ptr<Backend> llvm = MakeLlvmBackend().value();
    engine = std::make_unique<Engine>(options, llvm);
  }
  StatusOr<Outputs> Run(const std::string& program, const Inputs& inputs,
                        Contractions contractions = Contractions::kBlas,
                        Transform transform = Transform::kValue, Target target = Target::kCuda,
                        const RunLimits& limits = {}) {
    KernelRequest request = Ask(program, "f", transform);
    request.options.target = target;
    request.options.contractions = contractions;
    PB_ASSIGN_OR_RETURN(const Handle handle, engine->Compile(request));
    last_id = handle.kernel_id;
    return engine->Run(handle, inputs, limits);
  }
  std::unique_ptr<Engine> engine;
  std::string last_id;
};

template <typename T = double>
void CheckNear(const Tensor& got, const Tensor& want) {
  REQUIRE(got.shape == want.shape);
  const auto* g = reinterpret_cast<const T*>(got.data.data());
  const auto* w = reinterpret_cast<const T*>(want.data.data());
  for (size_t i = 0; i < static_cast<size_t>(want.ElementCount()); ++i) {
    const double margin = sizeof(T) == 8 ? 1e-10 : 1e-3;
    CHECK(static_cast<double>(g[i]) == Approx(static_cast<double>(w[i])).margin(margin));
  }
}

constexpr const char* kProduct = "fn f(a: [n, k]f64, b: [k, m]f64) -> [n, m]f64 { return a @ b }";
constexpr const char* kLoss =
    "fn f(a: [n, k]f64, b: [k, m]f64) -> f64 { return sum(tanh.(a @ b)) }";

TEST_CASE("Contractions on a device: cuBLAS takes them, and the answer says so") {
  const int64_t handles = LiveCublasHandles();
  OnDevice t(true);
  const Inputs inputs{{Random({40, 50}, 1), Random({50, 60}, 2)}, {}};
  const Outputs exact = Ok(t.Run(kProduct, inputs, Contractions::kExact));
  CHECK((exact.contractions == 0 && exact.contracted_by.empty()));
  CHECK(TheFakeDriver().multiplied == 0);
  const std::string exact_id = t.last_id;
  const Outputs product = Ok(t.Run(kProduct, inputs));
  CHECK(product.contractions == 1);
  CHECK(product.contracted_by == "cuBLAS 12.4.5, a device of the tests");
  CHECK(product.launches == 0);
  CHECK(TheFakeDriver().multiplied == 1);
  CHECK(t.last_id != exact_id);
  CheckNear(product.value.tensor, exact.value.tensor);
  CHECK(TheFakeDriver().live_allocations == 0);
  CHECK(LiveCublasHandles() == handles + 1);
  t.engine.reset();
  CHECK(LiveCublasHandles() == handles);
}

TEST_CASE("Contractions on a device: derivatives, transposes, batches, vectors, f32") {
  OnDevice t(true);
  const auto check = [&](const std::string& program, const Inputs& inputs, Transform transform,
                         int64_t contractions) {
    INFO(program);
    const Outputs exact = Ok(t.Run(program, inputs, Contractions::kExact, transform));
    const Outputs product = Ok(t.Run(program, inputs, Contractions::kBlas, transform));
    CHECK(product.contractions == contractions);
    CheckNear(product.value.tensor, exact.value.tensor);
    for (size_t k = 0; k < exact.derivatives.size(); ++k) {
      CheckNear(product.derivatives[k].tensor, exact.derivatives[k].tensor);
    }
  };
  const ApiValue a = Random({40, 50}, 1), b = Random({50, 60}, 2);
  check(kLoss, {{a, b}, {}}, Transform::kValueAndGrad, 3);
  check("fn f(a: [k, n]f64, b: [m, k]f64) -> [n, m]f64 { return transpose(a) @ transpose(b) }",
        {{a, Random({45, 40}, 3)}, {}}, Transform::kValue, 1);
  check("fn f(a: [n, k]f64, b: [k, m]f64) -> [m, n]f64 { return transpose(a @ b) }", {{a, b}, {}},
        Transform::kValue, 1);
  check("fn f(a: [n, k]f64, x: [k]f64) -> [n]f64 { return a @ x }",
        {{Random({300, 260}, 4), Random({260}, 5)}, {}}, Transform::kValue, 1);
  check(
      "fn f(a: [t, n, k]f64, b: [t, k, m]f64) -> [t, n, m]f64 {\n"
      "  return gen l < t, i < n, j < m { sum p < k { a[l, i, p] * b[l, p, j] } }\n}",
      {{Random({3, 40, 35}, 6), Random({3, 35, 33}, 7)}, {}}, Transform::kValue, 1);
  TheFakeDriver().multiplied = 0;
  const std::string f32 = "fn f(a: [n, k]f32, b: [k, m]f32) -> [n, m]f32 { return a @ b }";
  const Inputs floats{{Random<float>({40, 50}, 1), Random<float>({50, 60}, 2)}, {}};
  const Outputs exact = Ok(t.Run(f32, floats, Contractions::kExact));
  CheckNear<float>(Ok(t.Run(f32, floats)).value.tensor, exact.value.tensor);
  CHECK(TheFakeDriver().multiplied == 1);
}

TEST_CASE("Contractions on a device: arrays stay there between products and kernels") {
  OnDevice t(true);
  const std::string program =
      "fn f(a: [n, n]f64, x: [n, m]f64) -> [n, m]f64 { return tanh.(a @ tanh.(a @ x)) }";
  TheFakeDriver().to_device = TheFakeDriver().to_host = 0;
  const Outputs result = Ok(t.Run(program, {{Random({40, 40}, 1), Random({40, 40}, 2)}, {}}));
  CHECK(result.contractions == 2);
  CHECK(TheFakeDriver().to_device == 2);
  CHECK(TheFakeDriver().to_host == 1);
}

TEST_CASE("Contractions on a device: without cuBLAS, or with little to do, our own kernels run") {
  const Inputs inputs{{Random({40, 50}, 1), Random({50, 60}, 2)}, {}};
  OnDevice with(true);
  Ok(with.Run(kProduct, inputs));
  const std::string with_id = with.last_id;
  const Inputs small{{Random({8, 8}, 1), Random({8, 8}, 2)}, {}};
  CHECK(Ok(with.Run(kProduct, small)).contractions == 0);
  OnDevice without(false);
  const Outputs exact = Ok(without.Run(kProduct, inputs, Contractions::kExact));
  const Outputs own = Ok(without.Run(kProduct, inputs));
  CHECK((own.contractions == 0 && own.contracted_by.empty()));
  CHECK(own.target == Target::kCuda);
  CHECK(own.launches == 1);
  CHECK(own.value.tensor.data == exact.value.tensor.data);
  CHECK(without.last_id != with_id);
}

TEST_CASE(
    "Contractions on a device: each call that fails ends that request, and the next is answered") {
  OnDevice t(true);
  const Inputs inputs{{Random({40, 50}, 1), Random({50, 60}, 2)}, {}};
  const Outputs good = Ok(t.Run(kLoss, inputs));
  for (const int with : {700, int{cuda::kOutOfMemory}}) {
    TheFakeDriver().fail_with = with;
    for (int64_t k = 0;; ++k) {
      INFO("call " << k << " fails with " << with);
      TheFakeDriver().calls = 0;
      TheFakeDriver().fail_at = k;
      const auto bad = t.Run(kLoss, inputs);
      const bool met = TheFakeDriver().calls > k;
      TheFakeDriver().fail_at = -1;
      if (!bad.ok()) {
        CHECK(bad.status().reason() ==
              (with == cuda::kOutOfMemory ? "DEVICE_MEMORY" : "DEVICE_FAULT"));
      }
      const auto after = t.Run(kLoss, inputs);
      REQUIRE(after.ok());
      CHECK(after->value.tensor.data == good.value.tensor.data);
      CHECK(after->contractions == 1);
      if (!met) break;
    }
  }
  CHECK(TheFakeDriver().live_allocations == 0);
  CHECK(TheFakeDriver().contexts == 1);
}

TEST_CASE("Contractions on a device: a run that is stopped ends between the pieces of a product") {
  OnDevice t(true);
  // Five pieces of some tenths of a second.
  const Inputs inputs{{Random({400, 10240}, 1), Random({10240, 400}, 2)}, {}};
  RunLimits limits;
  limits.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
  CHECK(t.Run(kProduct, inputs, Contractions::kBlas, Transform::kValue, Target::kCuda, limits)
            .status()
            .code() == Code::kDeadlineExceeded);
  CHECK(TheFakeDriver().multiplied < 5);
  CHECK(TheFakeDriver().live_allocations == 0);
}

TEST_CASE("Contractions on a device: a library that is not there, or not what it should be") {
  CHECK(cuda::LoadCublas({"libpullback_has_no_such_blas.so"}).status().reason() == "NO_BLAS");
  const Status other = cuda::LoadCublas({"libpullback_has_no_such_blas.so", "libm.so.6"}).status();
  CHECK(other.reason() == "NO_BLAS");
  CHECK(other.message().find("cublasCreate_v2") != std::string::npos);
}

}  // namespace
}  // namespace pullback::jit
