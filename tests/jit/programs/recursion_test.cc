// Recursion as deep as the default limit: values and gradients, interpreted and compiled, on a small
// thread too; and what comes beyond the limit.
#include <catch2/catch.hpp>
#include <thread>

#include "core/loops/lower.h"
#include "jit/engine.h"
#include "jit/llvm/llvm_backend.h"
#include "tests/jit/llvm_support.h"
#include "tests/jit/programs/compiled.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

constexpr int64_t kDepth = 100000;

// f(x, n) has n calls of g active at once, f(a, n) reads n elements on the way back.
const char* const kScalar =
    "fn g(x: f64, n: i64) -> f64 { if n <= 1 { return x }\n return 0.5 * g(x, n - 1) + sin(x) }\n"
    "fn f(x: f64, n: i64) -> f64 { return g(x, n) }\n";
const char* const kArray =
    "fn g(a: [m]f64, n: i64) -> f64 { if n <= 1 { return a[0] }\n"
    "  return a[n - 1] * a[n - 1] + g(a, n - 1) }\n"
    "fn f(a: [m]f64, n: i64) -> f64 { return g(a, n) }\n";
const char* const kMutual =
    "fn even(x: f64, n: i64) -> f64 { if n <= 1 { return x }\n return 2.0 + odd(x, n - 1) }\n"
    "fn odd(x: f64, n: i64) -> f64 { if n <= 1 { return x }\n return even(x, n - 1) * 1.0 + x }\n"
    "fn f(x: f64, n: i64) -> f64 { return even(x, n) }\n";

ir::Module Final(const char* text, Transform transform) {
  return Derived(LowerText(text, "f"), transform, {true, false});
}

TEST_CASE("recursion of the default depth: values") {
  CheckBitwise(Final(kScalar, Transform::kValue), {Tensor::F64(0.7), Tensor::I64(kDepth)});
  CheckBitwise(Final(kArray, Transform::kValue),
               {Vec(std::vector<double>(kDepth, 0.5)), Tensor::I64(kDepth)});
  CheckBitwise(Final(kMutual, Transform::kValue), {Tensor::F64(0.7), Tensor::I64(kDepth)});
}

TEST_CASE("recursion of the default depth: gradients") {  // vjp: by reverse mode
  SECTION("scalar") {
    const ir::Module final = Final(kScalar, Transform::kVjp);
    const std::vector<Tensor> args = {Tensor::F64(0.7), Tensor::I64(kDepth), Tensor::F64(1)};
    CheckBitwise(final, args);
    CHECK(Scalar(RunCompiled(final, args)[1]) == Approx(2 * std::cos(0.7)));
  }
  SECTION("array") {
    const ir::Module final = Final(kArray, Transform::kValueAndGrad);
    const std::vector<Tensor> args = {Vec(std::vector<double>(kDepth, 0.5)), Tensor::I64(kDepth)};
    const std::vector<double> bar = Doubles(RunCompiled(final, args)[1]);
    REQUIRE(bar.size() == static_cast<size_t>(kDepth));
    CHECK(std::all_of(bar.begin(), bar.end(), [](double d) { return d == 1; }));
    CHECK(Doubles(RunOk(final, args)[1]) == bar);
  }
  SECTION("mutual") {
    const ir::Module final = Final(kMutual, Transform::kVjp);
    const std::vector<Tensor> args = {Tensor::F64(0.7), Tensor::I64(kDepth), Tensor::F64(1)};
    CheckBitwise(final, args);
    CHECK(Scalar(RunCompiled(final, args)[1]) == kDepth / 2);
  }
  SECTION("on a thread with a small stack") {
    const ir::Module final = Final(kScalar, Transform::kVjp);
    std::vector<Tensor> got;
    std::thread thread(
        [&] { got = RunCompiled(final, {Tensor::F64(0.7), Tensor::I64(kDepth), Tensor::F64(1)}); });
    thread.join();
    CHECK(Scalar(got[1]) == Approx(2 * std::cos(0.7)));
  }
}

TEST_CASE("recursion beyond the limit") {
  for (const Transform transform : {Transform::kValue, Transform::kValueAndGrad}) {
    const ir::Module final = Final(kScalar, transform);
    const std::vector<Tensor> args = {Tensor::F64(0.7), Tensor::I64(kDepth + 1)};
    const auto interpreted = eval::Run(final, args);
    REQUIRE(interpreted.ok());
    REQUIRE(interpreted->trap);
    CHECK(interpreted->trap->kind == ir::TrapKind::kDepth);
    const auto loops = loops::LowerToLoops(final);
    REQUIRE(loops.ok());
    jit::TestKernel kernel(*loops, 2);
    CHECK(kernel.Trapped(args, ir::TrapKind::kDepth));
    CHECK(kernel.context.trap_a == kDepth);
  }
}

// Where the host has more than sixteen vector registers, each must have an instruction that can name it.
TEST_CASE("compiled recursion: four floats of a call, without optimisation") {
  jit::Engine engine(jit::EngineOptions(), jit::MakeLlvmBackend().value());
  jit::KernelRequest request;
  request.program =
      "fn g(x: f64, k: i64) -> (f64, f64, f64, f64) {\n"
      "  if k <= 0 { return (x, sin(x), x * x, cos(x)) }\n"
      "  let (a, b, c, d) = g(x * 0.5, k - 1)\n"
      "  return (b + x, c * x, d - x, a) }\n"
      "fn f(x: f64, k: i64) -> f64 {\n"
      "  let (a, b, c, d) = g(x, k)\n"
      "  return a * b + c * d }";
  request.entry = "f";
  request.options.opt_level = 0;
  const StatusOr<std::string> text = engine.Explain(request, "asm");
  REQUIRE(text.ok());
  CHECK(text->find("\tfstpl") != std::string::npos);
  CHECK(text->find("\tmovsd") == std::string::npos);
}

}  // namespace
}  // namespace pullback::testing
