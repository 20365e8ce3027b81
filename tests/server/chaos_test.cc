// Many clients that submit, cancel, half-close and vanish at random. Afterwards the server has nothing
// left to do, answers as ever, and drains to 0. The seed is printed by Catch2 (--rng-seed).
#include <catch2/catch.hpp>

#include <csignal>
#include <random>
#include <thread>

#include "tests/server/process.h"
#include "tests/server/programs.h"

namespace pullback::test {
namespace {

using client::Arg;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr double kMilliseconds = 2500;

struct Kernels {
  client::Compiled pow, spin, at;
};

// One client's behaviour: what it does next is drawn from its own random numbers.
class Chaot {
 public:
  Chaot(ServerProcess* server, const Kernels* kernels, uint32_t seed)
      : client_(server->Connect()), kernels_(kernels), random_(seed) {}

  void Act() {
    switch (Draw(6)) {
      case 0: return Stream();
      case 1: return Cancelled();
      case 2: return Deadline();
      case 3: return Compile();
      default: return Evaluate();
    }
  }
  int wrong() const { return wrong_; }

 private:
  int Draw(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }

  static client::Inputs One() { return Args({Arg("x", Tensor::F64(1))}); }

  void Evaluate() {
    auto result = client_->Evaluate(kernels_->pow, PowInputs(3, 2));
    const bool right = result.ok() ? Scalar(result->derivatives[0].value) == 6
                                   : result.status().reason() == "QUEUE_FULL";
    wrong_ += right ? 0 : 1;
  }

  void Compile() {
    const std::string program =
        "fn f(x: f64) -> f64 { return x * " + std::to_string(Draw(1000)) + ".5 }";
    wrong_ += client_->Compile(Spec(program, "f")).ok() ? 0 : 1;
    wrong_ += client_->Compile(Spec(program + "}", "f")).ok() ? 1 : 0;
  }

  void Deadline() {
    client::CallOptions call;
    call.timeout = milliseconds(1 + Draw(20));
    wrong_ += client_->Evaluate(kernels_->spin, One(), call).ok() ? 1 : 0;
  }

  void Cancelled() {
    client::CancelToken token;
    client::CallOptions call;
    call.cancel = &token;
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(Draw(5000)));
      token.Cancel();
    });
    wrong_ += client_->Evaluate(kernels_->spin, One(), call).ok() ? 1 : 0;
    canceller.join();
  }

  // Sends some, receives some, and leaves in one of three ways.
  void Stream() {
    auto stream = client_->OpenStream();
    const int items = Draw(40);
    for (int id = 1; id <= items; ++id) SendOne(stream.get(), static_cast<uint64_t>(id));
    const int way = Draw(3);
    if (way == 0) return;  // vanishes
    for (int i = 0, most = Draw(items + 1); i < most; ++i) stream->Receive();
    if (way == 1) return;  // vanishes with answers unread
    stream->CloseSend();
    while (stream->Receive()) {
    }
    wrong_ += stream->Finish().ok() ? 0 : 1;
  }

  void SendOne(client::EvaluateStream* stream, uint64_t id) {
    const client::Inputs out_of_range = Args({Arg("x", Vector({1, 2})), Arg("i", Tensor::I64(2))});
    switch (Draw(4)) {
      case 0: stream->Send(id, kernels_->spin, One(), milliseconds(1 + Draw(10))); break;
      case 1: stream->Send(id, kernels_->at, out_of_range); break;
      case 2: stream->Send(id, PowGradient(), PowInputs(2, 5)); break;
      default: stream->Send(id, kernels_->pow, PowInputs(2, 5)); break;
    }
  }

  std::unique_ptr<client::Client> client_;
  const Kernels* kernels_;
  std::mt19937 random_;
  int wrong_ = 0;
};

TEST_CASE("chaos leaves nothing behind") {
  ServerProcess server({"--threads", "3", "--queue", "64", "--stream-window", "8"});
  auto client = server.Connect();
  const auto compile = [&](const client::KernelSpec& spec) {
    auto kernel = client->Compile(spec);
    REQUIRE(kernel.ok());
    return std::move(kernel).value();
  };
  const Kernels kernels{compile(PowGradient()), compile(Spec(kSpin, "spin")),
                        compile(Spec(kAt, "at"))};
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (uint32_t i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      Chaot chaot(&server, &kernels, Catch::rngSeed() + i);
      const auto begin = steady_clock::now();
      while (MillisecondsSince(begin) < kMilliseconds) chaot.Act();
      wrong += chaot.wrong();
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);

  const auto begin = steady_clock::now();
  auto info = client->Info();
  while (info.ok() && info->running + info->queued > 0 && MillisecondsSince(begin) < 5000) {
    std::this_thread::sleep_for(milliseconds(5));
    info = client->Info();
  }
  REQUIRE(info.ok());
  CHECK(info->running == 0);
  CHECK(info->queued == 0);
  CHECK(client->Evaluate(kernels.pow, PowInputs(2, 3)).ok());
  server.Signal(SIGTERM);
  CHECK(server.Wait() == 0);
}

}  // namespace
}  // namespace pullback::test
