// What a request costs to be counted for /metrics.
//
//   bench_metrics     (Google Benchmark's flags)
#include <benchmark/benchmark.h>

#include "server/metrics.h"

namespace pullback::bench {
namespace {

void CountRequest(benchmark::State& state) {
  server::Metrics metrics;
  server::Request request;
  request.method = "Evaluate";
  request.arrived = server::Clock::now();
  request.stages.queue = 1e-5;
  request.stages.execute = 1e-6;
  request.stages.convert = 1e-6;
  for (auto _ : state) metrics.Count(request, {});
}
BENCHMARK(CountRequest);

}  // namespace
}  // namespace pullback::bench

BENCHMARK_MAIN();
