#include "jit/run.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "jit/arguments.h"
#include "jit/interrupt.h"
#include "jit/leaves.h"
#include "jit/results.h"
#include "jit/tensor_results.h"
#include "jit/trap.h"
#include "jit/watchdog.h"

namespace pullback::jit {
namespace {

using Clock = std::chrono::steady_clock;

// What a thread keeps between its runs.
struct Workspace {
  RunContext context;
  Watch watch;
  InputLeaves leaves;
  std::vector<Array> headers;  // of input arrays
  std::vector<uint64_t> arguments;
  std::vector<uint64_t> results;
};

Workspace& ThisThreads() {
  thread_local Workspace workspace;
  return workspace;
}

// Arrays of a request are read where they lie: pinned, they are never unique, so never written to.
uint64_t PinArray(const TensorView& t, Array* header) {
  header->refs = kPinned;
  header->data = const_cast<uint8_t*>(t.data.data());
  std::copy(t.shape.begin(), t.shape.end(), header->dims);
  header->bytes = static_cast<int64_t>(t.data.size());
  header->prev = header->next = nullptr;
  header->device = nullptr;
  return reinterpret_cast<uint64_t>(header);
}

uint64_t ScalarSlot(const TensorView& t) {
  uint64_t slot = 0;
  std::memcpy(&slot, t.data.data(), t.data.size());
  return slot;
}

void FillSlots(Workspace& w) {
  const size_t count = w.leaves.params.size() + w.leaves.seeds.size();
  w.headers.resize(count);
  w.arguments.resize(count);
  size_t slot = 0;
  for (const auto* leaves : {&w.leaves.params, &w.leaves.seeds}) {
    for (const TensorView& t : *leaves) {
      w.arguments[slot] = t.shape.empty() ? ScalarSlot(t) : PinArray(t, &w.headers[slot]);
      ++slot;
    }
  }
}

// `used`: what was taken for the inputs already.
void PrepareContext(RunContext* c, const Blas* blas, const RunLimits& limits, int64_t used) {
  c->stop.store(0, std::memory_order_relaxed);
  c->max_depth = limits.max_depth;
  c->bytes_budget = limits.memory_bytes;
  c->bytes_used = used;
  c->peak_bytes = used;
  c->blas = blas;
  c->contractions = 0;
}

// Everything that belongs to one run ends with it, however it ends.
class RunScope {
 public:
  RunScope(Workspace& w, const Blas* blas, const RunLimits& limits)
      : w_(w), armed_(limits.deadline || limits.cancelled) {
    PrepareContext(&w.context, blas, limits, w.leaves.relation_bytes);
    if (armed_) w.watch.Arm(&w.context, limits.deadline, limits.cancelled.get());
  }
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;
  ~RunScope() {
    if (armed_) w_.watch.Disarm();
    w_.context.device = nullptr;  // its buffers go by themselves; arrays are freed without it
    ResetContext(&w_.context);
    if (!w_.leaves.relations.empty()) w_.leaves.relations.clear();
  }

 private:
  Workspace& w_;
  const bool armed_;
};

Trap TrapOf(const RunContext& c) {
  return {static_cast<ir::TrapKind>(c.trap_kind), c.trap_loc, c.trap_a, c.trap_b};
}

// Why results did not come back.
Status Ended(const DeviceRun& device, const RunContext& c, const Places& places) {
  if (!device.status().ok()) return device.status();
  return TrapStatus({ir::TrapKind::kStopped, 0, c.stop.load(std::memory_order_relaxed), 0}, places);
}

// Runs on the leaves that are collected; `copy_results` (RunContext*, slots) takes the results out.
template <typename CopyResultsOut>
Status RunLeaves(Workspace& w, const Kernel& kernel, const TextView& view, const RunLimits& limits,
                 const CopyResultsOut& copy_results, RunReport* report) {
  FillSlots(w);
  w.results.resize(kernel.layout().results());
  const RunScope scope(w, kernel.blas(), limits);
  const std::shared_ptr<const TieredCode::Code> code = kernel.code().current();
  const Clock::time_point start = Clock::now();
  PB_ASSIGN_OR_RETURN(const std::unique_ptr<DeviceRun> device, code->loaded->StartRun(&w.context));
  w.context.device = device.get();
  if (!MakeInputLists(&w.context, w.leaves.lists, w.arguments) ||
      !RunKernel(code->loaded->entry(), &w.context, w.arguments.data(), w.results.data())) {
    if (device != nullptr && !device->status().ok()) return device->status();
    return TrapStatus(TrapOf(w.context), {view.places, view.text});
  }
  if (device != nullptr && !BringHome(&w.context))
    return Ended(*device, w.context, {view.places, view.text});
  PB_RETURN_IF_ERROR(copy_results(&w.context, w.results.data()));
  report->execute_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  report->peak_bytes = w.context.peak_bytes;
  report->tier = code->tier;
  report->target = kernel.target();
  if (device != nullptr) report->launches = device->launches();
  report->contractions = w.context.contractions;
  if (report->contractions > 0) {
    report->contracted_by = device != nullptr ? device->blas() : kernel.blas()->name;
  }
  return {};
}

}  // namespace

StatusOr<Outputs> RunOnce(const Kernel& kernel, const TextView& view, const Inputs& inputs,
                          const RunLimits& limits) {
  PB_RETURN_IF_ERROR(CheckLive(limits));
  Workspace& w = ThisThreads();
  const Status collected = CollectInputs(view, kernel.derivation(), inputs, kernel.layout().reads,
                                         limits.memory_bytes, &w.leaves);
  if (!collected.ok()) {
    w.leaves.relations.clear();
    return collected;
  }
  Outputs outputs;
  const auto copy = [&](RunContext* context, const uint64_t* slots) {
    return CopyResults(context, view, kernel.derivation(), slots, &outputs);
  };
  PB_RETURN_IF_ERROR(RunLeaves(w, kernel, view, limits, copy, &outputs));
  if (kernel.derivation().transform == Transform::kVjp) {
    PB_RETURN_IF_ERROR(CheckCotangent(view, inputs.seeds[0], outputs.value));
  }
  return outputs;
}

bool RunsOnTensors(const Kernel& kernel, const TextView& view) {
  const Derivation& derivation = kernel.derivation();
  if (!view.tensors) return false;
  switch (derivation.transform) {
    case Transform::kValue: return true;
    case Transform::kJacobian:
    case Transform::kHessian: return false;
    default: return IsFloat(view.signature.result.dtype);
  }
}

StatusOr<RunReport> RunOnce(const Kernel& kernel, const TextView& view, const TensorInputs& inputs,
                            const RunLimits& limits, TensorSink* sink) {
  PB_CHECK(RunsOnTensors(kernel, view));
  PB_RETURN_IF_ERROR(CheckLive(limits));
  Workspace& w = ThisThreads();
  PB_RETURN_IF_ERROR(CollectInputs(view, kernel.derivation(), inputs, &w.leaves));
  RunReport report;
  const auto copy = [&](RunContext* context, const uint64_t* slots) {
    return CopyTensors(context, view, kernel.derivation(), slots, inputs, sink);
  };
  PB_RETURN_IF_ERROR(RunLeaves(w, kernel, view, limits, copy, &report));
  return report;
}

}  // namespace pullback::jit
