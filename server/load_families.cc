#include "server/load_families.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

namespace pullback::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

// One family while its values are added.
class Adder {
 public:
  Adder(std::vector<MetricFamily>* families, MetricType type, const char* name, const char* help)
      : family_(families->emplace_back()) {
    family_.name = name;
    family_.help = help;
    family_.type = type;
  }
  Adder& Add(double value, Labels labels = {}) {
    ClientMetric& metric = family_.metric.emplace_back();
    metric.label = std::move(labels);
    (family_.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
    return *this;
  }
  Adder& Add(int64_t value, Labels labels = {}) {
    return Add(static_cast<double>(value), std::move(labels));
  }

 private:
  MetricFamily& family_;
};

struct Families {
  std::vector<MetricFamily>* all;
  Adder Counter(const char* name, const char* help) const {
    return {all, MetricType::Counter, name, help};
  }
  Adder Gauge(const char* name, const char* help) const {
    return {all, MetricType::Gauge, name, help};
  }
};

Labels Tier(const char* tier) { return {{"tier", tier}}; }
Labels Result(const char* tier, const char* result) { return {{"tier", tier}, {"result", result}}; }

void AddCaches(const LoadSample& load, const Families& add) {
  const jit::EngineStats& engine = load.engine;
  auto requests = add.Counter("pullback_cache_requests_total",
                              "Look-ups of kernels: in memory, and on disk where memory missed.");
  requests.Add(engine.hits, Result("memory", "hit")).Add(engine.misses, Result("memory", "miss"));
  if (load.disk) {
    requests.Add(load.disk->hits, Result("disk", "hit"))
        .Add(load.disk->misses - load.disk->damaged, Result("disk", "miss"))
        .Add(load.disk->damaged, Result("disk", "damaged"));
  }
  auto bytes = add.Gauge("pullback_cache_bytes", "Compiled code that is kept.");
  bytes.Add(engine.cache_bytes, Tier("memory"));
  if (load.disk) bytes.Add(load.disk->bytes, Tier("disk"));
  auto evictions =
      add.Counter("pullback_cache_evictions_total", "Kernels dropped to stay within the bound.");
  evictions.Add(engine.evictions, Tier("memory"));
  if (load.disk) evictions.Add(load.disk->evictions, Tier("disk"));
  if (load.disk) {
    add.Counter("pullback_cache_failed_writes_total", "Entries that the disk did not take.")
        .Add(load.disk->failed_writes, Tier("disk"));
  }
  auto kernels = add.Gauge("pullback_kernels", "Kernels that are kept.");
  kernels.Add(engine.kernels, Tier("memory"));
  if (load.disk) kernels.Add(load.disk->entries, Tier("disk"));
  add.Counter("pullback_tier_switches_total",
              "Kernels whose code LLVM's has replaced, and those where it could not.")
      .Add(engine.promotions, {{"result", "ok"}})
      .Add(engine.failed_promotions, {{"result", "failed"}});
}

void AddPools(const LoadSample& load, const Families& add) {
  add.Gauge("pullback_requests_running", "Requests on compute threads, by kind of thread.")
      .Add(load.run.running, {{"pool", "run"}})
      .Add(load.compile.running, {{"pool", "compile"}});
  add.Gauge("pullback_requests_queued", "Requests that wait for a thread, by its kind.")
      .Add(load.run.queued, {{"pool", "run"}})
      .Add(load.compile.queued, {{"pool", "compile"}});
}

void AddRuns(const RunCounts& runs, const Families& add) {
  add.Counter("pullback_runs_total",
              "Evaluations by the thread that ran them: gRPC's, or a pool's.")
      .Add(runs.grpc, {{"thread", "grpc"}})
      .Add(runs.pool, {{"thread", "pool"}});
  add.Counter("pullback_overruns_total",
              "Runs that were stopped on gRPC's threads and begun again in a pool.")
      .Add(runs.overruns);
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// 0 where /proc cannot be read.
int64_t ResidentBytes() {
  int64_t size = 0;
  int64_t resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &size, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * sysconf(_SC_PAGESIZE);
}

int64_t OpenFiles() {
  std::error_code error;
  int64_t count = 0;
  for (std::filesystem::directory_iterator i("/proc/self/fd", error), end; !error && i != end;
       i.increment(error)) {
    ++count;
  }
  return count;
}

void AddProcess(const std::string& version, const Families& add) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  add.Gauge("pullback_build_info", "1, with the server's version.")
      .Add(1.0, {{"version", version}});
  add.Counter("pullback_process_cpu_seconds_total", "Processor time, of users and system.")
      .Add(Seconds(usage.ru_utime) + Seconds(usage.ru_stime));
  add.Gauge("pullback_process_resident_memory_bytes", "Memory that the process holds.")
      .Add(ResidentBytes());
  add.Gauge("pullback_process_open_fds", "Files and connections that are open.").Add(OpenFiles());
}

}  // namespace

void AppendLoadFamilies(const LoadSample& load, const std::string& version,
                        std::vector<MetricFamily>* families) {
  const Families add{families};
  // Adders hold a reference into it.
  families->reserve(families->size() + 32);
  AddCaches(load, add);
  AddPools(load, add);
  AddRuns(load.runs, add);
  AddProcess(version, add);
}

}  // namespace pullback::server
