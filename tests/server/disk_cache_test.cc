// A server that is killed and starts again on the same folder.
#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "tests/server/process.h"
#include "tests/server/programs.h"

namespace pullback::test {
namespace {

using client::Arg;
using client::Transform;

struct Folder {
  Folder() {
    char name[] = "/tmp/pullback-server-cache-XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

// x^2 * k, by LLVM from the start: written to the disk at once.
client::KernelSpec Square(int k) {
  auto spec = Spec("fn f(x: f64) -> f64 { return x * x * " + std::to_string(k) + ".0 }", "f",
                   Transform::kValueAndGrad);
  spec.tier = client::Tier::kLlvm;
  return spec;
}

bool Answers(client::Client& client, int k) {
  const auto result = client.Evaluate(Square(k), Args({Arg("x", Tensor::F64(3))}));
  return result.ok() && Scalar(result->value) == 9 * k &&
         Scalar(result->derivatives[0].value) == 6 * k;
}

TEST_CASE("a server that starts again answers from the disk") {
  const Folder folder;
  {
    ServerProcess server({"--cache-dir", folder.path});
    auto client = server.Connect();
    for (int k = 1; k <= 5; ++k) CHECK(Answers(*client, k));
    const auto written = [&] {
      const auto info = client->Info();
      return info.ok() && info->disk_entries == 5;
    };
    for (int i = 0; i < 5000 && !written(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    REQUIRE(written());
    server.Signal(SIGKILL);
  }
  ServerProcess server({"--cache-dir", folder.path});
  auto client = server.Connect();
  for (int k = 1; k <= 5; ++k) CHECK(Answers(*client, k));
  const auto info = client->Info();
  REQUIRE(info.ok());
  CHECK(info->disk_hits == 5);
  CHECK(info->disk_damaged == 0);
  CHECK(info->disk_failed_writes == 0);
}

TEST_CASE("a folder that cannot be used keeps a server from starting") {
  const Output output = RunPullbackd({"--cache-dir", "/proc/nothing", "--grpc-port", "0"});
  CHECK(output.exit_code == 1);
  CHECK(output.text.find("CACHE_DIR") != std::string::npos);
}

// PULLBACK_KILLS rounds (10): each is killed in the middle of compiling and writing; the next starts, and
// what it answers is right.
TEST_CASE("kill -9 while a server writes: right answers, and it starts again") {
  const char* asked = std::getenv("PULLBACK_KILLS");
  const int rounds = asked == nullptr ? 10 : std::atoi(asked);
  const Folder folder;
  for (int round = 0; round < rounds; ++round) {
    ServerProcess server({"--cache-dir", folder.path});
    auto client = server.Connect();
    const auto first = client->Info();
    REQUIRE(first.ok());
    std::thread killer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5 + round * 13 % 120));
      server.Signal(SIGKILL);
    });
    bool wrong = false;
    for (int k = 0; k < 1000; ++k) {
      const int n = (round * 3 + k) % 60 + 1;
      const auto result = client->Evaluate(Square(n), Args({Arg("x", Tensor::F64(3))}));
      if (!result.ok()) break;  // killed
      wrong = wrong || Scalar(result->value) != 9 * n;
    }
    killer.join();
    REQUIRE_FALSE(wrong);
  }
  ServerProcess server({"--cache-dir", folder.path});
  auto client = server.Connect();
  for (int k = 1; k <= 60; ++k) REQUIRE(Answers(*client, k));
  const auto info = client->Info();
  REQUIRE(info.ok());
  CHECK(info->disk_hits > 0);
  CHECK(info->disk_damaged == 0);
}

}  // namespace
}  // namespace pullback::test
