// A scalar gradient that the server has never seen: how long the whole RPC takes, by who makes the code,
// beside an answer from the disk after the server has started again, and one from memory.
//
//   bench_cold [--programs N]     (200)
//
// One client thread; each program is the same function with other constants, sent as text with its
// arguments. Medians and 99th percentiles in microseconds, and the medians of what the server says each
// stage took.
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "proto/values.h"
#include "pullback/v1/service.grpc.pb.h"
#include "tests/bench/server_process.h"

namespace pullback::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Stub = v1::GradientService::Stub;

std::unique_ptr<Stub> Connect(const std::string& address) {
  auto channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(10));
  return v1::GradientService::NewStub(channel);
}

v1::EvaluateRequest Request(int k, v1::Tier tier) {
  v1::EvaluateRequest request;
  v1::KernelSpec* spec = request.mutable_spec();
  spec->mutable_program()->set_text("fn f(x: f64, y: f64) -> f64 {\n  return sin(x * " +
                                    std::to_string(k) + ".25) * exp(y) + x * y\n}\n");
  spec->set_entry("f");
  spec->set_transform(v1::TRANSFORM_VALUE_AND_GRAD);
  spec->mutable_options()->set_tier(tier);
  for (const char* name : {"x", "y"}) {
    v1::NamedValue* argument = request.add_arguments();
    argument->set_name(name);
    wire::EncodeValue(ApiValue{false, Tensor::F64(0.5), {}}, argument->mutable_value());
  }
  return request;
}

double Quantile(std::vector<double>& values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))];
}

void Measure(const char* name, Stub& stub, v1::Tier tier, int programs) {
  std::vector<double> micros;
  std::map<std::string, std::vector<double>> stages;
  for (int k = 1; k <= programs; ++k) {
    const v1::EvaluateRequest request = Request(k, tier);
    grpc::ClientContext context;
    v1::EvaluateResponse response;
    const auto begin = Clock::now();
    const grpc::Status status = stub.Evaluate(&context, request, &response);
    const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
    if (!status.ok()) throw std::runtime_error(status.error_message());
    micros.push_back(took.count());
    for (const auto& stage : response.timings().stages()) {
      stages[stage.stage()].push_back(stage.seconds() * 1e6);
    }
  }
  std::printf("| %s | %.0f | %.0f |", name, Quantile(micros, 0.5), Quantile(micros, 0.99));
  for (auto& [stage, times] : stages) {
    if (times.size() > micros.size() / 2)
      std::printf(" %s %.0f", stage.c_str(), Quantile(times, 0.5));
  }
  std::printf(" |\n");
}

int Main(int argc, char** argv) {
  int programs = 200;
  if (argc == 3 && std::strcmp(argv[1], "--programs") == 0) {
    programs = std::atoi(argv[2]);
  } else if (argc != 1) {
    std::fprintf(stderr, "usage: bench_cold [--programs N]\n");
    return 2;
  }
  char folder[] = "/tmp/pullback-bench-cold-XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  const std::vector<std::string> command = {OwnFolder() + "/pullbackd", "--grpc-port", "0",
                                            "--cache-dir", folder};
  std::printf("| | p50 | p99 | stages, p50 |\n|---|---|---|---|\n");
  {
    ServerProcess server(command);
    const auto stub = Connect(server.address());
    Measure("cold, tier 0 (auto)", *stub, v1::TIER_UNSPECIFIED, programs);
    Measure("cold, LLVM", *stub, v1::TIER_LLVM, programs);
    Measure("from memory", *stub, v1::TIER_LLVM, programs);
    std::this_thread::sleep_for(std::chrono::seconds(2));  // the disk is written meanwhile
  }
  {
    ServerProcess server(command);
    const auto stub = Connect(server.address());
    Measure("from the disk, after a restart", *stub, v1::TIER_LLVM, programs);
  }
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace pullback::bench

int main(int argc, char** argv) { return pullback::bench::Main(argc, argv); }
