#include "server/handlers.h"

#include <algorithm>

#include "jit/disk_cache.h"
#include "jit/run_history.h"
#include "proto/program/tables.h"
#include "server/arguments.h"
#include "server/busy_time.h"
#include "server/convert.h"
#include "server/errors.h"

namespace pullback::server {
namespace {

constexpr const char* kStages[] = {"ast",   "ssa",  "adjoint", "normal",
                                   "loops", "llvm", "asm",     "cost"};
constexpr size_t kMaxStages = std::size(kStages) + 3;  // and rules, sparsity, tensor-ssa

double Seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

// Fills in when the request waited and how long it took, at the end of a handler.
class Stopwatch {
 public:
  explicit Stopwatch(Request& request) : arrived_(request.arrived), begin_(Clock::now()) {
    request.stages.queue = Seconds(begin_ - arrived_);
  }
  Clock::time_point begin() const { return begin_; }
  void Write(v1::Timings* timings, Clock::time_point end = Clock::now()) const {
    timings->set_queue_seconds(Seconds(begin_ - arrived_));
    timings->set_total_seconds(Seconds(end - begin_));
  }

 private:
  const Clock::time_point arrived_;
  const Clock::time_point begin_;
};

// What a request asks for, where it asks for less than the server allows.
template <typename T>
StatusOr<T> Bounded(const char* field, T asked, T most) {
  if (asked < 0) return FieldFault(field, "negative");
  return asked == 0 ? most : std::min(asked, most);
}

// A run that took a thread a short time only. Errors say nothing of the next run; on a device nothing is short.
void CountQuick(jit::RunHistory* history, const Request& request, const Status& status,
                const v1::EvaluateResponse& out) {
  if (!status.ok()) return;
  if (out.target() == v1::EXECUTION_TARGET_CPU) {
    history->CountShort(request.bytes);
  } else {
    history->CountLong(request.bytes);
  }
}

// An error in the spec's program; where that came as tables, it says what its places are of.
Status Placed(const Status& status, const v1::KernelSpec& spec) {
  return spec.program().has_tables() ? program::InCanonicalText(status) : status;
}

// Likewise of a run; one by kernel_id speaks of the first text that made the kernel.
Status Placed(const Status& status, const v1::EvaluateRequest& in, const jit::TextView& view) {
  if (in.kernel_case() != v1::EvaluateRequest::kKernelId) return Placed(status, in.spec());
  return view.written ? program::InCanonicalText(status) : status;
}

}  // namespace

jit::RunLimits Handlers::LimitsOf(const Request& request) const {
  jit::RunLimits limits;
  limits.deadline = request.deadline;
  limits.cancelled = request.cancelled;
  limits.memory_bytes = options_.memory_budget;
  limits.max_depth = options_.max_depth;
  return limits;
}

StatusOr<jit::RunLimits> Handlers::LimitsOf(const Request& request,
                                            const v1::RunOptions& options) const {
  jit::RunLimits limits = LimitsOf(request);
  PB_ASSIGN_OR_RETURN(
      limits.memory_bytes,
      Bounded<int64_t>("options.memory_bytes", options.memory_bytes(), limits.memory_bytes));
  PB_ASSIGN_OR_RETURN(limits.max_depth,
                      Bounded<int32_t>("options.max_depth", options.max_depth(), limits.max_depth));
  return limits;
}

// Tables are turned into text first.
StatusOr<jit::Handle> Handlers::CompileSpec(Request& request, const v1::KernelSpec& spec) {
  const auto begin = Clock::now();
  PB_ASSIGN_OR_RETURN(const jit::KernelRequest kernel, ToKernelRequest(spec, &texts_));
  request.stages.convert += SecondsSince(begin);
  StatusOr<jit::Handle> handle = engine_->Compile(kernel, LimitsOf(request));
  return handle.ok() ? handle : Placed(handle.status(), spec);
}

Status Handlers::Compile(Request& request, const v1::CompileRequest& in, v1::CompileResponse* out) {
  const Stopwatch stopwatch(request);
  PB_ASSIGN_OR_RETURN(const jit::Handle handle, CompileSpec(request, in.spec()));
  out->set_kernel_id(handle.kernel_id);
  out->set_cache_hit(handle.cache_hit);
  ToMessage(*handle.view, out->mutable_signature());
  ToMessage(handle.timings, out->mutable_timings());
  if (!handle.cache_hit) request.stages.compile = handle.timings;
  stopwatch.Write(out->mutable_timings());
  return {};
}

Status Handlers::Find(Request& request, const v1::EvaluateRequest& in, v1::EvaluateResponse* out) {
  out->set_cache_hit(true);
  if (request.kernel) return {};
  PB_ASSIGN_OR_RETURN(request.kernel, engine_->Find(in.kernel_id()));
  return {};
}

Status Handlers::FindOrCompile(Request& request, const v1::EvaluateRequest& in,
                               v1::EvaluateResponse* out) {
  if (in.kernel_case() == v1::EvaluateRequest::kKernelId) return Find(request, in, out);
  if (in.kernel_case() == v1::EvaluateRequest::KERNEL_NOT_SET) {
    return FieldFault("kernel_id", "neither a kernel_id nor a spec");
  }
  PB_ASSIGN_OR_RETURN(jit::Handle compiled, CompileSpec(request, in.spec()));
  request.kernel = std::make_shared<const jit::Handle>(std::move(compiled));
  const jit::Handle& handle = *request.kernel;
  out->set_kernel_id(handle.kernel_id);
  out->set_cache_hit(handle.cache_hit);
  ToMessage(handle.timings, out->mutable_timings());
  if (!handle.cache_hit) request.stages.compile = handle.timings;
  return {};
}

Status Handlers::RunKernel(Request& request, const v1::EvaluateRequest& in,
                           const jit::RunLimits& limits, v1::EvaluateResponse* out) {
  const jit::Handle& handle = *request.kernel;
  if (jit::Engine::RunsOnTensors(handle) && BringsTensors(in)) {
    return RunOnTensors(request, in, limits, out);
  }
  auto begin = Clock::now();
  PB_ASSIGN_OR_RETURN(const jit::Inputs inputs, ToInputs(in, *handle.view));
  request.stages.convert += SecondsSince(begin);
  const StatusOr<jit::Outputs> outputs = engine_->Run(handle, inputs, limits);
  if (!outputs.ok()) return Placed(outputs.status(), in, *handle.view);
  request.stages.execute = outputs->execute_seconds;
  begin = Clock::now();
  ToMessage(*outputs, *handle.view, out);
  request.stages.convert += SecondsSince(begin);
  return {};
}

// Reading and writing tensors is little beside parsing them, and is not timed.
Status Handlers::RunOnTensors(Request& request, const v1::EvaluateRequest& in,
                              const jit::RunLimits& limits, v1::EvaluateResponse* out) {
  const jit::Handle& handle = *request.kernel;
  RequestTensors tensors;
  PB_RETURN_IF_ERROR(tensors.Read(in, *handle.view));
  ResponseSink sink(out);
  const StatusOr<jit::RunReport> report = engine_->Run(handle, tensors.inputs(), limits, &sink);
  if (!report.ok()) return Placed(report.status(), in, *handle.view);
  request.stages.execute = report->execute_seconds;
  ReportToMessage(*report, *handle.view, out);
  return {};
}

Status Handlers::RunInPool(Request& request, const v1::EvaluateRequest& in,
                           const jit::RunLimits& limits, v1::EvaluateResponse* out) {
  short_runs_.CountInPool();
  // Others are never tried elsewhere.
  if (in.kernel_case() != v1::EvaluateRequest::kKernelId) {
    return RunKernel(request, in, limits, out);
  }
  const BusyTime time;
  const Status status = RunKernel(request, in, limits, out);
  jit::RunHistory& history = jit::HistoryOf(*request.kernel);
  if (time.busy() <= jit::RunHistory::kShort) {
    if (request.overran) history.TakeMistakeBack();
    CountQuick(&history, request, status, *out);
  } else if (request.overran) {
    short_runs_.Pause(Clock::now());
  } else {
    history.CountLong(request.bytes);
  }
  return status;
}

Status Handlers::Evaluate(Request& request, const v1::EvaluateRequest& in,
                          v1::EvaluateResponse* out) {
  const Stopwatch stopwatch(request);
  PB_ASSIGN_OR_RETURN(const jit::RunLimits limits, LimitsOf(request, in.options()));
  PB_RETURN_IF_ERROR(FindOrCompile(request, in, out));
  PB_RETURN_IF_ERROR(RunInPool(request, in, limits, out));
  stopwatch.Write(out->mutable_timings());
  return {};
}

std::optional<Status> Handlers::EvaluateShort(Request& request, const v1::EvaluateRequest& in,
                                              v1::EvaluateResponse* out) {
  if (in.kernel_case() != v1::EvaluateRequest::kKernelId) return {};
  const Stopwatch stopwatch(request);
  if (short_runs_.Paused(stopwatch.begin())) return {};
  StatusOr<jit::RunLimits> limits = LimitsOf(request, in.options());
  if (!limits.ok()) return limits.status();
  Status status = Find(request, in, out);
  if (!status.ok()) return status;
  jit::RunHistory& history = jit::HistoryOf(*request.kernel);
  // The message of a relation does not bound what is made of it: a number says how many rows it has, and each gets
  // a word before a run can be stopped.
  if (!history.ExpectsShort(request.bytes) || request.kernel->view->relations) return {};
  const auto until = stopwatch.begin() + ShortRuns::kAllowance;
  limits->deadline = std::min(limits->deadline.value_or(until), until);
  status = RunKernel(request, in, *limits, out);
  const auto end = Clock::now();
  const Clock::duration took = end - stopwatch.begin();
  if (took <= jit::RunHistory::kShort) {
    CountQuick(&history, request, status, *out);
  } else if (status.code() == Code::kDeadlineExceeded && !IsLate(request)) {
    history.CountMistake();  // perhaps the thread was not given all that time: the pool will know
    short_runs_.CountOverrun();
    request.overran = true;
    return {};
  } else {
    history.CountUnproven(took);
  }
  short_runs_.CountHere();
  if (status.ok()) stopwatch.Write(out->mutable_timings(), end);
  return status;
}

std::optional<Status> Handlers::TryEvaluate(Request& request, const v1::EvaluateRequest& in,
                                            v1::EvaluateResponse* out) {
  std::optional<Status> status;
  Status guarded = Guard([&] {
    status = EvaluateShort(request, in, out);
    return Status();
  });
  if (!guarded.ok()) return guarded;
  if (status) status = BlameDeadline(*std::move(status), request);
  return status;
}

Status Handlers::Format(Request& request, const v1::FormatRequest& in, v1::FormatResponse* out) {
  request.stages.queue = SecondsSince(request.arrived);
  PB_ASSIGN_OR_RETURN(program::Forms forms, program::Format(in.program(), options_.engine.limits));
  out->set_text(std::move(forms.text));
  *out->mutable_tables() = std::move(forms.tables);
  out->set_canonical_text(std::move(forms.canonical_text));
  out->set_hash(std::move(forms.hash));
  return {};
}

Status Handlers::Explain(Request& request, const v1::ExplainRequest& in, v1::ExplainResponse* out) {
  request.stages.queue = SecondsSince(request.arrived);
  PB_ASSIGN_OR_RETURN(const jit::KernelRequest kernel, ToKernelRequest(in.spec(), &texts_));
  std::vector<std::string> stages(in.stages().begin(), in.stages().end());
  if (stages.empty()) {
    stages.assign(std::begin(kStages), std::end(kStages));
    if (kernel.options.tier == jit::Tier::kBaseline) std::erase(stages, "llvm");  // it has none
  }
  if (stages.size() > kMaxStages) {
    return FieldFault("stages", "there are only " + std::to_string(kMaxStages));
  }
  for (const std::string& stage : stages) {
    PB_RETURN_IF_ERROR(CheckLive(request));
    StatusOr<std::string> text = engine_->Explain(kernel, stage, nullptr, LimitsOf(request));
    if (!text.ok()) return Placed(text.status(), in.spec());
    v1::StageText* message = out->add_stages();
    message->set_stage(stage);
    message->set_text(*std::move(text));
  }
  return {};
}

LoadSample Handlers::Load() const {
  LoadSample load;
  load.engine = engine_->stats();
  if (options_.engine.disk != nullptr) load.disk = options_.engine.disk->stats();
  load.runs = short_runs_.counts();
  return load;
}

void Handlers::Info(v1::GetServerInfoResponse* out) const {
  out->set_version(options_.version);
  out->set_build_id(engine_->build_id());
  out->mutable_backend()->set_name(engine_->backend().name());
  out->mutable_backend()->set_target(engine_->backend().target());
  out->mutable_backend()->set_version(engine_->backend().version());
  v1::ServerLimits* limits = out->mutable_limits();
  limits->set_max_message_bytes(static_cast<int64_t>(options_.max_message_bytes));
  limits->set_max_source_bytes(static_cast<int64_t>(options_.engine.limits.max_source_bytes));
  limits->set_max_nesting(options_.engine.limits.max_nesting);
  limits->set_memory_bytes(options_.memory_budget);
  limits->set_max_depth(options_.max_depth);
  limits->set_default_deadline_seconds(options_.default_deadline);
  limits->set_max_deadline_seconds(options_.max_deadline);
  limits->set_threads(options_.threads);
  limits->set_compile_threads(options_.compile_threads);
  limits->set_queue(static_cast<int64_t>(options_.queue));
  limits->set_cache_bytes(static_cast<int64_t>(options_.engine.cache_bytes));
  const jit::EngineStats stats = engine_->stats();
  v1::ServerLoad* load = out->mutable_load();
  load->set_kernels(stats.kernels);
  load->set_cache_bytes(stats.cache_bytes);
  load->set_cache_hits(stats.hits);
  load->set_cache_misses(stats.misses);
  load->set_cache_evictions(stats.evictions);
  load->set_tier_switches(stats.promotions);
  load->set_failed_tier_switches(stats.failed_promotions);
  if (options_.engine.disk != nullptr) {
    const jit::DiskCacheStats disk = options_.engine.disk->stats();
    load->set_disk_entries(disk.entries);
    load->set_disk_bytes(disk.bytes);
    load->set_disk_hits(disk.hits);
    load->set_disk_misses(disk.misses);
    load->set_disk_damaged(disk.damaged);
    load->set_disk_evictions(disk.evictions);
    load->set_disk_failed_writes(disk.failed_writes);
  }
  out->set_uptime_seconds(Seconds(Clock::now() - started_));
}

}  // namespace pullback::server
