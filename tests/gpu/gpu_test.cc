// What needs a GPU. Without one each case is skipped, and the binary ends with the code for that
// (tests/support/skip.h). deploy/gpu_bundle.sh packs it for machines that have nothing but the driver.
#include <catch2/catch.hpp>
#include <chrono>
#include <iostream>

#include "core/loops/lower.h"
#include "jit/cuda/cuda_backend.h"
#include "jit/engine.h"
#include "jit/llvm/device_compiler.h"
#include "jit/llvm/llvm_backend.h"
#include "tests/jit/engine/fake_backend.h"
#include "tests/jit/programs/device_runner.h"
#include "tests/support/derivatives.h"
#include "tests/support/device_programs.h"
#include "tests/support/skip.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

// nullptr, and the case is skipped, where there is none.
std::shared_ptr<jit::DeviceBackend> TheGpu() {
  static const std::shared_ptr<jit::DeviceBackend> backend =
      jit::MakeCudaBackend(jit::MakeDeviceCompiler().value());
  if (backend->available().ok()) return backend;
  Skip(backend->available().ToString());
  return nullptr;
}

// To a relative 1e-9: the math is the device's own.
TEST_CASE("On a GPU: programs give the interpreter's results") {
  const auto backend = TheGpu();
  if (backend == nullptr) return;
  for (const ProgramCase& c : DevicePrograms()) {
    INFO(c.name);
    const ir::Module final = Derived(LowerText(c.text, c.entry), Transform::kValueAndGrad);
    if (HasLists(final)) continue;
    const auto object = backend->Compile(loops::LowerToLoops(final, kForDevices).value(), {2});
    if (!object.ok()) continue;
    DeviceRunner runner(*object, *backend);
    const std::vector<Tensor> expected = RunOk(final, c.args);
    const std::vector<Tensor> got = runner.Run(final.Get(final.entry), c.args);
    REQUIRE(got.size() == expected.size());
    for (size_t k = 0; k < got.size(); ++k) {
      REQUIRE(got[k].shape == expected[k].shape);
      for (int64_t i = 0; got[k].dtype == DType::kF64 && i < got[k].ElementCount(); ++i) {
        CHECK(got[k].At<double>(i) == Approx(expected[k].At<double>(i)).epsilon(1e-9));
      }
    }
  }
}

// No math functions, so every bit is the CPU's; large enough for several chunks and many tiles.
TEST_CASE("On a GPU: large sums, scatters and products have the CPU's bits") {
  const auto backend = TheGpu();
  if (backend == nullptr) return;
  struct Case {
    const char* name;
    const char* text;
    std::vector<Tensor> args;
  };
  const auto numbers = [](std::vector<int64_t> shape) {
    int64_t n = 1;
    for (const int64_t d : shape) n *= d;
    std::vector<double> v;
    for (int64_t i = 0; i < n; ++i) v.push_back(1.0 / static_cast<double>(i % 1013 + 1));
    return Tensor::Of<double>(DType::kF64, std::move(shape), v);
  };
  std::vector<int64_t> at;
  for (int64_t i = 0; i < 700001; ++i) at.push_back(i * 7919 % 5003);
  const Case cases[] = {
      {"sum",
       "fn f(x: [n]f64, y: [n]f64) -> f64 { return sum i < n { x[i] * y[i] * x[i] } }",
       {numbers({6000001}), numbers({6000001})}},
      {"scatter",
       "fn f(x: [n]f64, j: [m]i64) -> f64 { return sum i < m { x[j[i]] * x[j[i]] } }",
       {numbers({5003}), Tensor::Of<int64_t>(DType::kI64, {700001}, at)}},
      {"product",
       "fn f(a: [n, p]f64, b: [p, m]f64) -> f64 { let c = a @ b; return sum i < n, j < m { c[i, j] "
       "* c[i, j] } }",
       {numbers({515, 301}), numbers({301, 477})}},
  };
  jit::EngineOptions options;
  options.device = backend;
  jit::Engine engine(options, jit::MakeLlvmBackend().value());
  for (const Case& c : cases) {
    INFO(c.name);
    jit::Inputs inputs;
    for (const Tensor& t : c.args) inputs.args.push_back(jit::Leaf(t));
    std::vector<jit::Outputs> answers;
    for (const jit::Target target : {jit::Target::kCpu, jit::Target::kCuda}) {
      jit::KernelRequest request = jit::Ask(c.text, "f", jit::Transform::kValueAndGrad);
      request.options.target = target;
      const jit::Handle handle = engine.Compile(request).value();
      engine.Run(handle, inputs).value();  // what is loaded at first use
      answers.push_back(engine.Run(handle, inputs).value());
      std::cout << c.name << (target == jit::Target::kCpu ? " on the CPU: " : " on the GPU: ")
                << answers.back().execute_seconds * 1e3 << " ms\n";
    }
    CHECK(answers[1].target == jit::Target::kCuda);
    CHECK(answers[1].value.tensor.data == answers[0].value.tensor.data);
    CHECK(answers[1].derivatives[0].tensor.data == answers[0].derivatives[0].tensor.data);
  }
}

TEST_CASE("On a GPU: products by cuBLAS, where it is there") {
  const auto backend = TheGpu();
  if (backend == nullptr) return;
  if (backend->blas() == "no cuBLAS") return Skip("there is no cuBLAS here");
  std::vector<double> numbers;
  for (int64_t i = 0; i < 515 * 301; ++i)
    numbers.push_back(1.0 / static_cast<double>(i % 1013 + 1));
  const jit::Inputs inputs{{jit::Leaf(Tensor::Of<double>(DType::kF64, {515, 301}, numbers)),
                            jit::Leaf(Tensor::Of<double>(DType::kF64, {301, 515}, numbers))},
                           {}};
  jit::EngineOptions options;
  options.device = backend;
  jit::Engine engine(options, jit::MakeLlvmBackend().value());
  const auto answer = [&](const char* text, jit::Contractions contractions) {
    jit::KernelRequest request = jit::Ask(text, "f", jit::Transform::kValueAndGrad);
    request.options.target = jit::Target::kCuda;
    request.options.contractions = contractions;
    return engine.Run(engine.Compile(request).value(), inputs).value();
  };
  for (const char* text :
       {"fn f(a: [n, p]f64, b: [p, m]f64) -> f64 { let c = a @ b; return sum(c * c) }",
        "fn f(a: [p, n]f64, b: [m, p]f64) -> f64 {\n"
        "  let c = transpose(a) @ transpose(b)\n  return sum(c * c)\n}"}) {
    INFO(text);
    const jit::Outputs exact = answer(text, jit::Contractions::kExact);
    const jit::Outputs got = answer(text, jit::Contractions::kBlas);
    CHECK(got.contractions == 3);
    CHECK(got.contracted_by == backend->blas());
    for (size_t k = 0; k < 2; ++k) {
      const Tensor &g = got.derivatives[k].tensor, &e = exact.derivatives[k].tensor;
      REQUIRE(g.shape == e.shape);
      for (int64_t i = 0; i < e.ElementCount(); ++i) {
        CHECK(g.At<double>(i) == Approx(e.At<double>(i)).epsilon(1e-9));
      }
    }
  }
}

}  // namespace
}  // namespace pullback::testing
