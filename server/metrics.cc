#include "server/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <atomic>
#include <cstring>
#include <optional>
#include <utility>

#include "server/load_families.h"

namespace pullback::server {
namespace {

constexpr const char* kMethods[] = {"Compile", "Evaluate",      "EvaluateStream", "Explain",
                                    "Format",  "GetServerInfo", "other"};
constexpr size_t kMethodCount = std::size(kMethods);
constexpr size_t kCodeCount = 17;  // gRPC's

constexpr std::pair<const char*, const char*> kBudgets[] = {
    {"MEMORY_BUDGET", "memory"}, {"RECURSION_LIMIT", "depth"}, {"DEADLINE_EXCEEDED", "deadline"}};

using prometheus::BuildCounter;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Histogram;
template <typename T>
using Family = prometheus::Family<T>;

// 10 µs to 100 s, three a decade.
const Histogram::BucketBoundaries& Buckets() {
  static const Histogram::BucketBoundaries buckets = {
      1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2,
      5e-2, 0.1,  0.2,  0.5,  1,    2,    5,    10,   20,   50,   100};
  return buckets;
}

size_t IndexOf(const char* method) {
  for (size_t i = 0; i + 1 < kMethodCount; ++i) {
    if (std::strcmp(kMethods[i], method) == 0) return i;
  }
  return kMethodCount - 1;
}

Family<Histogram>& Durations(prometheus::Registry* registry, const std::string& name,
                             const std::string& help) {
  return BuildHistogram().Name(name).Help(help).Register(*registry);
}

}  // namespace

struct Metrics::Impl {
  prometheus::Registry registry;
  Family<Counter>& requests =
      BuildCounter()
          .Name("pullback_rpc_requests_total")
          .Help("Answered requests by method and gRPC code; items of streams count each.")
          .Register(registry);
  Family<Histogram>& rpc = Durations(&registry, "pullback_rpc_duration_seconds",
                                     "From a request's arrival to its answer.");
  Histogram& queue = Durations(&registry, "pullback_queue_duration_seconds",
                               "From a request's arrival to its start on a compute thread.")
                         .Add({}, Buckets());
  Family<Histogram>& compile = Durations(&registry, "pullback_compile_duration_seconds",
                                         "Stages of compiling, where a kernel was made.");
  Histogram& execute =
      Durations(&registry, "pullback_execute_duration_seconds", "In compiled code.")
          .Add({}, Buckets());
  Histogram& convert =
      Durations(&registry, "pullback_convert_duration_seconds",
                "Reading a request's message and values, and making those of its answer.")
          .Add({}, Buckets());
  Family<Counter>& budgets =
      BuildCounter()
          .Name("pullback_budget_kills_total")
          .Help("Requests ended because they met their memory budget, depth limit or deadline.")
          .Register(registry);

  std::array<Histogram*, kMethodCount> rpc_of;
  // Made when first needed: most pairs never are.
  std::array<std::array<std::atomic<Counter*>, kCodeCount>, kMethodCount> requests_of{};
  std::array<Counter*, std::size(kBudgets)> budget_of;
  std::function<LoadSample()> source;
  std::string version;

  Impl() {
    for (size_t i = 0; i < kMethodCount; ++i) {
      rpc_of[i] = &rpc.Add({{"method", kMethods[i]}}, Buckets());
      CounterOf(i, Code::kOk);
    }
    for (const char* stage : {"parse", "codegen"}) compile.Add({{"stage", stage}}, Buckets());
    for (size_t i = 0; i < budget_of.size(); ++i) {
      budget_of[i] = &budgets.Add({{"budget", kBudgets[i].second}});
    }
  }

  Counter* CounterOf(size_t method, Code code) {
    auto& slot = requests_of[method][static_cast<size_t>(code) % kCodeCount];
    Counter* counter = slot.load(std::memory_order_acquire);
    if (counter != nullptr) return counter;
    // Adding the same labels again gives the same counter.
    counter = &requests.Add({{"method", kMethods[method]}, {"code", CodeName(code)}});
    slot.store(counter, std::memory_order_release);
    return counter;
  }

  void CountStages(const StageTimes& stages) {
    if (stages.queue >= 0) queue.Observe(stages.queue);
    if (stages.execute >= 0) execute.Observe(stages.execute);
    if (stages.convert > 0) convert.Observe(stages.convert);
    for (const jit::Timing& stage : stages.compile) {
      compile.Add({{"stage", stage.stage}}, Buckets()).Observe(stage.seconds);
    }
  }
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

void Metrics::Count(const Request& request, const Status& status) {
  const size_t method = IndexOf(request.method);
  const std::chrono::duration<double> took = Clock::now() - request.arrived;
  impl_->rpc_of[method]->Observe(took.count());
  impl_->CounterOf(method, status.code())->Increment();
  impl_->CountStages(request.stages);
  if (status.ok()) return;
  for (size_t i = 0; i < std::size(kBudgets); ++i) {
    if (status.reason() == kBudgets[i].first) impl_->budget_of[i]->Increment();
  }
}

void Metrics::SetSource(std::string version, std::function<LoadSample()> source) {
  impl_->version = std::move(version);
  impl_->source = std::move(source);
}

std::string Metrics::Render() const {
  std::vector<prometheus::MetricFamily> families = impl_->registry.Collect();
  if (impl_->source) AppendLoadFamilies(impl_->source(), impl_->version, &families);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace pullback::server
