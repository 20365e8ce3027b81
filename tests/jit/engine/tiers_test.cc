// Which tier answers, when LLVM takes over, and what becomes of the code that it replaces.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "core/base/work.h"
#include "jit/baseline/baseline_backend.h"
#include "jit/kernel.h"
#include "jit/llvm/llvm_backend.h"
#include "jit/runtime/context.h"
#include "tests/jit/engine/fake_backend.h"

namespace pullback::jit {
namespace {

using namespace std::chrono_literals;

constexpr const char* kSquare = "fn f(x: f64) -> f64 { return x * x }";
constexpr const char* kLoop = R"(
fn f(n: i64) -> f64 {
  var s = 0.0
  for i < n { s = s * 0.5 + 1.0 / (1.0 + f64(i)) }
  return s
})";

std::atomic<bool> door{false};
std::atomic<int> inside{0};

void WaitUntil(const std::function<bool()>& holds) {
  const auto until = std::chrono::steady_clock::now() + 30s;
  while (!holds() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  REQUIRE(holds());
}

struct FakeTiers {
  FakeTiers() {
    llvm->built = "fake-llvm";
    baseline->built = "fake-baseline";
    baseline->entry = [](RunContext*, const uint64_t*, uint64_t* r) { r[0] = 0; };
    llvm->entry = [](RunContext*, const uint64_t*, uint64_t* r) { r[0] = 0; };
    options.on_failed_promotion = [this](const Status& s) { failure = s.reason(); };
  }
  // Runs in tier 0 that take longer than LLVM is expected to.
  void MakeSlow() {
    baseline->entry = [](RunContext*, const uint64_t*, uint64_t* r) {
      std::this_thread::sleep_for(30ms);
      r[0] = 0;
    };
  }
  std::shared_ptr<FakeBackend> llvm = std::make_shared<FakeBackend>();
  std::shared_ptr<FakeBackend> baseline = std::make_shared<FakeBackend>();
  EngineOptions options;
  std::string failure;
};

KernelRequest AskIn(Tier tier, const std::string& program = kSquare) {
  KernelRequest request = Ask(program);
  request.options.tier = tier;
  return request;
}

Inputs One(ApiValue v) { return {{std::move(v)}, {}}; }

TEST_CASE("tiers: tier 0 answers first, LLVM compiles nothing meanwhile") {
  FakeTiers t;
  Engine engine(t.options, t.llvm, t.baseline);
  const Handle handle = Ok(engine.Compile(AskIn(Tier::kAuto)));
  for (int i = 0; i < 10; ++i) {
    CHECK(Ok(engine.Run(handle, One(Scalar(3)))).tier == Tier::kBaseline);
  }
  engine.DrainBackground();
  CHECK(t.baseline->compiles == 1);
  CHECK(t.llvm->compiles == 0);
  CHECK(engine.stats().promotions == 0);
}

TEST_CASE("tiers: once tier 0 has taken as long as LLVM would, LLVM takes over") {
  FakeTiers t;
  t.MakeSlow();
  t.llvm->code_bytes = 70000;
  Engine engine(t.options, t.llvm, t.baseline);
  const Handle handle = Ok(engine.Compile(AskIn(Tier::kAuto)));
  const int64_t bytes = engine.stats().cache_bytes;
  CHECK(Ok(engine.Run(handle, One(Scalar(3)))).tier == Tier::kBaseline);
  engine.DrainBackground();
  CHECK(t.llvm->compiles == 1);
  CHECK(Ok(engine.Run(handle, One(Scalar(3)))).tier == Tier::kLlvm);
  CHECK(Ok(engine.Compile(AskIn(Tier::kAuto))).kernel == handle.kernel);
  CHECK(engine.stats().promotions == 1);
  CHECK(engine.stats().cache_bytes > bytes + 60000);
  CHECK(*t.baseline->live == 0);  // nobody runs it any more
  CHECK(*t.llvm->live == 1);
}

TEST_CASE("tiers: replaced code lives as long as it runs") {
  FakeTiers t;
  door = false;
  inside = 0;
  t.baseline->entry = [](RunContext*, const uint64_t*, uint64_t* r) {
    ++inside;
    while (inside == 1 && !door) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(30ms);
    r[0] = 0;
  };
  Engine engine(t.options, t.llvm, t.baseline);
  const Handle handle = Ok(engine.Compile(AskIn(Tier::kAuto)));
  std::atomic<bool> in_tier_zero{false};
  std::thread first(
      [&] { in_tier_zero = Ok(engine.Run(handle, One(Scalar(3)))).tier == Tier::kBaseline; });
  WaitUntil([&] { return inside == 1; });
  TieredCode& code = handle.kernel->code();
  CHECK(Ok(code.Improve(*t.llvm, {})).mine);
  CHECK(Ok(engine.Run(handle, One(Scalar(3)))).tier == Tier::kLlvm);
  CHECK(*t.baseline->live == 1);
  door = true;
  first.join();
  CHECK(in_tier_zero);
  CHECK(*t.baseline->live == 0);
}

TEST_CASE("tiers: a forced tier is that tier") {
  FakeTiers t;
  t.MakeSlow();
  Engine engine(t.options, t.llvm, t.baseline);
  const Handle baseline = Ok(engine.Compile(AskIn(Tier::kBaseline)));
  const Handle llvm = Ok(engine.Compile(AskIn(Tier::kLlvm)));
  const Handle either = Ok(engine.Compile(AskIn(Tier::kAuto)));
  CHECK(baseline.kernel_id != llvm.kernel_id);
  CHECK(baseline.kernel_id != either.kernel_id);
  CHECK(llvm.kernel_id != either.kernel_id);
  for (int i = 0; i < 3; ++i) {
    CHECK(Ok(engine.Run(baseline, One(Scalar(3)))).tier == Tier::kBaseline);
    CHECK(Ok(engine.Run(llvm, One(Scalar(3)))).tier == Tier::kLlvm);
  }
  engine.DrainBackground();
  CHECK(engine.stats().promotions == 0);
}

TEST_CASE("tiers: a forced tier fails rather than another stands in") {
  FakeTiers t;
  Engine without(t.options, t.llvm);
  CHECK(without.Compile(AskIn(Tier::kBaseline)).status().reason() == "NO_TIER");
  CHECK(Ok(without.Run(Ok(without.Compile(AskIn(Tier::kAuto))), One(Scalar(3)))).tier ==
        Tier::kLlvm);
  t.baseline->on_compile = [] {
    return Status(Code::kResourceExhausted, "FRAME_TOO_LARGE", "much too large");
  };
  Engine engine(t.options, t.llvm, t.baseline);
  CHECK(engine.Compile(AskIn(Tier::kBaseline)).status().reason() == "FRAME_TOO_LARGE");
  CHECK(Ok(engine.Run(Ok(engine.Compile(AskIn(Tier::kAuto))), One(Scalar(3)))).tier == Tier::kLlvm);
  t.baseline->on_compile = [] { return Status(Code::kInternal, "ENCODING", "a fault of ours"); };
  CHECK(engine.Compile(AskIn(Tier::kAuto, "fn f(x: f64) -> f64 { return x }")).status().reason() ==
        "ENCODING");
}

TEST_CASE("tiers: where LLVM fails tier 0 stays, and it is told") {
  FakeTiers t;
  t.MakeSlow();
  t.llvm->on_compile = [] { return Status(Code::kResourceExhausted, "TOO_LARGE", "no"); };
  Engine engine(t.options, t.llvm, t.baseline);
  const Handle handle = Ok(engine.Compile(AskIn(Tier::kAuto)));
  for (int i = 0; i < 3; ++i) {
    CHECK(Ok(engine.Run(handle, One(Scalar(3)))).tier == Tier::kBaseline);
    engine.DrainBackground();
  }
  CHECK(t.llvm->compiles == 1);
  CHECK(engine.stats().failed_promotions == 1);
  CHECK(t.failure == "TOO_LARGE");
}

TEST_CASE("tiers: a compiler that throws is a failure like any other") {
  FakeTiers t;
  t.llvm->on_compile = []() -> Status { throw std::bad_alloc(); };
  Engine engine(t.options, t.llvm, t.baseline);
  const Handle handle = Ok(engine.Compile(AskIn(Tier::kAuto)));
  CHECK(Ok(handle.kernel->code().Improve(*t.llvm, {})).status.reason() == "COMPILER_THREW");
  CHECK_FALSE(Ok(handle.kernel->code().Improve(*t.llvm, {})).mine);
  CHECK(Ok(engine.Run(handle, One(Scalar(3)))).tier == Tier::kBaseline);
}

TEST_CASE("tiers: who waits for another's compile looks at deadline and cancellation") {
  FakeTiers t;
  door = false;
  t.llvm->on_compile = [] {
    while (!door) std::this_thread::sleep_for(1ms);
    return Status();
  };
  Engine engine(t.options, t.llvm, t.baseline);
  const Handle handle = Ok(engine.Compile(AskIn(Tier::kAuto)));
  TieredCode& code = handle.kernel->code();
  std::thread other([&] { CHECK(Ok(code.Improve(*t.llvm, {})).mine); });
  WaitUntil([&] { return t.llvm->compiles == 1; });
  RunLimits limits;
  limits.deadline = std::chrono::steady_clock::now() + 20ms;
  CHECK(code.Improve(*t.llvm, limits).status().code() == Code::kDeadlineExceeded);
  limits = {};
  limits.cancelled = std::make_shared<std::atomic<bool>>(true);
  CHECK(code.Improve(*t.llvm, limits).status().code() == Code::kCancelled);
  door = true;
  CHECK_FALSE(Ok(code.Improve(*t.llvm, {})).mine);
  other.join();
}

TEST_CASE("tiers: a compile that ends with its caller leaves the kernel to the next") {
  FakeTiers t;
  t.llvm->on_compile = [] {
    while (Work::Ask().ok()) std::this_thread::sleep_for(1ms);
    return Work::Ask();
  };
  Engine engine(t.options, t.llvm, t.baseline);
  const Handle handle = Ok(engine.Compile(AskIn(Tier::kAuto)));
  TieredCode& code = handle.kernel->code();
  RunLimits limits;
  limits.deadline = std::chrono::steady_clock::now() + 20ms;
  CHECK(code.Improve(*t.llvm, limits).status().code() == Code::kDeadlineExceeded);
  CHECK(code.current()->tier == Tier::kBaseline);
  t.llvm->on_compile = {};
  CHECK(Ok(code.Improve(*t.llvm, {})).mine);
  CHECK(code.current()->tier == Tier::kLlvm);
}

TEST_CASE("tiers: an engine that goes does not wait for LLVM") {
  FakeTiers t;
  t.MakeSlow();
  t.llvm->on_compile = [] {
    while (Work::Ask().ok()) std::this_thread::sleep_for(1ms);
    return Work::Ask();
  };
  {
    Engine engine(t.options, t.llvm, t.baseline);
    const Handle handle = Ok(engine.Compile(AskIn(Tier::kAuto)));
    CHECK(Ok(engine.Run(handle, One(Scalar(3)))).tier == Tier::kBaseline);
    WaitUntil([&] { return t.llvm->compiles == 1; });  // in the background
  }
  CHECK(*t.llvm->live == 0);
}

TEST_CASE("tiers: what LLVM would not optimise stays in tier 0") {
  FakeTiers t;
  t.MakeSlow();
  t.llvm->optimises = false;
  Engine engine(t.options, t.llvm, t.baseline);
  const Handle handle = Ok(engine.Compile(AskIn(Tier::kAuto)));
  for (int i = 0; i < 3; ++i) {
    CHECK(Ok(engine.Run(handle, One(Scalar(3)))).tier == Tier::kBaseline);
    engine.DrainBackground();
  }
  CHECK(t.llvm->compiles == 0);
  CHECK(Ok(engine.Run(Ok(engine.Compile(AskIn(Tier::kLlvm))), One(Scalar(3)))).tier == Tier::kLlvm);
}

TEST_CASE("tiers: an engine may go while LLVM compiles") {
  FakeTiers t;
  t.MakeSlow();
  t.llvm->on_compile = [] {
    std::this_thread::sleep_for(50ms);
    return Status();
  };
  {
    Engine engine(t.options, t.llvm, t.baseline);
    const Handle handle = Ok(engine.Compile(AskIn(Tier::kAuto)));
    CHECK(Ok(engine.Run(handle, One(Scalar(3)))).tier == Tier::kBaseline);
  }
  CHECK(*t.llvm->live == 0);
  CHECK(*t.baseline->live == 0);
}

Engine& RealTiers() {
  static Engine engine({}, MakeLlvmBackend().value(),
                       MakeBaselineBackend({.validate = true}).value());
  return engine;
}

TEST_CASE("tiers: a run that is long for tier 0 is begun again in LLVM's code") {
  const Handle handle = Ok(RealTiers().Compile(AskIn(Tier::kAuto, kLoop)));
  const Inputs inputs = One(Integer(50'000'000));
  const Outputs first = Ok(RealTiers().Run(handle, inputs));
  CHECK(first.tier == Tier::kLlvm);
  const Handle forced = Ok(RealTiers().Compile(AskIn(Tier::kBaseline, kLoop)));
  const Outputs slow = Ok(RealTiers().Run(forced, inputs));
  CHECK(slow.tier == Tier::kBaseline);
  CHECK(slow.value.tensor.data == first.value.tensor.data);
}

TEST_CASE("tiers: the caller's deadline holds in every tier") {
  const char* endless =
      "fn f(n: i64) -> i64 {\n  var k = n\n  while k > 0 { k = n }\n  return k\n}";
  for (const Tier tier : {Tier::kAuto, Tier::kBaseline, Tier::kLlvm}) {
    const Handle handle = Ok(RealTiers().Compile(AskIn(tier, endless)));
    RunLimits limits;
    limits.deadline = std::chrono::steady_clock::now() + 200ms;
    const auto outputs = RealTiers().Run(handle, One(Integer(1)), limits);
    CHECK(outputs.status().code() == Code::kDeadlineExceeded);
    const auto late = std::chrono::steady_clock::now() - *limits.deadline;
    CHECK(late < 5s);
  }
}

TEST_CASE("tiers: gradients have the same bits in each") {
  const char* text = R"(
fn f(x: [n]f64, k: i64) -> f64 {
  var y = x
  for i < k { y[i % n] = sin(y[(i + 1) % n]) * 0.9 + tanh(y[i % n]) }
  return sum i < n { y[i] * x[i] }
})";
  std::vector<Outputs> all;
  for (const Tier tier : {Tier::kBaseline, Tier::kLlvm}) {
    KernelRequest request = Ask(text, "f", Transform::kValueAndGrad);
    request.options.tier = tier;
    const Handle handle = Ok(RealTiers().Compile(request));
    Inputs inputs{{Vector({0.1, -0.7, 2.5, 1e3, -0.0}), Integer(1000)}, {}};
    all.push_back(Ok(RealTiers().Run(handle, inputs)));
    CHECK(all.back().tier == tier);
  }
  CHECK(all[0].value.tensor.data == all[1].value.tensor.data);
  CHECK(all[0].derivatives[0].tensor.data == all[1].derivatives[0].tensor.data);
}

TEST_CASE("tiers: machine code of the tier that was asked for is explained") {
  KernelRequest request = AskIn(Tier::kBaseline);
  CHECK(Ok(RealTiers().Explain(request, "asm")).find("mulsd xmm") != std::string::npos);
  CHECK(RealTiers().Explain(request, "llvm").status().reason() == "UNKNOWN_STAGE");
  request.options.tier = Tier::kLlvm;
  CHECK(Ok(RealTiers().Explain(request, "asm")).find("pb_kernel:") != std::string::npos);
}

}  // namespace
}  // namespace pullback::jit
