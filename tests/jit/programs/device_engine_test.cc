// Requests that ask for a target, through the engine: with no driver, and on a driver without a device.
#include <catch2/catch.hpp>

#include "tests/jit/programs/device_engine.h"

namespace pullback::jit {
namespace {

using testing::FakeCudaBackend;
using testing::TheFakeDriver;

constexpr const char* kDot =
    "fn f(x: [n]f64) -> f64 { let y = gen i < n { 2.0 * x[i] }  return sum i < n { y[i] * x[i] } }";

// No machine has this library.
std::shared_ptr<DeviceBackend> NoDriver() {
  const auto missing = cuda::LoadDriver("libpullback_has_no_such_driver.so");
  REQUIRE(missing.status().reason() == "NO_DEVICE");
  TheFakeDriver().Reset();
  TheFakeDriver().devices = 0;
  auto backend = FakeCudaBackend();
  CHECK(backend->available().reason() == "NO_DEVICE");  // looked for once: it stays so
  return backend;
}

TEST_CASE("Target: without a device cuda is NO_DEVICE and auto is the CPU") {
  OnDevice t(NoDriver());
  const Inputs inputs{{Vector(Numbers(100))}, {}};
  const auto forced = t.Run(kDot, Target::kCuda, inputs);
  CHECK(forced.status().code() == Code::kFailedPrecondition);
  CHECK(forced.status().reason() == "NO_DEVICE");
  const Outputs chosen = Ok(t.Run(kDot, Target::kAuto, inputs));
  CHECK(chosen.target == Target::kCpu);
  CHECK(chosen.launches == 0);
  // The same kernel as the CPU's.
  CHECK(Ok(t.Run(kDot, Target::kCpu, inputs)).target == Target::kCpu);
  CHECK(t.engine.stats().kernels == 1);
  Engine none(EngineOptions(), Llvm());
  KernelRequest request = Ask(kDot);
  request.options.target = Target::kCuda;
  CHECK(none.Compile(request).status().reason() == "NO_DEVICE");
}

TEST_CASE("Target: a device answers with the CPU's bits, and says that it did") {
  OnDevice t;
  const Inputs inputs{{Vector(Numbers(1003))}, {}};
  const Outputs here = Ok(t.Run(kDot, Target::kCpu, inputs, Transform::kValueAndGrad));
  for (const Target target : {Target::kCuda, Target::kAuto}) {
    const Outputs there = Ok(t.Run(kDot, target, inputs, Transform::kValueAndGrad));
    CHECK(there.target == Target::kCuda);
    CHECK(there.launches > 0);
    CHECK(there.value.tensor.data == here.value.tensor.data);
    CHECK(there.derivatives[0].tensor.data == here.derivatives[0].tensor.data);
  }
  CHECK(here.target == Target::kCpu);
  CHECK(t.engine.stats().kernels == 3);
  CHECK(TheFakeDriver().live_allocations == 0);
}

TEST_CASE(
    "Target: what a device cannot run is UNIMPLEMENTED where it was forced, and the CPU's else") {
  const std::string program = "fn f(x: f64) -> f64 { return x * x }";
  OnDevice t;
  const auto forced = t.Run(program, Target::kCuda, {{Scalar(3)}, {}});
  CHECK(forced.status().code() == Code::kUnimplemented);
  CHECK(forced.status().reason() == "NOT_ON_DEVICE");
  CHECK(Ok(t.Run(program, Target::kAuto, {{Scalar(3)}, {}})).target == Target::kCpu);
  KernelRequest both = Ask(program);
  both.options.target = Target::kCuda;
  both.options.tier = Tier::kLlvm;
  CHECK(t.engine.Compile(both).status().reason() == "INVALID_OPTION");
}

TEST_CASE("Target: what stays on the CPU is named with its line and a caret") {
  const std::string program =
      "fn f(x: [n]f64) -> [n]f64 {\n  let two = 2.0\n"
      "  return exscan sum i < n { two * x[i] }\n}\n";
  OnDevice t;
  const Status status = t.Run(program, Target::kCuda, {{Vector(Numbers(10))}, {}}).status();
  REQUIRE(status.reason() == "NOT_ON_DEVICE");
  CHECK(status.message().find('!') == std::string::npos);
  REQUIRE(status.diagnostics().size() == 1);
  CHECK(status.diagnostics()[0].span.line == 3);
  CHECK(status.diagnostics()[0].excerpt.find("exscan sum") != std::string::npos);
  CHECK(status.diagnostics()[0].excerpt.find('^') != std::string::npos);
}

TEST_CASE("Target: a program without anything for a device is refused with a place and a reason") {
  const char* straight =
      "fn g(x: f64) -> f64 { return x * x }\n"
      "fn f(x: f64) -> f64 {\n  return g(x)\n}\n";
  const char* looping =
      "fn g(x: f64) -> f64 { return x }\n"
      "fn f(x: f64) -> f64 {\n  var r = x\n"
      "  while r < 100.0 { r = r * g(x) }\n  return r\n}\n";
  OnDevice t;
  for (const char* program : {straight, looping}) {
    INFO(program);
    const Status status = t.Run(program, Target::kCuda, {{Scalar(3)}, {}}).status();
    REQUIRE(status.reason() == "NOT_ON_DEVICE");
    CHECK(status.message().find("it has no gen, sum or the like") != std::string::npos);
    CHECK(status.message().find('!') == std::string::npos);
    REQUIRE(status.diagnostics().size() == 1);
    const Diagnostic& d = status.diagnostics()[0];
    CHECK(d.span.line == 2);
    CHECK(d.span.column == 4);
    CHECK(d.excerpt.find("fn f(") != std::string::npos);
    CHECK(d.excerpt.find('^') != std::string::npos);
  }
}

TEST_CASE("Target: arrays stay on the device between statements") {
  const std::string program =
      "fn f(x: [n]f64, k: i64) -> [n]f64 { var y = x\nvar t = 0\n"
      "while t < k { t = t + 1\ny = gen i < n { 0.5 * y[i] + x[i] } }\nreturn y }";
  OnDevice t;
  const auto copies = [&](int64_t steps) {
    TheFakeDriver().to_device = TheFakeDriver().to_host = 0;
    Ok(t.Run(program, Target::kCuda, {{Vector(Numbers(50)), Integer(steps)}, {}}));
    return std::pair(TheFakeDriver().to_device, TheFakeDriver().to_host);
  };
  copies(1);
  CHECK(copies(20) == std::pair<int64_t, int64_t>(1, 1));  // x there, the result back
}

TEST_CASE("Target: a trap on the device is the CPU's, at its place") {
  const std::string program =
      "fn f(x: [n]f64, j: [m]i64) -> f64 {\n  let y = gen i < m { x[j[i]] }\n  return sum(y) }";
  OnDevice t;
  const Inputs inputs{
      {Vector(Numbers(10)), Leaf(Tensor::Of<int64_t>(DType::kI64, {4}, {1, 2, 77, -5}))}, {}};
  const Status here = t.Run(program, Target::kCpu, inputs).status();
  const Status there = t.Run(program, Target::kCuda, inputs).status();
  CHECK(here.reason() == "INDEX_OUT_OF_RANGE");
  CHECK(there.ToString() == here.ToString());
  CHECK(TheFakeDriver().live_allocations == 0);
}

TEST_CASE("Target: after a fault that request fails, and the next has a new context") {
  OnDevice t;
  const Inputs inputs{{Vector(Numbers(100))}, {}};
  const Outputs good = Ok(t.Run(kDot, Target::kCuda, inputs));
  TheFakeDriver().calls = 0;
  Ok(t.Run(kDot, Target::kCuda, inputs));
  const int64_t calls = TheFakeDriver().calls;
  REQUIRE(calls > 5);
  for (int64_t k = 0; k < calls; ++k) {
    INFO("call " << k);
    TheFakeDriver().calls = 0;
    TheFakeDriver().fail_at = k;
    const auto bad = t.Run(kDot, Target::kCuda, inputs);
    if (!bad.ok()) {
      CHECK(bad.status().code() == Code::kInternal);
      CHECK(bad.status().reason() == "DEVICE_FAULT");
    }
    TheFakeDriver().fail_at = -1;
    const auto after = t.Run(kDot, Target::kCuda, inputs);
    REQUIRE(after.ok());
    CHECK(after->value.tensor.data == good.value.tensor.data);
  }
  CHECK(TheFakeDriver().live_allocations == 0);
  CHECK(TheFakeDriver().contexts == 1);
}

// The kernels would run for hours, the one in tiles for seconds.
TEST_CASE("Target: a deadline ends a kernel that runs, and the next request is answered") {
  const Tensor wide = Tensor::Of<double>(DType::kF64, {40, 30000}, Numbers(40 * 30000));
  const std::pair<const char*, Inputs> programs[] = {
      {"fn f(x: [n]f64, k: i64) -> [n]f64 { return gen i < n { sum j < k { sin(x[i] + "
       "f64(j)) } } }",
       {{Vector(Numbers(50)), Integer(int64_t{1} << 42)}, {}}},
      {"fn f(x: [n]f64, k: i64) -> f64 { return sum i < n, j < k { sin(x[i] + f64(j)) } }",
       {{Vector(Numbers(3)), Integer(int64_t{1} << 42)}, {}}},
      {"fn f(a: [n, p]f64) -> [n, n]f64 { return gen i < n, j < n { sum k < p { "
       "sin(a[i, k]) * sin(a[j, k] + sin(a[i, k])) } } }",
       {{Leaf(wide)}, {}}},
  };
  OnDevice t;
  const Inputs small{{Vector(Numbers(100))}, {}};
  const Outputs good = Ok(t.Run(kDot, Target::kCuda, small));
  for (const auto& [program, inputs] : programs) {
    INFO(program);
    TheFakeDriver().asynchronous = true;
    RunLimits limits;
    limits.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    CHECK(t.Run(program, Target::kCuda, inputs, Transform::kValue, limits).status().code() ==
          Code::kDeadlineExceeded);
    const Outputs after = Ok(t.Run(kDot, Target::kCuda, small));
    CHECK(after.value.tensor.data == good.value.tensor.data);
    CHECK(TheFakeDriver().live_allocations == 0);
    CHECK(TheFakeDriver().contexts == 1);
  }
}

// By the deadline, and where what it waits for has trapped.
TEST_CASE("Target: a loop in a function ends") {
  const std::string endless =
      "fn g(x: f64) -> f64 { var y = x\nwhile y > 0.0 { y = y * 1.0 }\nreturn y }\n"
      "fn f(x: [n]f64) -> [n]f64 { return gen i < n { g(x[i]) } }";
  // Too long to be inlined, so that it traps by itself, and what calls it goes on.
  std::string trapping = "fn h(k: i64) -> f64 { var y = f64(6 / k)\n";
  for (int step = 0; step < 60; ++step) {
    trapping += "y = sin(y + " + std::to_string(step) + ".5)\n";
  }
  trapping +=
      "return f64(6 / k) + 0.0 * y }\n"
      "fn g(k: i64) -> f64 { var y = 0.0\nvar t = 0\n"
      "while y < 1.0 { y = h(k) + 0.0 * h(k + 1)\nt = t + 1 }\nreturn y + f64(t) }\n"
      "fn f(k: [n]i64) -> [n]f64 { return gen i < n { g(k[i]) } }";
  OnDevice t;
  RunLimits limits;
  limits.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  TheFakeDriver().asynchronous = true;
  const Inputs numbers{{Vector(Numbers(10))}, {}};
  CHECK(t.Run(endless, Target::kCuda, numbers, Transform::kValue, limits).status().code() ==
        Code::kDeadlineExceeded);
  TheFakeDriver().Settle();
  TheFakeDriver().asynchronous = false;
  const auto divisors = [](const std::vector<int64_t>& v) {
    return Inputs{{Leaf(Tensor::Of<int64_t>(DType::kI64, {3}, v))}, {}};
  };
  CHECK(Doubles(Ok(t.Run(trapping, Target::kCuda, divisors({1, 2, 3}))).value) ==
        std::vector<double>{7, 4, 3});
  const Status here = t.Run(trapping, Target::kCpu, divisors({1, 0, 3})).status();
  CHECK(here.reason() == "DIVISION_BY_ZERO");
  CHECK(t.Run(trapping, Target::kCuda, divisors({1, 0, 3})).status().ToString() == here.ToString());
  CHECK(TheFakeDriver().live_allocations == 0);
}

TEST_CASE("Target: a device without memory left") {
  OnDevice t;
  const Inputs inputs{{Vector(Numbers(100))}, {}};
  Ok(t.Run(kDot, Target::kCuda, inputs));
  TheFakeDriver().calls = 0;
  TheFakeDriver().fail_at = 0;
  TheFakeDriver().fail_with = cuda::kOutOfMemory;
  const Status status = t.Run(kDot, Target::kCuda, inputs).status();
  CHECK(status.code() == Code::kResourceExhausted);
  CHECK(status.reason() == "DEVICE_MEMORY");
  CHECK(t.Run(kDot, Target::kCuda, inputs).ok());
  CHECK(TheFakeDriver().contexts == 1);  // the same one
}

TEST_CASE("Target: explain shows kernels where there is no device") {
  OnDevice t(NoDriver());
  const std::string text = Ok(t.engine.Explain(Ask(kDot), "ptx:sm_80"));
  CHECK(text.find(".target sm_80") != std::string::npos);
  CHECK(text.find("// k0: @f, loop over %i: counts terms by segments of %i") != std::string::npos);
  CHECK(text.find("makes the terms by segments of %i") != std::string::npos);
  CHECK(Ok(t.engine.Explain(Ask(kDot), "ptx")).find(".target sm_90") != std::string::npos);
  CHECK(t.engine.Explain(Ask(kDot), "ptx:sm_12").status().reason() == "UNKNOWN_ARCH");
  const std::string scan = "fn f(x: [n]f64) -> [n]f64 { return exscan sum i < n { x[i] } }";
  const std::string refused = Ok(t.engine.Explain(Ask(scan), "ptx"));
  CHECK(refused.find("on the host, because of ") != std::string::npos);
  CHECK(refused.find("nothing of this program runs on a device") != std::string::npos);
}

}  // namespace
}  // namespace pullback::jit
