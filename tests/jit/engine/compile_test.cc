// Finding and making kernels: hits, aliases, single flight, eviction, faults.
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/jit/engine/fake_backend.h"

namespace pullback::jit {
namespace {

using namespace std::chrono_literals;

const char* const kText = "fn f(x: f64) -> f64 { return x * x }";
const char* const kRenamed = "fn f(y: f64) -> f64 {\n  return y * y\n}\n";

// Holds compiling until it is opened.
class Door {
 public:
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  void Pass() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

struct Fixture {
  explicit Fixture(EngineOptions options = {}) : engine(options, backend) {}
  std::shared_ptr<FakeBackend> backend = std::make_shared<FakeBackend>();
  Engine engine;
};

void WaitUntil(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
  REQUIRE(condition());
}

TEST_CASE("The second compile is a hit, by the text or by what it means") {
  Fixture t;
  const Handle first = Ok(t.engine.Compile(Ask(kText)));
  CHECK(!first.cache_hit);
  CHECK(first.timings.size() >= 8);
  CHECK(first.timings[0].stage == "parse");
  const Handle same = Ok(t.engine.Compile(Ask(kText)));
  CHECK(same.cache_hit);
  CHECK(same.timings.empty());
  CHECK(t.engine.stats().alias_hits == 1);
  CHECK(same.view == first.view);
  const Handle renamed = Ok(t.engine.Compile(Ask(kRenamed)));
  CHECK(renamed.cache_hit);
  CHECK(renamed.kernel == first.kernel);
  CHECK(renamed.view->signature.params[0].name == "y");
  CHECK(first.view->signature.params[0].name == "x");
  CHECK(t.engine.stats().alias_hits == 1);
  Ok(t.engine.Compile(Ask(kRenamed)));
  CHECK(t.engine.stats().alias_hits == 2);
  CHECK(t.backend->compiles == 1);
}

TEST_CASE("A fault of the compiler ends one request") {
  Fixture t;
  t.backend->on_compile = [] {
    PB_CHECK(!"an invariant");
    return Status();
  };
  const Status s = t.engine.Compile(Ask(kText)).status();
  CHECK(s.code() == Code::kInternal);
  CHECK(s.reason() == "CHECK_FAILED");
  t.backend->on_compile = {};
  CHECK_FALSE(Ok(t.engine.Compile(Ask(kText))).cache_hit);
}

TEST_CASE("Explaining ends when nobody waits") {
  Fixture t;
  RunLimits limits;
  limits.cancelled = std::make_shared<std::atomic<bool>>(true);
  CHECK(t.engine.Explain(Ask(kText), "ssa", nullptr, limits).status().code() == Code::kCancelled);
  *limits.cancelled = false;
  CHECK(t.engine.Explain(Ask(kText), "ssa", nullptr, limits).ok());
}

TEST_CASE("Find gives the kernel with the first text's names, or says that it is gone") {
  Fixture t;
  const Handle made = Ok(t.engine.Compile(Ask(kText)));
  Ok(t.engine.Compile(Ask(kRenamed)));
  const HandlePtr found = Ok(t.engine.Find(made.kernel_id));
  CHECK(found->kernel_id == made.kernel_id);
  CHECK(found->cache_hit);
  CHECK(found->kernel == made.kernel);
  CHECK(found->view->signature.params[0].name == "x");
  for (const std::string& id : {std::string(64, '0'), std::string(), std::string("x\0y", 3)}) {
    const StatusOr<HandlePtr> gone = t.engine.Find(id);
    REQUIRE(!gone.ok());
    CHECK(gone.status().code() == Code::kFailedPrecondition);
    CHECK(gone.status().reason() == "KERNEL_NOT_RESIDENT");
  }
}

TEST_CASE("Evicted code lives as long as somebody holds it, and is compiled again when asked for") {
  EngineOptions options;
  options.cache_bytes = 5000;
  Fixture t(options);
  t.backend->code_bytes = 4000;
  StatusOr<Handle> first = t.engine.Compile(Ask(kText));
  REQUIRE(first.ok());
  Ok(t.engine.Compile(Ask("fn f(x: f64) -> f64 { return x + 1.0 }")));
  CHECK(t.engine.stats().evictions == 1);
  CHECK(t.engine.stats().kernels == 1);
  CHECK(!t.engine.Find(first->kernel_id).ok());
  CHECK(*t.backend->live == 2);
  CHECK(t.engine.Run(*first, {{Scalar(1)}, {}}).ok());
  first = Status(Code::kInternal, "", "");  // the last user goes
  CHECK(*t.backend->live == 1);
  // The alias is still known, the kernel is not.
  CHECK(!Ok(t.engine.Compile(Ask(kText))).cache_hit);
  CHECK(t.backend->compiles == 3);
}

TEST_CASE("However many ask at once, one compiles") {
  Fixture t;
  Door door;
  t.backend->on_compile = [&] {
    door.Pass();
    return Status();
  };
  std::vector<std::thread> threads;
  std::atomic<int> done{0};
  std::vector<std::string> names(8);
  for (size_t i = 0; i < names.size(); ++i) {
    threads.emplace_back([&, i] {
      const Handle handle = Ok(t.engine.Compile(Ask(i % 2 == 0 ? kText : kRenamed)));
      names[i] = handle.view->signature.params[0].name;
      ++done;
    });
  }
  WaitUntil([&] { return t.backend->compiles == 1; });
  std::this_thread::sleep_for(20ms);
  CHECK(done == 0);
  door.Open();
  for (std::thread& thread : threads) thread.join();
  CHECK(t.backend->compiles == 1);
  for (size_t i = 0; i < names.size(); ++i) CHECK(names[i] == (i % 2 == 0 ? "x" : "y"));
}

TEST_CASE("A waiting request heeds its own deadline and cancellation") {
  Fixture t;
  Door door;
  t.backend->on_compile = [&] {
    door.Pass();
    return Status();
  };
  std::thread maker([&] { Ok(t.engine.Compile(Ask(kText))); });
  WaitUntil([&] { return t.backend->compiles == 1; });
  RunLimits late;
  late.deadline = std::chrono::steady_clock::now() + 20ms;
  CHECK(t.engine.Compile(Ask(kText), late).status().code() == Code::kDeadlineExceeded);
  RunLimits stopped;
  stopped.cancelled = std::make_shared<std::atomic<bool>>(false);
  std::thread canceller([&] {
    std::this_thread::sleep_for(20ms);
    *stopped.cancelled = true;
  });
  CHECK(t.engine.Compile(Ask(kText), stopped).status().code() == Code::kCancelled);
  canceller.join();
  door.Open();
  maker.join();
}

TEST_CASE("Those who wait do not share the maker's cancellation") {
  Fixture t;
  Door door;
  t.backend->on_compile = [&] {
    if (t.backend->compiles == 1) door.Pass();
    return Status();
  };
  RunLimits limits;
  limits.cancelled = std::make_shared<std::atomic<bool>>(false);
  Code maker_code = Code::kOk;
  std::thread maker([&] { maker_code = t.engine.Compile(Ask(kText), limits).status().code(); });
  WaitUntil([&] { return t.backend->compiles == 1; });
  std::atomic<bool> ok{false};
  std::thread waiter([&] { ok = t.engine.Compile(Ask(kText)).ok(); });
  std::this_thread::sleep_for(20ms);
  *limits.cancelled = true;
  door.Open();
  maker.join();
  waiter.join();
  CHECK(maker_code == Code::kCancelled);
  CHECK(ok);
  CHECK(t.backend->compiles == 2);
}

TEST_CASE("A failed compile is shared by those who wait, and not kept") {
  Fixture t;
  Door door;
  t.backend->on_compile = [&] {
    door.Pass();
    return t.backend->compiles == 1 ? Status(Code::kInternal, "BROKEN", "once") : Status();
  };
  std::string reason;
  std::thread maker([&] { reason = t.engine.Compile(Ask(kText)).status().reason(); });
  WaitUntil([&] { return t.backend->compiles == 1; });
  std::string waiting;
  std::thread waiter([&] { waiting = t.engine.Compile(Ask(kText)).status().reason(); });
  std::this_thread::sleep_for(50ms);
  door.Open();
  maker.join();
  waiter.join();
  CHECK(reason == "BROKEN");
  CHECK(waiting == "BROKEN");
  CHECK(t.engine.stats().kernels == 0);
  CHECK(t.engine.Compile(Ask(kText)).ok());
  CHECK(t.backend->compiles == 2);
}

TEST_CASE("A compile that throws does not leave the others waiting") {
  Fixture t;
  t.backend->on_compile = [&]() -> Status {
    if (t.backend->compiles == 1) throw std::bad_alloc();
    return {};
  };
  CHECK_THROWS_AS(t.engine.Compile(Ask(kText)), std::bad_alloc);
  CHECK(t.engine.Compile(Ask(kText)).ok());
}

TEST_CASE("A deadline or cancellation ends compiling between passes") {
  Fixture t;
  RunLimits limits;
  limits.deadline = std::chrono::steady_clock::now() - 1ms;
  CHECK(t.engine.Compile(Ask(kText), limits).status().code() == Code::kDeadlineExceeded);
  CHECK(t.backend->compiles == 0);
  limits = {};
  limits.cancelled = std::make_shared<std::atomic<bool>>(false);
  t.backend->on_compile = [&] {
    *limits.cancelled = true;
    return Status();
  };
  CHECK(t.engine.Compile(Ask(kText), limits).status().code() == Code::kCancelled);
  CHECK(*t.backend->live == 0);
}

void CheckFault(const KernelRequest& request, Code code, const std::string& reason) {
  Fixture t;
  const StatusOr<Handle> handle = t.engine.Compile(request);
  REQUIRE(!handle.ok());
  INFO(handle.status().ToString());
  CHECK(handle.status().code() == code);
  CHECK(handle.status().reason() == reason);
}

TEST_CASE("Requests that make no sense are refused") {
  const char* const mixed = "fn f(x: f64, n: i64) -> f64 { return x * f64(n) }";
  const Transform grad = Transform::kValueAndGrad;
  CheckFault(Ask("fn f("), Code::kInvalidArgument, "SYNTAX_ERROR");
  CheckFault(Ask("fn f() -> f64 { return true }"), Code::kInvalidArgument, "TYPE_ERROR");
  CheckFault(Ask(kText, "g"), Code::kNotFound, "ENTRY_NOT_FOUND");
  CheckFault(Ask(mixed, "f", grad, {"z"}), Code::kInvalidArgument, "UNKNOWN_ARGUMENT");
  CheckFault(Ask(mixed, "f", grad, {"x", "x"}), Code::kInvalidArgument, "DUPLICATE_ARGUMENT");
  CheckFault(Ask(mixed, "f", grad, {"n"}), Code::kInvalidArgument, "NOT_DIFFERENTIABLE");
  CheckFault(Ask("fn f(n: i64) -> f64 { return f64(n) }", "f", grad), Code::kInvalidArgument,
             "NOT_DIFFERENTIABLE");
  CheckFault(Ask("fn f(x: [n]f64) -> [n]f64 { return x }", "f", grad), Code::kInvalidArgument,
             "NOT_SCALAR");
  KernelRequest request = Ask(kText);
  request.options.opt_level = 3;
  CheckFault(request, Code::kInvalidArgument, "INVALID_OPTION");
  CheckFault(Ask(std::string((1 << 20) + 1, ' ')), Code::kInvalidArgument, "SOURCE_TOO_LARGE");
}

TEST_CASE("Only float parameters are differentiated by default") {
  Fixture t;
  const Handle handle = Ok(t.engine.Compile(
      Ask("fn f(n: i64, x: f64, p: (f32, bool)) -> f64 { return x * f64(n) + f64(p.0) }", "f",
          Transform::kValueAndGrad)));
  CHECK(handle.view->wrt == std::vector<std::string>{"x", "p"});
}

}  // namespace
}  // namespace pullback::jit
