// Load on servers that misbehave by plan: what is measured, and that nothing is lost or hidden.
#include "client/load/load.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <catch2/catch.hpp>

#include <chrono>
#include <mutex>
#include <thread>

#include "client/client.h"
#include "client/load/prepare.h"
#include "pullback/v1/service.grpc.pb.h"
#include "tests/client/cli.h"

namespace pullback::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Answers at once, but for one stall, during which nobody is answered.
class Stalling final : public v1::GradientService::Service {
 public:
  Stalling(milliseconds after, milliseconds stall)
      : begin_(steady_clock::now() + after), stall_(stall) {}

  grpc::Status Evaluate(grpc::ServerContext*, const v1::EvaluateRequest*,
                        v1::EvaluateResponse*) override {
    std::lock_guard lock(mutex_);
    if (!stalled_ && steady_clock::now() >= begin_) {
      stalled_ = true;
      std::this_thread::sleep_for(stall_);
    }
    return grpc::Status::OK;
  }

 private:
  const steady_clock::time_point begin_;
  const milliseconds stall_;
  std::mutex mutex_;
  bool stalled_ = false;
};

// Every tenth request fails.
class Failing final : public v1::GradientService::Service {
 public:
  grpc::Status Evaluate(grpc::ServerContext*, const v1::EvaluateRequest*,
                        v1::EvaluateResponse*) override {
    return ++count_ % 10 == 0 ? grpc::Status(grpc::StatusCode::OUT_OF_RANGE, "no")
                              : grpc::Status::OK;
  }
  std::atomic<int64_t> count_{0};
};

struct Fake {
  explicit Fake(v1::GradientService::Service* service) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(service);
    server = builder.BuildAndStart();
    address = "127.0.0.1:" + std::to_string(port);
  }
  ~Fake() { server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1)); }
  std::unique_ptr<grpc::Server> server;
  std::string address;
};

load::Outcome Run(const load::Options& options, double seconds, double warmup = 0,
                  load::Requests requests = {}) {
  auto generator = load::Generator::Connect(options, std::move(requests));
  if (!generator.ok()) throw std::runtime_error(generator.status().ToString());
  return (*generator)->Run(warmup, seconds, nullptr);
}

double Milliseconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

load::Options OpenLoop(const std::string& target, double rate) {
  load::Options options;
  options.target = target;
  options.rate = rate;
  options.arrivals = load::ArrivalKind::kConstant;
  return options;
}

constexpr milliseconds kStall{600};

TEST_CASE("a stall is seen in the open loop's p99, where a closed loop hides it") {
  {
    Stalling service(milliseconds(500), kStall);
    const Fake fake(&service);
    load::Options options;
    options.target = fake.address;
    const load::Outcome naive = Run(options, 2);
    INFO("closed: p99 " << Milliseconds(naive.latency.Percentile(99)) << " ms");
    CHECK(Milliseconds(naive.latency.max()) >= 0.9 * kStall.count());
    CHECK(Milliseconds(naive.latency.Percentile(99)) < 0.3 * kStall.count());
  }
  Stalling service(milliseconds(500), kStall);
  const Fake fake(&service);
  const load::Outcome open = Run(OpenLoop(fake.address, 300), 2);
  INFO("open: p99 " << Milliseconds(open.latency.Percentile(99)) << " ms");
  CHECK(open.failed() == 0);
  CHECK(open.total() == 600);
  // 180 of the 600 were due during the stall, evenly: those of the first tenth waited nine tenths of it.
  CHECK(Milliseconds(open.latency.Percentile(99)) >= 0.8 * kStall.count());
  CHECK(Milliseconds(open.latency.Percentile(85)) >= 0.3 * kStall.count());
  CHECK(open.peak_in_flight >= 100);
}

TEST_CASE("with few requests in flight the stall is in the backlog, and still in the latency") {
  Stalling service(milliseconds(300), kStall);
  const Fake fake(&service);
  load::Options options = OpenLoop(fake.address, 300);
  options.max_in_flight = 2;
  const load::Outcome outcome = Run(options, 2);
  CHECK(outcome.total() == 600);
  CHECK(outcome.failed() == 0);
  CHECK(outcome.peak_in_flight == 2);
  CHECK(outcome.peak_backlog >= 100);
  CHECK(Milliseconds(outcome.latency.Percentile(99)) >= 0.8 * kStall.count());
  CHECK(Milliseconds(outcome.delay.Percentile(99)) >= 0.8 * kStall.count());
}

TEST_CASE("a backlog beyond its bound is shed and counted: every request due is accounted for") {
  Stalling service(milliseconds(300), kStall);
  const Fake fake(&service);
  load::Options options = OpenLoop(fake.address, 300);
  options.max_in_flight = 2;
  options.max_backlog = 20;
  const load::Outcome outcome = Run(options, 2);
  CHECK(outcome.peak_backlog <= 20);
  CHECK(outcome.errors.at("SHED") >= 80);
  CHECK(outcome.failed() == outcome.errors.at("SHED"));
  CHECK(outcome.total() == 600);
}

TEST_CASE("arrivals over several connections add up, warm-up left out") {
  Stalling service(milliseconds(0), milliseconds(0));
  const Fake fake(&service);
  load::Options options = OpenLoop(fake.address, 400);
  options.connections = 4;
  const load::Outcome outcome = Run(options, 1, 0.5);
  CHECK(outcome.total() == 400);
  CHECK(outcome.rate() == Approx(400));
}

TEST_CASE("errors are counted by code, and do not count as answers") {
  Failing service;
  const Fake fake(&service);
  load::Options options;
  options.target = fake.address;
  options.concurrency = 4;
  options.connections = 2;
  load::Progress progress;
  auto generator = load::Generator::Connect(options, {});
  REQUIRE(generator.ok());
  const load::Outcome outcome = (*generator)->Run(0, 0.3, &progress);
  const int64_t failed = outcome.errors.at("OUT_OF_RANGE");
  CHECK(outcome.failed() == failed);
  CHECK(failed * 10 <= outcome.total() + 10);
  CHECK(failed * 10 >= outcome.total() - 10);
  CHECK(progress.answers == outcome.latency.count());
  CHECK(progress.errors == failed);
  CHECK(service.count_ == outcome.total());
}

TEST_CASE("a server that is slower than the timeout: every request is an error") {
  Stalling service(milliseconds(0), milliseconds(700));
  const Fake fake(&service);
  load::Options options = OpenLoop(fake.address, 100);
  options.timeout_seconds = 0.1;
  const load::Outcome outcome = Run(options, 0.4);
  CHECK(outcome.errors.at("DEADLINE_EXCEEDED") == outcome.total());
}

TEST_CASE("no server: UNAVAILABLE") {
  load::Options options;
  options.target = "127.0.0.1:1";
  const auto generator = load::Generator::Connect(options, {});
  REQUIRE_FALSE(generator.ok());
  CHECK(generator.status().code() == Code::kUnavailable);
}

TEST_CASE("a server that goes away ends the run with errors, not in a hang") {
  const auto rpc = GENERATE(load::Rpc::kEvaluate, load::Rpc::kEvaluateStream);
  Stalling service(milliseconds(0), milliseconds(0));
  Fake fake(&service);  // it has no EvaluateStream: every stream ends at once
  load::Options options;
  options.target = fake.address;
  options.rpc = rpc;
  options.timeout_seconds = 1;
  const auto generator = load::Generator::Connect(options, {});
  REQUIRE(generator.ok());
  std::thread end([&] {
    std::this_thread::sleep_for(milliseconds(100));
    fake.server->Shutdown(std::chrono::system_clock::now());
  });
  const load::Outcome outcome = (*generator)->Run(0, 0.3, nullptr);
  end.join();
  CHECK(outcome.failed() > 0);
}

client::KernelSpec Square() {
  client::KernelSpec spec;
  spec.program = "fn square(x: f64) -> f64 { return x * x }";
  spec.entry = "square";
  spec.transform = client::Transform::kValueAndGrad;
  return spec;
}

// Over a real server, one stream or unary calls.
TEST_CASE("warm kernels of a real server") {
  const auto client = client::Client::Connect(ServerAddress());
  REQUIRE(client.ok());
  const auto kernel = (*client)->Compile(Square());
  REQUIRE(kernel.ok());
  client::Inputs inputs;
  inputs.arguments = {client::Arg("x", Tensor::F64(3))};
  load::Requests requests;
  requests.bytes = *load::WarmRequest(*kernel, inputs);
  load::Options options;
  options.target = ServerAddress();
  options.rpc = GENERATE(load::Rpc::kEvaluate, load::Rpc::kEvaluateStream);
  options.concurrency = 8;
  options.connections = 2;
  const load::Outcome closed = Run(options, 0.3, 0.1, requests);
  CHECK(closed.failed() == 0);
  CHECK(closed.latency.count() > 50);
  CHECK(closed.peak_in_flight == 8);
  options.rate = 200;
  options.arrivals = load::ArrivalKind::kConstant;
  const load::Outcome open = Run(options, 0.5, 0.1, requests);
  CHECK(open.failed() == 0);
  CHECK(open.total() == 100);
}

TEST_CASE("an item of a stream that fails is counted with its reason, and the stream goes on") {
  v1::EvaluateRequest request;
  request.set_kernel_id(std::string(64, '0'));
  load::Requests requests;
  requests.bytes = request.SerializeAsString();
  load::Options options;
  options.target = ServerAddress();
  options.rpc = load::Rpc::kEvaluateStream;
  const load::Outcome outcome = Run(options, 0.2, 0, requests);
  CHECK(outcome.latency.count() == 0);
  CHECK(outcome.errors.at("FAILED_PRECONDITION (KERNEL_NOT_RESIDENT)") == outcome.total());
  CHECK(outcome.total() > 10);
}

}  // namespace
}  // namespace pullback::test
