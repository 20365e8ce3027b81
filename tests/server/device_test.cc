// A device behind the server: requests over gRPC, on a driver without a device.
#include <catch2/catch.hpp>

#include "jit/baseline/baseline_backend.h"
#include "jit/llvm/llvm_backend.h"
#include "server/server.h"
#include "tests/server/programs.h"
#include "tests/support/fake_driver.h"

namespace pullback::test {
namespace {

using testing::TheFakeDriver;

struct Served {
  explicit Served(int devices) {
    TheFakeDriver().Reset();
    TheFakeDriver().devices = devices;
    server::ServerOptions options;
    options.grpc_port = 0;
    options.engine.device = testing::FakeCudaBackend();
    server = server::Server::Start(options, jit::MakeLlvmBackend().value(),
                                   jit::MakeBaselineBackend().value())
                 .value();
    client = client::Client::Connect(server->address()).value();
  }
  StatusOr<client::Evaluation> Ask(client::Target target) {
    client::KernelSpec spec = Spec(kDot, "dot", client::Transform::kValueAndGrad);
    spec.target = target;
    std::vector<double> a, b;
    for (int i = 0; i < 1000; ++i) {
      a.push_back(1.0 / (i + 1));
      b.push_back(1.0 / (i + 3));
    }
    const auto vector = [](const std::vector<double>& v) {
      return Tensor::Of<double>(DType::kF64, {static_cast<int64_t>(v.size())}, v);
    };
    return client->Evaluate(spec, Args({client::Arg("a", vector(a)), client::Arg("b", vector(b))}));
  }
  std::unique_ptr<server::Server> server;
  std::unique_ptr<client::Client> client;
};

TEST_CASE("device: a request for it is answered by it, with the bits of the CPU") {
  Served served(1);
  const auto here = served.Ask(client::Target::kCpu);
  REQUIRE(here.ok());
  CHECK(here->target == client::Target::kCpu);
  for (const client::Target target : {client::Target::kCuda, client::Target::kAuto}) {
    const auto there = served.Ask(target);
    REQUIRE(there.ok());
    CHECK(there->target == client::Target::kCuda);
    CHECK(there->value.tensor.data == here->value.tensor.data);
    REQUIRE(there->derivatives.size() == 2);
    for (size_t k = 0; k < 2; ++k) {
      CHECK(there->derivatives[k].value.tensor.data == here->derivatives[k].value.tensor.data);
    }
  }
  CHECK(TheFakeDriver().launches > 0);
  CHECK(TheFakeDriver().live_allocations == 0);
  CHECK(served.server->Drain());
}

TEST_CASE("device: where there is none cuda is FAILED_PRECONDITION, and auto the CPU") {
  Served served(0);
  const Status status = served.Ask(client::Target::kCuda).status();
  CHECK(status.code() == Code::kFailedPrecondition);
  CHECK(status.reason() == "NO_DEVICE");
  const auto chosen = served.Ask(client::Target::kAuto);
  REQUIRE(chosen.ok());
  CHECK(chosen->target == client::Target::kCpu);
}

TEST_CASE("device: a fault is INTERNAL, and the next request is answered") {
  Served served(1);
  REQUIRE(served.Ask(client::Target::kCuda).ok());
  TheFakeDriver().fail_at = TheFakeDriver().calls + 3;
  const Status status = served.Ask(client::Target::kCuda).status();
  CHECK(status.code() == Code::kInternal);
  CHECK(status.reason() == "DEVICE_FAULT");
  TheFakeDriver().fail_at = -1;
  CHECK(served.Ask(client::Target::kCuda).ok());
}

}  // namespace
}  // namespace pullback::test
