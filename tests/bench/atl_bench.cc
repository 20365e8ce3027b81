// The examples of Bernstein et al. in compiled code: time and memory of value and gradient beside the value's,
// over sizes that double, with the exponents of growth.
//
//   bench_atl [--max-n N] [--rounds R]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "jit/llvm/llvm_backend.h"
#include "tests/bench/exponent.h"
#include "tests/bench/kernel_runner.h"
#include "tests/support/atl_programs.h"

namespace pullback::bench {
namespace {

struct Point {
  double primal, gradient;
  int64_t primal_bytes, bytes;
};

std::vector<Data> DataOf(const std::vector<Tensor>& tensors) {
  std::vector<Data> out;
  for (const Tensor& t : tensors) {
    if (t.dtype == DType::kI64 && t.shape.empty()) {
      out.push_back(Data::Integer(t.At<int64_t>(0)));
      continue;
    }
    std::vector<double> words;  // of integers their bits
    for (int64_t i = 0; i < t.ElementCount(); ++i) words.push_back(t.At<double>(i));
    out.push_back(t.shape.empty() ? Data::Scalar(words[0]) : Data::Array(t.shape, words));
  }
  return out;
}

// By position, as the entry's parameters are named.
std::vector<std::string> NamesOf(const testing::AtlProgram& p) {
  std::vector<std::string> names;
  const size_t start = p.text.find("fn f(") + 5;
  std::string list = p.text.substr(start, p.text.find(") ->", start) - start);
  size_t param = 0;
  for (size_t at = 0; at < list.size(); ++param) {
    const size_t colon = list.find(':', at);
    if (p.wrt[param]) names.push_back(list.substr(at, colon - at));
    int depth = 0;
    for (at = colon; at < list.size() && (list[at] != ',' || depth > 0); ++at)
      depth += list[at] == '[' ? 1 : list[at] == ']' ? -1 : 0;
    at += 2;  // the comma and a space
  }
  return names;
}

// Seconds a run: the least over rounds of a millisecond or more, since what else runs only adds.
double Best(BenchKernel& kernel, int rounds) {
  using Clock = std::chrono::steady_clock;
  const auto seconds = [&](int64_t times) {
    const auto start = Clock::now();
    kernel.Run(times);
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  int64_t times = 1;
  while (times < (1 << 20) && seconds(times) < 1e-3) times *= 2;
  double best = seconds(times);
  for (int r = 1; r < rounds; ++r) best = std::min(best, seconds(times));
  return best / static_cast<double>(times);
}

Point Measure(jit::Engine& engine, const testing::AtlProgram& p, int64_t n, int rounds) {
  const std::vector<Data> args = DataOf(p.arguments(n));
  BenchKernel primal(engine, p.text, "f", jit::Transform::kValue, {}, args);
  BenchKernel gradient(engine, p.text, "f", jit::Transform::kValueAndGrad, NamesOf(p), args);
  return {Best(primal, rounds), Best(gradient, rounds), primal.PeakBytes(), gradient.PeakBytes()};
}

void Run(int64_t max_n, int rounds) {
  auto backend = jit::MakeLlvmBackend();
  if (!backend.ok()) throw std::runtime_error(backend.status().message());
  jit::Engine engine({}, *backend);
  std::printf("%-36s %8s %10s %10s %7s %11s  %s\n", "", "n", "primal us", "grad us", "ratio",
              "grad bytes", "exponents: time, bytes (primal)");
  for (const testing::AtlProgram& p : testing::AtlPrograms()) {
    // Of quadratic programs as many points as of linear ones.
    const int64_t most = p.order == 1 ? max_n : std::llround(std::sqrt(16.0 * double(max_n)));
    std::vector<Point> at;
    for (int64_t n = most / 16; n <= most; n *= 2) at.push_back(Measure(engine, p, n, rounds));
    const auto exponent = [&](auto what) {
      std::vector<double> sizes, y;  // n doubles from one point to the next
      for (const Point& x : at) {
        sizes.push_back(std::exp2(static_cast<double>(sizes.size())));
        y.push_back(static_cast<double>(what(x)));
      }
      return Exponent(sizes, y);
    };
    const Point& last = at.back();
    std::printf("%-36s %8lld %10.2f %10.2f %7.2f %11lld  %5.2f (%5.2f) %5.2f (%5.2f)\n",
                p.name.c_str(), static_cast<long long>(most), 1e6 * last.primal,
                1e6 * last.gradient, last.gradient / last.primal,
                static_cast<long long>(last.bytes),
                exponent([](const Point& x) { return x.gradient; }),
                exponent([](const Point& x) { return x.primal; }),
                exponent([](const Point& x) { return x.bytes + 4096; }),
                exponent([](const Point& x) { return x.primal_bytes + 4096; }));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace pullback::bench

int main(int argc, char** argv) {
  int64_t max_n = 65536;
  int rounds = 40;
  for (int k = 1; k + 1 < argc; k += 2) {
    const std::string flag = argv[k];
    if (flag == "--max-n") max_n = std::atoll(argv[k + 1]);
    if (flag == "--rounds") rounds = std::atoi(argv[k + 1]);
  }
  pullback::bench::Run(max_n, rounds);
  return 0;
}
