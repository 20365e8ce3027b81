// Runs of code that the test wrote: slots, copies, budgets, stops and traps.
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "jit/runtime/context.h"
#include "tests/jit/engine/fake_backend.h"

namespace pullback::jit {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct Fixture {
  // The program gives signature and places, `entry` is what runs.
  Handle Load(const std::string& program, KernelEntry entry,
              Transform transform = Transform::kValue, std::vector<std::string> wrt = {}) {
    backend->entry = entry;
    return Ok(engine.Compile(Ask(program, "f", transform, std::move(wrt))));
  }
  std::shared_ptr<FakeBackend> backend = std::make_shared<FakeBackend>();
  Engine engine{EngineOptions(), backend};
};

void Spin(RunContext* c, const uint64_t*, uint64_t*) {
  while (c->stop.load(std::memory_order_relaxed) == 0) {
  }
  pb_stopped(c);
}

void Return(RunContext*, const uint64_t* args, uint64_t* results) { results[0] = args[0]; }

double Milliseconds(Clock::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

TEST_CASE("Scalars of every type go through their slots") {
  Fixture t;
  const Handle h = t.Load(
      "fn f(a: f64, b: f32, c: i64, d: bool) -> (f64, f32, i64, bool) { return (a, b, c, d) }",
      [](RunContext*, const uint64_t* args, uint64_t* results) {
        for (int i = 0; i < 4; ++i) results[i] = args[i];
      });
  const Outputs out = Ok(t.engine.Run(
      h, {{Scalar(2.5), Leaf(Tensor::F32(-1.5f)), Integer(-7), Leaf(Tensor::Bool(true))}, {}}));
  REQUIRE(out.value.elements.size() == 4);
  CHECK(out.value.elements[0].tensor.At<double>(0) == 2.5);
  CHECK(out.value.elements[1].tensor.At<float>(0) == -1.5f);
  CHECK(out.value.elements[2].tensor.At<int64_t>(0) == -7);
  CHECK(out.value.elements[3].tensor.At<uint8_t>(0) == 1);
  CHECK(out.value.elements[3].tensor.data.size() == 1);
  CHECK(out.derivatives.empty());
  CHECK(out.peak_bytes == 0);
}

TEST_CASE("Arrays are read where they lie and copied out once") {
  Fixture t;
  static const void* seen;
  const Handle h = t.Load("fn f(x: [n]f64) -> [n]f64 { return x }",
                          [](RunContext*, const uint64_t* args, uint64_t* results) {
                            auto* a = reinterpret_cast<Array*>(args[0]);
                            seen = a->data;
                            if (a->refs < kPinned || a->dims[0] != 3 || a->bytes != 24) return;
                            results[0] = args[0];
                          });
  const Inputs inputs{{Vector({1, 2, 3})}, {}};
  const Outputs out = Ok(t.engine.Run(h, inputs));
  CHECK(seen == inputs.args[0].tensor.data.data());
  CHECK(Doubles(out.value) == std::vector<double>{1, 2, 3});
  CHECK(out.peak_bytes == 24);
  CHECK(Doubles(Ok(t.engine.Run(h, {{Vector({4, 5, 6})}, {}})).value) ==
        std::vector<double>{4, 5, 6});
}

// An array of n elements of 8 bytes, each result slot a reference to it.
void Same(RunContext* c, const uint64_t* args, uint64_t* results) {
  const int64_t n = static_cast<int64_t>(args[0]);
  Array* a = pb_alloc(c, 0, 8, 1, &n, 1);
  a->refs = 2;
  results[0] = results[1] = reinterpret_cast<uint64_t>(a);
}

TEST_CASE("Copies of results are charged too") {
  Fixture t;
  const Handle h = t.Load("fn f(n: i64) -> ([n]f64, [n]f64) { return (zeros(n), zeros(n)) }", Same);
  RunLimits limits;
  limits.memory_bytes = 100000;
  const Outputs out = Ok(t.engine.Run(h, {{Integer(1000)}, {}}, limits));
  CHECK(out.value.elements[1].tensor.data.size() == 8000);
  CHECK(out.peak_bytes >= 24000);
  const Status s = t.engine.Run(h, {{Integer(5000)}, {}}, limits).status();
  CHECK(s.code() == Code::kResourceExhausted);
  CHECK(s.reason() == "MEMORY_BUDGET");
  const Status t2 = t.engine.Run(h, {{Integer(1000000)}, {}}, limits).status();
  CHECK(t2.reason() == "MEMORY_BUDGET");
  CHECK(t.engine.Run(h, {{Integer(1000)}, {}}, limits).ok());
}

TEST_CASE("Derivatives come in the order of wrt; what holds no floats is an empty tuple") {
  Fixture t;
  // value, then d a, d p.0, d p.2 in the order of the parameters.
  const Handle h = t.Load("fn f(a: f64, p: (f64, i64, f32)) -> f64 { return a * p.0 + f64(p.2) }",
                          [](RunContext*, const uint64_t*, uint64_t* results) {
                            const double d[] = {1, 2, 3};
                            std::memcpy(results, d, sizeof(d));
                            const float f = 4;
                            std::memcpy(&results[3], &f, sizeof(f));
                          },
                          Transform::kValueAndGrad, {"p", "a"});
  CHECK(h.view->wrt == std::vector<std::string>{"p", "a"});
  const Outputs out =
      Ok(t.engine.Run(h, {{Scalar(0), Tuple({Scalar(0), Integer(0), Leaf(Tensor::F32(0))})}, {}}));
  REQUIRE(out.derivatives.size() == 2);
  const std::vector<ApiValue>& p = out.derivatives[0].elements;
  REQUIRE(p.size() == 3);
  CHECK(p[0].tensor.At<double>(0) == 3);
  CHECK((p[1].is_tuple && p[1].elements.empty()));
  CHECK(p[2].tensor.At<float>(0) == 4);
  CHECK(out.derivatives[1].tensor.At<double>(0) == 2);
}

TEST_CASE("Seeds of jvp are given in the order of wrt and taken in that of the parameters") {
  Fixture t;
  const Handle h = t.Load("fn f(a: f64, b: f64) -> f64 { return a * b }",
                          [](RunContext*, const uint64_t* args, uint64_t* results) {
                            results[0] = args[2];
                            results[1] = args[3];
                          },
                          Transform::kJvp, {"b", "a"});
  const Outputs out = Ok(t.engine.Run(h, {{Scalar(0), Scalar(0)}, {Scalar(20), Scalar(10)}}));
  CHECK(out.value.tensor.At<double>(0) == 10);  // of a
  REQUIRE(out.derivatives.size() == 1);
  CHECK(out.derivatives[0].tensor.At<double>(0) == 20);
}

TEST_CASE("A deadline stops a running kernel within milliseconds") {
  Fixture t;
  const Handle h = t.Load("fn f(x: f64) -> f64 { return x }", Spin);
  for (const auto wait : {0ms, 1ms, 30ms}) {
    RunLimits limits;
    limits.deadline = Clock::now() + wait;
    const Status s = t.engine.Run(h, {{Scalar(1)}, {}}, limits).status();
    CHECK(s.code() == Code::kDeadlineExceeded);
    CHECK(s.reason() == "DEADLINE_EXCEEDED");
    CHECK(Milliseconds(Clock::now() - *limits.deadline) < 100);
  }
}

TEST_CASE("A cancellation stops a running kernel, also after the watchdog has slept") {
  Fixture t;
  const Handle h = t.Load("fn f(x: f64) -> f64 { return x }", Spin);
  for (const auto idle : {0ms, 400ms}) {
    std::this_thread::sleep_for(idle);
    RunLimits limits;
    limits.cancelled = std::make_shared<std::atomic<bool>>(false);
    Clock::time_point at;
    std::thread canceller([&] {
      std::this_thread::sleep_for(10ms);
      at = Clock::now();
      *limits.cancelled = true;
    });
    const Status s = t.engine.Run(h, {{Scalar(1)}, {}}, limits).status();
    const Clock::time_point end = Clock::now();
    canceller.join();
    CHECK(s.code() == Code::kCancelled);
    CHECK(s.reason() == "CANCELLED");
    CHECK(Milliseconds(end - at) < 100);
  }
}

TEST_CASE("A deadline of one run does not reach the next on the same thread") {
  Fixture t;
  const Handle h =
      t.Load("fn f(x: f64) -> f64 { return x }", [](RunContext* c, const uint64_t*, uint64_t* r) {
        const auto end = Clock::now() + 3ms;
        while (Clock::now() < end) {
          if (c->stop.load() != 0) pb_stopped(c);
        }
        r[0] = 0;
      });
  for (int i = 0; i < 20; ++i) {
    RunLimits limits;
    limits.deadline = Clock::now() + 2ms + std::chrono::microseconds(100 * i);
    (void)t.engine.Run(h, {{Scalar(1)}, {}}, limits);
    CHECK(t.engine.Run(h, {{Scalar(1)}, {}}).ok());
  }
}

TEST_CASE("What is already late or cancelled does not start") {
  Fixture t;
  const Handle h = t.Load("fn f(x: f64) -> f64 { return x }",
                          [](RunContext*, const uint64_t*, uint64_t*) { std::abort(); });
  RunLimits limits;
  limits.deadline = Clock::now() - 1ms;
  CHECK(t.engine.Run(h, {{Scalar(1)}, {}}, limits).status().code() == Code::kDeadlineExceeded);
  limits = {};
  limits.cancelled = std::make_shared<std::atomic<bool>>(true);
  CHECK(t.engine.Run(h, {{Scalar(1)}, {}}, limits).status().code() == Code::kCancelled);
}

TEST_CASE("Many threads run one kernel, each with its own limits") {
  Fixture t;
  const Handle h = t.Load("fn f(x: f64) -> f64 { return x }", Return);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 2000; ++k) {
        RunLimits limits;
        limits.deadline = Clock::now() + 10s;
        limits.cancelled = std::make_shared<std::atomic<bool>>(false);
        const StatusOr<Outputs> out = t.engine.Run(h, {{Scalar(i * 10000 + k)}, {}}, limits);
        if (!out.ok() || out->value.tensor.At<double>(0) != i * 10000 + k) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

template <ir::TrapKind kind, int64_t a = 0, int64_t b = 0, uint32_t loc = 3>
void Trapping(RunContext* c, const uint64_t*, uint64_t*) {
  const int64_t n = 10;
  pb_alloc(c, 0, 8, 1, &n, 1);
  pb_trap(c, static_cast<int32_t>(kind), loc, a, b);
}

TEST_CASE("Traps become errors at the place in the text that was sent") {
  using K = ir::TrapKind;
  struct Case {
    KernelEntry entry;
    Code code;
    const char* reason;
    const char* message;
  };
  const Case cases[] = {
      {Trapping<K::kIndex, 5, 3>, Code::kOutOfRange, "INDEX_OUT_OF_RANGE",
       "index 5 is out of range for an axis of size 3"},
      {Trapping<K::kDivideByZero>, Code::kFailedPrecondition, "DIVISION_BY_ZERO",
       "integer division by zero"},
      {Trapping<K::kNegativeSize, -2>, Code::kFailedPrecondition, "NEGATIVE_SIZE",
       "a size of -2 is negative"},
      {Trapping<K::kSizeMismatch, 3, 4>, Code::kFailedPrecondition, "SIZE_MISMATCH",
       "sizes 3 and 4 differ"},
      {Trapping<K::kDepth>, Code::kResourceExhausted, "RECURSION_LIMIT",
       "calls are nested deeper than the recursion limit"},
      {Trapping<K::kMemory, 80, 40>, Code::kResourceExhausted, "MEMORY_BUDGET",
       "asked for 80 bytes, over the memory budget of 40"},
  };
  for (const Case& c : cases) {
    Fixture t;
    const Handle h = t.Load("fn f(x: f64) -> f64 {\n  return x * x\n}\n", c.entry);
    const Status s = t.engine.Run(h, {{Scalar(1)}, {}}).status();
    CHECK(s.code() == c.code);
    CHECK(s.reason() == c.reason);
    CHECK(s.message() == c.message);
    REQUIRE(s.diagnostics().size() == 1);
    CHECK(s.diagnostics()[0].message == c.message);
    CHECK(s.diagnostics()[0].span.line == 2);
    CHECK(s.diagnostics()[0].span.column == 10);
    CHECK(s.diagnostics()[0].excerpt == "  return x * x\n         ^^^^^");
    // Another text of the same kernel has it elsewhere.
    const Handle other =
        Ok(t.engine.Compile(Ask("# one\n# two\nfn f(y: f64) -> f64 { return y*y }")));
    REQUIRE(other.kernel == h.kernel);
    const Status o = t.engine.Run(other, {{Scalar(1)}, {}}).status();
    REQUIRE(o.diagnostics().size() == 1);
    CHECK(o.diagnostics()[0].span.line == 3);
    CHECK(o.diagnostics()[0].excerpt.substr(0, 5) == "fn f(");
  }
}

TEST_CASE("A trap without a place, or with one that is not of this text, has no diagnostic") {
  Fixture t;
  const Handle h =
      t.Load("fn f(x: f64) -> f64 { return x }", Trapping<ir::TrapKind::kDivideByZero, 0, 0, 0>);
  CHECK(t.engine.Run(h, {{Scalar(1)}, {}}).status().diagnostics().empty());
  Fixture u;
  const Handle g = u.Load("fn f(x: f64) -> f64 { return x }",
                          Trapping<ir::TrapKind::kDivideByZero, 0, 0, 1000000>);
  CHECK(u.engine.Run(g, {{Scalar(1)}, {}}).status().diagnostics().empty());
}

}  // namespace
}  // namespace pullback::jit
