// SIGTERM drains: what runs is answered, what comes is refused, the process ends with 0.
#include <catch2/catch.hpp>

#include <csignal>
#include <thread>

#include "tests/server/process.h"
#include "tests/server/programs.h"

namespace pullback::test {
namespace {

using client::Arg;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

client::Inputs One() { return Args({Arg("x", Tensor::F64(1))}); }

TEST_CASE("an idle server ends at once") {
  for (int signal : {SIGTERM, SIGINT}) {
    ServerProcess server;
    const auto begin = steady_clock::now();
    server.Signal(signal);
    CHECK(server.Wait() == 0);
    CHECK(MillisecondsSince(begin) < 3000);
    const std::string log = server.log();
    CHECK(log.find("draining") != std::string::npos);
    CHECK(log.find("stopped") != std::string::npos);
  }
}

TEST_CASE("SIGTERM lets a running request finish, refuses new ones, and exits 0") {
  ServerProcess server;
  auto client = server.Connect();
  // In one tier: the probe's speed must be that of the run.
  auto spec = Spec(kPow, "pow");
  spec.tier = client::Tier::kLlvm;
  auto kernel = client->Compile(spec);
  REQUIRE(kernel.ok());
  // How many steps take about 1.5 s here, on a machine that may have been busy while it was asked.
  auto begin = steady_clock::now();
  constexpr int64_t kProbe = 20000000;
  REQUIRE(client->Evaluate(*kernel, PowInputs(1, kProbe)).ok());
  const auto steps =
      static_cast<int64_t>(kProbe * (1500 / std::max(1.0, MillisecondsSince(begin))));

  StatusOr<client::Evaluation> result = Status(Code::kInternal, "", "did not run");
  std::thread running([&] { result = client->Evaluate(*kernel, PowInputs(1, steps)); });
  std::this_thread::sleep_for(milliseconds(150));
  server.Signal(SIGTERM);
  std::this_thread::sleep_for(milliseconds(100));
  auto refused = client->Evaluate(*kernel, PowInputs(2, 3));
  running.join();
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  CHECK(Scalar(result->value) == 1);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.status().code() == Code::kUnavailable);
  CHECK(refused.status().reason() == "DRAINING");
  CHECK(server.Wait() == 0);
}

TEST_CASE("a run that outlasts the drain timeout is cancelled") {
  ServerProcess server({"--drain-timeout", "200ms"});
  auto client = server.Connect();
  auto kernel = client->Compile(Spec(kSpin, "spin"));
  REQUIRE(kernel.ok());
  std::thread running([&] { CHECK_FALSE(client->Evaluate(*kernel, One()).ok()); });
  std::this_thread::sleep_for(milliseconds(100));
  const auto begin = steady_clock::now();
  server.Signal(SIGTERM);
  CHECK(server.Wait() == 0);
  CHECK(MillisecondsSince(begin) < 4000);
  running.join();
}

TEST_CASE("an open stream is answered and then ended with UNAVAILABLE") {
  ServerProcess server;
  auto client = server.Connect();
  auto kernel = client->Compile(PowGradient());
  REQUIRE(kernel.ok());
  auto stream = client->OpenStream();
  REQUIRE(stream->Send(1, *kernel, PowInputs(2, 3)));
  auto answer = stream->Receive();
  REQUIRE(answer);
  CHECK(answer->result.ok());
  server.Signal(SIGTERM);
  CHECK_FALSE(stream->Receive());
  const Status end = stream->Finish();
  CHECK(end.code() == Code::kUnavailable);
  CHECK(end.reason() == "DRAINING");
  CHECK(server.Wait() == 0);
}

TEST_CASE("a second signal ends a server that drains") {
  ServerProcess server;
  auto client = server.Connect();
  auto kernel = client->Compile(Spec(kSpin, "spin"));
  REQUIRE(kernel.ok());
  std::thread running([&] { CHECK_FALSE(client->Evaluate(*kernel, One()).ok()); });
  std::this_thread::sleep_for(milliseconds(100));
  server.Signal(SIGTERM);
  std::this_thread::sleep_for(milliseconds(100));
  CHECK(server.alive());
  server.Signal(SIGTERM);
  CHECK(server.Wait(std::chrono::seconds(5)) == 1);
  running.join();
}

}  // namespace
}  // namespace pullback::test
