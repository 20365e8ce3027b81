// What Prometheus reads of the server, at /metrics (docs/operations.md lists it). Thread-safe. Children of
// the families are made beforehand, so that counting a request takes some hundred nanoseconds (bench_metrics); what the
// engine, its caches and the pools count anyway is asked of them only when somebody reads.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/base/status.h"
#include "jit/disk_cache.h"
#include "jit/engine.h"
#include "server/request.h"
#include "server/short_runs.h"

namespace pullback::server {

struct PoolLoad {
  int64_t running = 0;
  int64_t queued = 0;
};

// Read at each scrape.
struct LoadSample {
  jit::EngineStats engine;
  std::optional<jit::DiskCacheStats> disk;  // none without a disk cache
  PoolLoad run, compile;
  RunCounts runs;
};

class Metrics {
 public:
  Metrics();
  ~Metrics();

  // An answered request, or item of a stream.
  void Count(const Request& request, const Status& status);

  // Before the first Render; `source` must outlive the last.
  void SetSource(std::string version, std::function<LoadSample()> source);
  // Prometheus' text format, 0.0.4.
  std::string Render() const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace pullback::server
