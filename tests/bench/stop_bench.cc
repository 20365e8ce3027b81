// How long a run goes on after its deadline has passed or it was cancelled: percentiles per program.
//
//   bench_stop [--runs N] [--no-server] [--only PART-OF-A-NAME] [--delay MS]
//
// On a busy machine `chrt -r 10 bench_stop` takes the scheduler out of the figures.
// In process: from the deadline, or from the moment that the flag is set, until Engine::Run is back.
// Through a server: from the request, with a deadline of 100 ms, until the client has its answer.
// Promised: p99 at most 5 ms after the signal; an endless loop with a deadline of 100 ms is back within
// 150 ms.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "client/client.h"
#include "jit/engine.h"
#include "jit/llvm/llvm_backend.h"
#include "tests/bench/server_process.h"

namespace {

using namespace pullback;
using Clock = std::chrono::steady_clock;
using Millis = std::chrono::duration<double, std::milli>;

// None of them ends by itself in the time that it gets. Each takes x: f64 and n: i64.
struct Endless {
  const char* name;
  const char* text;
  int64_t n;
  jit::Transform transform = jit::Transform::kValue;
};

const Endless kPrograms[] = {
    {"scalar loop", R"(fn f(x: f64, n: i64) -> f64 {
  var k = x
  while k > 0.0 { k = k + 1.0 }
  return k
})",
     0},
    {"sum of a large array", R"(fn f(x: f64, n: i64) -> f64 {
  let a = gen i < n { x * f64(i) }
  var s = 0.0
  while true { s = s + sum i < n { a[i] * a[i] } }
  return s
})",
     1 << 23},
    {"exp of a large array", R"(fn f(x: f64, n: i64) -> f64 {
  let a = gen i < n { x * f64(i) }
  var s = 0.0
  while true { let b = gen i < n { exp(0.0 - a[i]) }; s = s + b[0] }
  return s
})",
     1 << 22},
    {"matrix product", R"(fn f(x: f64, n: i64) -> f64 {
  let a = gen i < n, j < n { x * f64(i - j) }
  var s = 0.0
  while true { let b = a @ a; s = s + b[0, 0] }
  return s
})",
     700},
    {"recursion", R"(fn fib(x: f64, n: i64) -> f64 {
  if n < 2 { return x }
  return fib(x, n - 1) + fib(x, n - 2)
}
fn f(x: f64, n: i64) -> f64 { return fib(x, n) })",
     100},
    {"many small arrays", R"(fn f(x: f64, n: i64) -> f64 {
  var s = 0.0
  while true { let b = gen i < n { x + f64(i) }; s = s + b[n - 1] }
  return s
})",
     10},
    {"gradient of a long loop", R"(fn f(x: f64, n: i64) -> f64 {
  var s = x
  for i < n { s = sin(s) }
  return s
})",
     int64_t{1} << 26, jit::Transform::kVjp},
    {"gradient of a loop over small arrays", R"(fn f(x: f64, n: i64) -> f64 {
  var a = gen j < 4 { x + f64(j) }
  for i < n { a = gen j < 4 { sin(a[j]) * a[3 - j] } }
  return a[0]
})",
     int64_t{1} << 26, jit::Transform::kVjp},
    {"gradient of a deep recursion", R"(fn g(x: f64, n: i64) -> f64 {
  if n <= 0 { return x }
  return sin(x * g(x, n - 1))
}
fn f(x: f64, n: i64) -> f64 {
  var s = x
  while s < 10.0 { s = g(s, n) }
  return s
})",
     90000, jit::Transform::kVjp},
};

double Percentile(const std::vector<double>& sorted, double p) {
  return sorted[std::min(sorted.size() - 1,
                         static_cast<size_t>(p * static_cast<double>(sorted.size())))];
}

void PrintRow(const std::string& name, std::vector<double> millis) {
  std::sort(millis.begin(), millis.end());
  std::printf("%-44s %6zu %8.3f %8.3f %8.3f %8.3f\n", name.c_str(), millis.size(),
              Percentile(millis, 0.5), Percentile(millis, 0.9), Percentile(millis, 0.99),
              millis.back());
  std::fflush(stdout);
}

class InProcess {
 public:
  explicit InProcess(int delay)
      : delay_(delay), engine_(jit::EngineOptions(), jit::MakeLlvmBackend().value()) {}

  void Measure(const Endless& program, int runs) {
    auto handle = engine_.Compile({program.text, "f", program.transform, {}, {}});
    if (!handle.ok()) throw std::runtime_error(handle.status().ToString());
    seeded_ = program.transform == jit::Transform::kVjp;  // reverse mode, by a scalar too
    std::vector<double> deadline, cancel;
    for (int i = 0; i < runs; ++i) {
      deadline.push_back(AfterDeadline(*handle, program.n));
      // A real-time thread that never rests is stopped by the kernel for 50 ms a second.
      std::this_thread::sleep_for(std::chrono::milliseconds(4));
      cancel.push_back(AfterCancel(*handle, program.n));
      std::this_thread::sleep_for(std::chrono::milliseconds(4));
    }
    PrintRow(std::string(program.name) + ", deadline", deadline);
    PrintRow(std::string(program.name) + ", cancelled", cancel);
  }

 private:
  // Up to 3 ms more than asked for: no phase of the watchdog's tick is met more often than another.
  std::chrono::microseconds Delay() {
    return std::chrono::microseconds(1000 * delay_ +
                                     std::uniform_int_distribution<int>(0, 3000)(random_));
  }

  double AfterDeadline(const jit::Handle& handle, int64_t n) {
    jit::RunLimits limits;
    limits.deadline = Clock::now() + Delay();
    const Clock::time_point end = Run(handle, n, limits, Code::kDeadlineExceeded);
    return Millis(end - *limits.deadline).count();
  }

  double AfterCancel(const jit::Handle& handle, int64_t n) {
    jit::RunLimits limits;
    limits.cancelled = std::make_shared<std::atomic<bool>>(false);
    Clock::time_point begin;
    std::thread canceller([&, delay = Delay()] {
      std::this_thread::sleep_for(delay);
      begin = Clock::now();
      limits.cancelled->store(true);
    });
    const Clock::time_point end = Run(handle, n, limits, Code::kCancelled);
    canceller.join();
    return Millis(end - begin).count();
  }

  Clock::time_point Run(const jit::Handle& handle, int64_t n, const jit::RunLimits& limits,
                        Code expected) {
    jit::Inputs inputs;
    inputs.args = {ApiValue{false, Tensor::F64(0.5), {}}, ApiValue{false, Tensor::I64(n), {}}};
    if (seeded_) inputs.seeds = {ApiValue{false, Tensor::F64(1), {}}};
    auto result = engine_.Run(handle, inputs, limits);
    const Clock::time_point end = Clock::now();
    if (result.ok() || result.status().code() != expected) {
      throw std::runtime_error("not stopped: " +
                               (result.ok() ? "it ended" : result.status().ToString()));
    }
    return end;
  }

  int delay_;  // ms
  bool seeded_ = false;
  jit::Engine engine_;
  std::mt19937 random_{1};
};

void MeasureServer(int runs) {
  bench::ServerProcess server({bench::OwnFolder() + "/pullbackd", "--grpc-port", "0"});
  auto client = client::Client::Connect(server.address());
  if (!client.ok()) throw std::runtime_error(client.status().ToString());
  client::KernelSpec spec;
  spec.program = kPrograms[0].text;
  spec.entry = "f";
  auto kernel = (*client)->Compile(spec);
  if (!kernel.ok()) throw std::runtime_error(kernel.status().ToString());
  client::Inputs inputs;
  inputs.arguments = {client::Arg("x", Tensor::F64(0.5)), client::Arg("n", Tensor::I64(0))};
  client::CallOptions call;
  call.timeout = std::chrono::milliseconds(100);
  std::vector<double> millis;
  for (int i = 0; i < runs; ++i) {
    const auto begin = Clock::now();
    auto result = (*client)->Evaluate(*kernel, inputs, call);
    millis.push_back(Millis(Clock::now() - begin).count());
    if (result.status().code() != Code::kDeadlineExceeded) throw std::runtime_error("not stopped");
  }
  PrintRow("server, endless loop, deadline of 100 ms", millis);
}

}  // namespace

int main(int argc, char** argv) try {
  int runs = 200, delay = 20;
  std::string only;
  bool server = true;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--no-server") == 0) {
      server = false;
    } else if (std::strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
      runs = std::stoi(argv[++i]);
    } else if (std::strcmp(argv[i], "--delay") == 0 && i + 1 < argc) {
      delay = std::stoi(argv[++i]);
    } else if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      only = argv[++i];
      server = false;
    } else {
      throw std::runtime_error(
          "usage: bench_stop [--runs N] [--no-server] [--only PART-OF-A-NAME] [--delay MS]");
    }
  }
  std::printf("%-44s %6s %8s %8s %8s %8s\n", "ms from the signal to the end", "runs", "p50", "p90",
              "p99", "most");
  InProcess bench(delay);
  for (const Endless& program : kPrograms) {
    if (std::string(program.name).find(only) != std::string::npos) bench.Measure(program, runs);
  }
  if (server) MeasureServer(runs);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "bench_stop: %s\n", e.what());
  return 1;
}
