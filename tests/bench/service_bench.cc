// Warm Evaluate of a scalar gradient by kernel_id, against a bare gRPC echo of the same request and reply
// bytes, in one run: unary p50 from one client thread, and requests per second from many.
//
//   bench_service [--seconds S] [--rounds R] [--clients N] [--json FILE]
//                 [--connections own|shared] [--client-poller poll|epoll1]
//
// Every client thread has a connection of its own and waits for it with poll: gRPC's usual poller lets
// one thread of a process poll for all and hand events on, and then much of what is measured is how the
// clients wake each other. --client-poller epoll1 and --connections shared show that too.
//
// Both servers are processes beside this one; both are asked by the same client code in turns, round by
// round, so that whatever else the machine does meets both. Reported are medians over the rounds, and the
// median of each round's ratio. Promised: p50 at most 1.3 times the echo's, requests/s at least 0.7.
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "proto/values.h"
#include "pullback/v1/service.grpc.pb.h"
#include "tests/bench/server_process.h"

namespace {

using namespace pullback;
using Clock = std::chrono::steady_clock;

constexpr char kProgram[] = R"(fn f(x: f64, y: f64) -> f64 { return sin(x) * exp(y) + x * y })";

struct Options {
  double seconds = 1.0;
  int rounds = 9;
  int clients = 16;
  std::string json;
  std::string connections = "own";
  std::string poller = "poll";
};

// Clients with a connection each, or with one connection between them.
std::unique_ptr<v1::GradientService::Stub> Connect(const std::string& address, bool own) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, own ? 1 : 0);
  auto channel = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(10));
  return v1::GradientService::NewStub(channel);
}

v1::EvaluateResponse Ask(v1::GradientService::Stub* stub, const v1::EvaluateRequest& request) {
  grpc::ClientContext context;
  v1::EvaluateResponse response;
  const grpc::Status status = stub->Evaluate(&context, request, &response);
  if (!status.ok()) throw std::runtime_error(status.error_message());
  return response;
}

v1::EvaluateRequest MakeRequest(v1::GradientService::Stub* stub) {
  v1::CompileRequest compile;
  compile.mutable_spec()->mutable_program()->set_text(kProgram);
  compile.mutable_spec()->set_entry("f");
  compile.mutable_spec()->set_transform(v1::TRANSFORM_VALUE_AND_GRAD);
  grpc::ClientContext context;
  v1::CompileResponse compiled;
  const grpc::Status status = stub->Compile(&context, compile, &compiled);
  if (!status.ok()) throw std::runtime_error(status.error_message());
  v1::EvaluateRequest request;
  request.set_kernel_id(compiled.kernel_id());
  for (const char* name : {"x", "y"}) {
    v1::NamedValue* argument = request.add_arguments();
    argument->set_name(name);
    wire::EncodeValue(ApiValue{false, Tensor::F64(0.5), {}}, argument->mutable_value());
  }
  return request;
}

std::string ToHex(const std::string& bytes) {
  std::string hex;
  char digits[3];
  for (unsigned char byte : bytes) {
    std::snprintf(digits, sizeof digits, "%02x", byte);
    hex += digits;
  }
  return hex;
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// Microseconds.
struct Latency {
  double p50 = 0, p99 = 0;
  double queue = 0, work = 0;  // medians of the answers' timings
};

Latency MeasureLatency(v1::GradientService::Stub* stub, const v1::EvaluateRequest& request,
                       double seconds) {
  std::vector<double> micros, queue, work;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (auto begin = Clock::now(); begin < end;) {
    const v1::EvaluateResponse response = Ask(stub, request);
    queue.push_back(response.timings().queue_seconds() * 1e6);
    work.push_back(response.timings().total_seconds() * 1e6);
    const auto now = Clock::now();
    micros.push_back(std::chrono::duration<double, std::micro>(now - begin).count());
    begin = now;
  }
  std::sort(micros.begin(), micros.end());
  return {micros[micros.size() / 2], micros[micros.size() * 99 / 100], Median(queue), Median(work)};
}

using Stubs = std::vector<std::unique_ptr<v1::GradientService::Stub>>;

double MeasureThroughput(const Stubs& stubs, const v1::EvaluateRequest& request, double seconds) {
  std::atomic<int64_t> requests{0};
  std::vector<std::thread> threads;
  const auto begin = Clock::now();
  const auto end = begin + std::chrono::duration<double>(seconds);
  for (const auto& stub : stubs) {
    threads.emplace_back([&] {
      int64_t mine = 0;
      for (; Clock::now() < end; ++mine) Ask(stub.get(), request);
      requests += mine;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(requests) /
         std::chrono::duration<double>(Clock::now() - begin).count();
}

// One server's figures, by round.
struct Series {
  std::vector<double> p50, p99, rate, queue, work;
};

void Round(const Stubs& stubs, const v1::EvaluateRequest& request, double seconds, Series* series) {
  const Latency latency = MeasureLatency(stubs[0].get(), request, seconds);
  series->p50.push_back(latency.p50);
  series->p99.push_back(latency.p99);
  series->queue.push_back(latency.queue);
  series->work.push_back(latency.work);
  series->rate.push_back(MeasureThroughput(stubs, request, seconds));
}

double MedianRatio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (size_t i = 0; i < a.size(); ++i) ratios.push_back(a[i] / b[i]);
  return Median(ratios);
}

void Print(const Series& echo, const Series& ours, size_t request_bytes, size_t reply_bytes,
           const Options& options) {
  std::printf("request %zu bytes, reply %zu bytes, %d rounds of %g s, %u cores\n", request_bytes,
              reply_bytes, options.rounds, options.seconds, std::thread::hardware_concurrency());
  std::printf("%-28s %12s %12s %8s %10s\n", "", "echo", "pullbackd", "ratio", "promised");
  std::printf("%-28s %12.1f %12.1f %8.3f %10s\n", "unary p50, us", Median(echo.p50),
              Median(ours.p50), MedianRatio(ours.p50, echo.p50), "<= 1.3");
  std::printf("%-28s %12s %12.1f\n", "  in the queue, us", "", Median(ours.queue));
  std::printf("%-28s %12s %12.1f\n", "  at work, us", "", Median(ours.work));
  std::printf("%-28s %12.1f %12.1f %8.3f\n", "unary p99, us", Median(echo.p99), Median(ours.p99),
              MedianRatio(ours.p99, echo.p99));
  char label[64];
  std::snprintf(label, sizeof label, "requests/s, %d clients", options.clients);
  std::printf("%-28s %12.0f %12.0f %8.3f %10s\n", label, Median(echo.rate), Median(ours.rate),
              MedianRatio(ours.rate, echo.rate), ">= 0.7");
}

void WriteJson(const Series& echo, const Series& ours, size_t request_bytes, size_t reply_bytes,
               const Options& options) {
  std::FILE* const file = std::fopen(options.json.c_str(), "w");
  if (file == nullptr) throw std::runtime_error("cannot write " + options.json);
  const auto side = [&](const char* name, const Series& s) {
    std::fprintf(file,
                 "  \"%s\": {\"p50_us\": %.2f, \"p99_us\": %.2f, \"requests_per_s\": %.1f},\n",
                 name, Median(s.p50), Median(s.p99), Median(s.rate));
  };
  std::fprintf(file, "{\n  \"request_bytes\": %zu, \"reply_bytes\": %zu,\n", request_bytes,
               reply_bytes);
  std::fprintf(file, "  \"rounds\": %d, \"seconds\": %g, \"clients\": %d, \"cores\": %u,\n",
               options.rounds, options.seconds, options.clients,
               std::thread::hardware_concurrency());
  side("echo", echo);
  side("pullbackd", ours);
  std::fprintf(file, "  \"p50_ratio\": %.4f, \"requests_per_s_ratio\": %.4f\n}\n",
               MedianRatio(ours.p50, echo.p50), MedianRatio(ours.rate, echo.rate));
  std::fclose(file);
}

void Run(const Options& options, const std::string& folder) {
  const bool own = options.connections == "own";
  bench::ServerProcess pullbackd({folder + "/pullbackd", "--grpc-port", "0"});
  setenv("GRPC_POLL_STRATEGY", options.poller.c_str(), 1);
  const auto first = Connect(pullbackd.address(), own);
  const v1::EvaluateRequest request = MakeRequest(first.get());
  const std::string reply = Ask(first.get(), request).SerializeAsString();
  bench::ServerProcess echo({folder + "/bench_echo_server", ToHex(reply)});

  Stubs echo_stubs, our_stubs;
  for (int i = 0; i < options.clients; ++i) {
    echo_stubs.push_back(Connect(echo.address(), own));
    our_stubs.push_back(Connect(pullbackd.address(), own));
  }
  Series echo_series, our_series, warm_up;
  Round(echo_stubs, request, options.seconds / 4, &warm_up);
  Round(our_stubs, request, options.seconds / 4, &warm_up);
  for (int i = 0; i < options.rounds; ++i) {
    Round(echo_stubs, request, options.seconds, &echo_series);
    Round(our_stubs, request, options.seconds, &our_series);
  }
  const size_t request_bytes = request.ByteSizeLong();
  Print(echo_series, our_series, request_bytes, reply.size(), options);
  if (!options.json.empty()) {
    WriteJson(echo_series, our_series, request_bytes, reply.size(), options);
  }
}

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const std::string value = argv[i + 1];
    if (flag == "--seconds")
      options.seconds = std::stod(value);
    else if (flag == "--rounds")
      options.rounds = std::stoi(value);
    else if (flag == "--clients")
      options.clients = std::stoi(value);
    else if (flag == "--json")
      options.json = value;
    else if (flag == "--connections")
      options.connections = value;
    else if (flag == "--client-poller")
      options.poller = value;
    else
      throw std::runtime_error("no such flag: " + flag);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  Run(Parse(argc, argv), bench::OwnFolder());
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "service_bench: %s\n", e.what());
  return 1;
}
