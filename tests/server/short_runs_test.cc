// Runs that are expected to be short are done on gRPC's threads; those that turn out long move to the pool.
#include "server/short_runs.h"

#include <catch2/catch.hpp>

#include <csignal>
#include <thread>

#include "server/busy_time.h"
#include "tests/server/exposition.h"
#include "tests/server/http_get.h"
#include "tests/server/process.h"
#include "tests/server/programs.h"

namespace pullback::test {
namespace {

using client::Arg;
using std::chrono::milliseconds;

constexpr int64_t kLong = 20000000;  // steps of pow: tens of milliseconds

// A server with one kernel, and what it says of where that has run.
struct Fixture {
  explicit Fixture(const client::KernelSpec& spec, std::vector<std::string> flags = {})
      : server([&] {
          flags.insert(flags.end(), {"--http-port", "0"});
          return flags;
        }()),
        client(server.Connect()),
        kernel(client->Compile(spec).value()) {}

  double Count(const std::string& name) const {
    const HttpAnswer answer = HttpGet(server.http_address(), "/metrics");
    return ReadExposition(answer.body).values.at("pullback_" + name);
  }
  double here() const { return Count(R"(runs_total{thread="grpc"})"); }
  double pool() const { return Count(R"(runs_total{thread="pool"})"); }
  double overruns() const { return Count("overruns_total"); }

  // Asks until answers come from gRPC's threads, which a busy machine puts off: its runs are not short.
  void Trust(const client::Inputs& inputs) {
    const double before = here();
    for (int i = 0; i < 500 && here() == before; ++i) {
      for (int k = 0; k < 50; ++k) REQUIRE(client->Evaluate(kernel, inputs).ok());
    }
    REQUIRE(here() > before);
  }
  // The answer to `odd`, from a run that was begun on a thread of gRPC's.
  StatusOr<client::Evaluation> Surprise(const client::Inputs& usual, const client::Inputs& odd,
                                        const client::CallOptions& call = {}) {
    for (int i = 0; i < 6; ++i) {
      Trust(usual);
      const double before = here() + overruns();
      auto result = client->Evaluate(kernel, odd, call);
      if (here() + overruns() > before) return result;
    }
    return Status(Code::kInternal, "", "always in the pool");
  }

  ServerProcess server;
  std::unique_ptr<client::Client> client;
  client::Compiled kernel;
};

TEST_CASE("short runs are answered without the pool, each counted once") {
  Fixture f(PowGradient());
  constexpr int kRuns = 300;
  for (int i = 1; i <= kRuns; ++i) {
    auto result = f.client->Evaluate(f.kernel, PowInputs(i, 2));
    REQUIRE(result.ok());
    CHECK(Scalar(result->derivatives[0].value) == 2.0 * i);
  }
  CHECK(f.here() + f.pool() == kRuns);
  CHECK(f.pool() >= 8);  // until it is trusted
  CHECK(f.Count(R"(rpc_requests_total{code="OK",method="Evaluate"})") == kRuns);
  CHECK(f.Count("execute_duration_seconds_count") == kRuns);
  CHECK(f.Count("queue_duration_seconds_count") == kRuns + 1);  // and Compile
  f.Trust(PowInputs(1, 2));
}

TEST_CASE("a long run after short ones moves to the pool and is answered right") {
  Fixture f(PowGradient());
  const auto result = f.Surprise(PowInputs(1, 2), PowInputs(1, kLong / 10));
  REQUIRE(result.ok());
  CHECK(Scalar(result->derivatives[0].value) == kLong / 10);
  CHECK(f.overruns() >= 1);
  // Runs are counted where they ended, answers once.
  CHECK(f.here() + f.pool() == f.Count(R"(rpc_requests_total{code="OK",method="Evaluate"})"));
  CHECK(f.Count("execute_duration_seconds_count") == f.here() + f.pool());
}

TEST_CASE("a kernel that is short twenty times and then long gets gRPC's threads once") {
  Fixture f(Spec(kPow, "pow"));
  double stopped = 0;
  for (int round = 0; round < 30; ++round) {
    for (int i = 0; i < 20; ++i) REQUIRE(f.client->Evaluate(f.kernel, PowInputs(1, 2)).ok());
    const double before = f.overruns();
    REQUIRE(f.client->Evaluate(f.kernel, PowInputs(1, kLong / 10)).ok());
    stopped += f.overruns() - before;
  }
  CHECK(stopped <= 1);
  CHECK(f.here() > 0);
}

TEST_CASE("kernels that take relations run in the pool: a number says how much is made of one") {
  Fixture f(
      Spec("fn f(e: rel[n, m], x: f64) -> f64 {\n"
           "  return x * sum i < n, j < m { [e(i, j)] * 1.0 }\n}",
           "f"));
  const auto of = [](int64_t rows) {
    ApiValue relation;
    relation.is_tuple = true;
    for (const std::vector<int64_t>& part : {std::vector<int64_t>{rows, 3}, {0}, {2}}) {
      relation.elements.emplace_back();
      relation.elements.back().tensor =
          Tensor::Of<int64_t>(DType::kI64, {static_cast<int64_t>(part.size())}, part);
    }
    return Args({Arg("e", std::move(relation)), Arg("x", Tensor::F64(2))});
  };
  for (int i = 0; i < 300; ++i) {
    const auto result = f.client->Evaluate(f.kernel, of(3));
    REQUIRE(result.ok());
    CHECK(Scalar(result->value) == 2);
  }
  CHECK(f.client->Evaluate(f.kernel, of(1000000)).ok());
  CHECK(f.here() == 0);
  CHECK(f.pool() == 301);
}

TEST_CASE("traps, budgets and depths end runs on gRPC's threads as they do in the pool") {
  SECTION("trap") {
    Fixture f(Spec(kAt, "at"));
    const auto at = [](int64_t i) {
      return Args({Arg("x", Vector({1, 2, 3})), Arg("i", Tensor::I64(i))});
    };
    const auto result = f.Surprise(at(1), at(9));
    REQUIRE_FALSE(result.ok());
    CHECK(result.status().reason() == "INDEX_OUT_OF_RANGE");
    REQUIRE(result.status().diagnostics().size() == 1);
    CHECK(result.status().diagnostics()[0].span.line == 2);
    CHECK(f.overruns() == 0);
    CHECK(f.client->Evaluate(f.kernel, at(9)).status().reason() == "INDEX_OUT_OF_RANGE");
  }
  SECTION("memory") {
    Fixture f(
        Spec("fn big(n: i64) -> f64 {\n  var a = gen k < n { 1.0 }\n  a[0] = 2.0\n  return a[0]\n}",
             "big"));
    const auto of = [](int64_t n) { return Args({Arg("n", Tensor::I64(n))}); };
    const auto result = f.Surprise(of(10), of(int64_t{1} << 40));
    REQUIRE_FALSE(result.ok());
    CHECK(result.status().reason() == "MEMORY_BUDGET");
    const auto with_little = [&](int64_t n) {
      client::Inputs inputs = of(n);
      inputs.memory_bytes = 4096;
      return inputs;
    };
    CHECK(f.Surprise(with_little(10), with_little(100000)).status().reason() == "MEMORY_BUDGET");
  }
  SECTION("depth") {
    Fixture f(Spec("fn down(n: i64) -> i64 { return if n < 1 { 0 } else { 1 + down(n - 1) * n } }",
                   "down"));
    const auto of = [](int64_t n, int32_t depth) {
      client::Inputs inputs = Args({Arg("n", Tensor::I64(n))});
      inputs.max_depth = depth;
      return inputs;
    };
    CHECK(f.Surprise(of(3, 20), of(90, 20)).status().reason() == "RECURSION_LIMIT");
  }
}

TEST_CASE("a deadline ends a run that has moved to the pool") {
  Fixture f(Spec(kPow, "pow"), {"--threads", "1"});
  client::CallOptions call;
  call.timeout = milliseconds(100);
  const auto begin = std::chrono::steady_clock::now();
  const auto result = f.Surprise(PowInputs(1, 2), PowInputs(1, INT64_MAX), call);
  CHECK(result.status().reason() == "DEADLINE_EXCEEDED");
  CHECK(MillisecondsSince(begin) >= 95);
  CHECK(f.client->Evaluate(f.kernel, PowInputs(2, 3)).ok());
}

TEST_CASE("cancelling ends a run that has moved to the pool") {
  Fixture f(Spec(kPow, "pow"), {"--threads", "1"});
  f.Trust(PowInputs(1, 2));
  client::CancelToken token;
  client::CallOptions call;
  call.cancel = &token;
  std::thread canceller([&] {
    std::this_thread::sleep_for(milliseconds(100));
    token.Cancel();
  });
  const auto result = f.client->Evaluate(f.kernel, PowInputs(1, INT64_MAX), call);
  canceller.join();
  CHECK(result.status().code() == Code::kCancelled);
  CHECK(f.client->Evaluate(f.kernel, PowInputs(2, 3)).ok());
}

TEST_CASE("draining waits for a run that has moved to the pool") {
  Fixture f(Spec(kPow, "pow"));
  f.Trust(PowInputs(1, 2));
  StatusOr<client::Evaluation> result = Status(Code::kInternal, "", "did not run");
  std::thread running([&] { result = f.client->Evaluate(f.kernel, PowInputs(1, 30 * kLong)); });
  std::this_thread::sleep_for(milliseconds(100));
  f.server.Signal(SIGTERM);
  running.join();
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  CHECK(Scalar(result->value) == 1);
  CHECK(f.server.Wait() == 0);
}

TEST_CASE("what waits in the pool is not overtaken") {
  Fixture f(Spec(kPow, "pow"), {"--threads", "1", "--queue", "1"});
  auto spin = f.client->Compile(Spec(kSpin, "spin"));
  REQUIRE(spin.ok());
  f.Trust(PowInputs(1, 2));
  auto stream = f.client->OpenStream();
  uint64_t id = 0;
  for (const char* where : {"running", "queued"}) {
    REQUIRE(stream->Send(++id, *spin, Args({Arg("x", Tensor::F64(1))})));
    const std::string gauge = std::string("requests_") + where + R"({pool="run"})";
    for (int i = 0; i < 2000 && f.Count(gauge) == 0; ++i)
      std::this_thread::sleep_for(milliseconds(5));
    REQUIRE(f.Count(gauge) == 1);
  }
  CHECK(f.client->Evaluate(f.kernel, PowInputs(1, 2)).status().reason() == "QUEUE_FULL");
}

TEST_CASE("items of a stream: short ones without the pool, a long one among them by it") {
  Fixture f(PowGradient());
  f.Trust(PowInputs(1, 2));
  const double before = f.here();
  auto stream = f.client->OpenStream();
  constexpr uint64_t kItems = 400;
  for (uint64_t id = 1; id <= kItems; ++id) {
    const int64_t steps = id % 100 == 0 ? kLong / 10 : 2;
    REQUIRE(stream->Send(id, f.kernel, PowInputs(1, steps)));
    const auto answer = stream->Receive();
    REQUIRE(answer);
    CHECK(answer->id == id);
    REQUIRE(answer->result.ok());
    CHECK(Scalar(answer->result->derivatives[0].value) == static_cast<double>(steps));
  }
  stream->CloseSend();
  CHECK_FALSE(stream->Receive());
  CHECK(stream->Finish().ok());
  CHECK(f.here() > before);
  CHECK(f.here() + f.pool() ==
        f.Count(R"(rpc_requests_total{code="OK",method="Evaluate"})") + kItems);
}

TEST_CASE("after a mistake nothing is tried on gRPC's threads for a while") {
  server::ShortRuns runs;
  const server::Clock::time_point now{std::chrono::hours(1)};
  CHECK_FALSE(runs.Paused(now));
  runs.CountOverrun();
  CHECK_FALSE(runs.Paused(now));
  runs.Pause(now);
  CHECK(runs.Paused(now));
  CHECK(runs.Paused(now + server::ShortRuns::kPause / 2));
  CHECK_FALSE(runs.Paused(now + server::ShortRuns::kPause));
  CHECK(runs.counts().overruns == 1);
}

TEST_CASE("time that a thread spends waiting is not its own") {
  const server::BusyTime time;
  constexpr milliseconds kSlept{50};
  std::this_thread::sleep_for(kSlept);
  CHECK(time.busy() < kSlept);
  const auto begin = server::Clock::now();
  volatile int work = 0;
  for (int i = 0; i < 100000; ++i) work = work + i;
  CHECK(time.busy() > std::chrono::nanoseconds(0));
  CHECK(time.busy() - kSlept < server::Clock::now() - begin);
}

TEST_CASE("a pool has room until more wait than threads are free") {
  struct Blocked final : server::Job {
    void Run() override {
      begun = true;
      while (!ends) std::this_thread::sleep_for(milliseconds(1));
      ended = true;
    }
    std::atomic<bool> begun{false}, ends{false}, ended{false};
  };
  Blocked first, second;
  server::Pool pool("test", 1, 4, 1000);
  CHECK(pool.has_room());
  REQUIRE(pool.Submit(&first, 1));
  while (!first.begun) std::this_thread::sleep_for(milliseconds(1));
  CHECK(pool.has_room());  // nobody waits
  REQUIRE(pool.Submit(&second, 1));
  CHECK_FALSE(pool.has_room());
  {
    const server::Pool::Guest guest(&pool);
    CHECK(pool.running() == 2);
  }
  first.ends = second.ends = true;
  while (!second.ended) std::this_thread::sleep_for(milliseconds(1));
  CHECK(pool.has_room());
}

TEST_CASE("only small messages are looked at on gRPC's threads") {
  const server::Pool pool("test", 1, 1, 1);
  CHECK(server::ShortRuns::WorthTrying(pool, server::ShortRuns::kMostBytes));
  CHECK_FALSE(server::ShortRuns::WorthTrying(pool, server::ShortRuns::kMostBytes + 1));
}

}  // namespace
}  // namespace pullback::test
