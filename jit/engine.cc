#include "jit/engine.h"

#include <utility>

#include "jit/cache.h"
#include "jit/disk_cache.h"
#include "jit/explain.h"
#include "jit/flight.h"
#include "jit/interrupt.h"
#include "jit/kernel.h"
#include "jit/make_kernel.h"
#include "jit/progress.h"
#include "jit/promoter.h"
#include "jit/reading.h"
#include "jit/run.h"

namespace pullback::jit {
namespace {

constexpr const char* kEngineVersion =
    "engine-2";  // of the key and of what a kernel takes and gives

std::string BuildId(const Backend& llvm, const Backend* baseline) {
  std::string id = std::string(kEngineVersion) + " passes-" + pipeline::kPassesVersion;
  id += " " + llvm.version() + " " + llvm.target();
  if (baseline != nullptr) id += " " + baseline->version() + " " + baseline->target();
  return id;
}

// By a flight.
struct Made {
  KernelPtr kernel;
  std::shared_ptr<const TextView> view;  // of the text that it was made of; null: it was there
};

struct Alias {
  std::string kernel_id;
  std::shared_ptr<const TextView> view;
};

}  // namespace

struct Engine::Impl {
  Impl(EngineOptions o, std::shared_ptr<Backend> with_llvm, std::shared_ptr<Backend> with_baseline)
      : options(std::move(o)),
        llvm(std::move(with_llvm)),
        baseline(std::move(with_baseline)),
        build_id(BuildId(*llvm, baseline.get())),
        kernels(options.cache_bytes),
        aliases(options.alias_bytes) {}

  StatusOr<Build> BuildOf(const CompileOptions& asked) const;
  Status ResolveTarget(const CompileOptions& asked, Build* build) const;
  Status ResolveContractions(const CompileOptions& asked, Build* build) const;
  Backends All() const { return {*llvm, baseline.get(), options.device.get()}; }
  std::optional<Handle> FindAlias(const std::string& alias);
  StatusOr<Made> Make(const std::string& kernel_id, Reading& reading, const Build& build,
                      Progress& progress);
  StatusOr<KernelPtr> Restore(const std::string& kernel_id, const Reading& reading,
                              const Build& build, Progress& progress);
  void Store(const std::string& kernel_id, const StoredKernel& stored);
  StatusOr<Handle> Compile(const KernelRequest& request, const Build& build,
                           const std::string& alias, const RunLimits& limits);
  template <typename Result, typename Once>
  StatusOr<Result> Run(const Handle& handle, const RunLimits& limits, const Once& once);
  Status Promote(const std::string& kernel_id, const KernelPtr& kernel, const RunLimits& limits);
  void PromoteInBackground(const Handle& handle);

  const EngineOptions options;
  const std::shared_ptr<Backend> llvm;
  const std::shared_ptr<Backend> baseline;  // may be none
  const std::string build_id;
  ByteLru<HandlePtr> kernels;  // with the views of the first texts
  ByteLru<Alias> aliases;
  SingleFlight flights;
  std::atomic<int64_t> alias_hits{0};
  std::atomic<int64_t> promotions{0}, failed_promotions{0};
  Promoter promoter;  // last: its tasks use the others
};

// Where kAuto finds no device it is the CPU, and the kernel the CPU's.
Status Engine::Impl::ResolveTarget(const CompileOptions& asked, Build* build) const {
  build->target = asked.target;
  if (asked.target == Target::kCpu) return {};
  if (asked.target == Target::kCuda && asked.tier != Tier::kAuto) {
    return {Code::kInvalidArgument, "INVALID_OPTION", "tiers are the CPU's; a device has none"};
  }
  Status there =
      options.device == nullptr || asked.tier != Tier::kAuto
          ? Status(Code::kFailedPrecondition, "NO_DEVICE", "there is no CUDA device here")
          : options.device->available();
  if (there.ok()) {
    build->id += " " + options.device->version() + " " + options.device->target();
  } else if (asked.target == Target::kAuto) {
    build->target = Target::kCpu;
  } else {
    return there;
  }
  return {};
}

// What a library computes depends on its version and on the core that it has chosen code for. What was to run
// anywhere may run on the CPU.
Status Engine::Impl::ResolveContractions(const CompileOptions& asked, Build* build) const {
  build->contractions = asked.contractions;
  if (asked.contractions == Contractions::kExact) return {};
  if (asked.target != Target::kCuda) {
    PB_ASSIGN_OR_RETURN(build->blas, LoadBlas(options.blas));
    build->id += " " + build->blas->name;
  }
  if (build->target != Target::kCpu) build->id += " " + options.device->blas();
  return {};
}

StatusOr<Build> Engine::Impl::BuildOf(const CompileOptions& asked) const {
  Build build;
  build.passes.optimise = asked.optimise;
  build.opt_level = asked.opt_level == -1 ? options.opt_level : asked.opt_level;
  build.tier = asked.tier;
  build.passes.mixed = asked.mixed;
  build.id = build_id;
  if (build.tier == Tier::kBaseline && baseline == nullptr) {
    return Status(Code::kFailedPrecondition, "NO_TIER", "there is no tier 0 here");
  }
  PB_RETURN_IF_ERROR(ResolveTarget(asked, &build));
  PB_RETURN_IF_ERROR(ResolveContractions(asked, &build));
  if (build.opt_level == 0 || build.opt_level == 2) return build;
  return Status(
      Code::kInvalidArgument, "INVALID_OPTION",
      "there is no optimisation level " + std::to_string(build.opt_level) + "; there are 0 and 2");
}

// A text seen before, whose kernel is still there: nothing is parsed.
std::optional<Handle> Engine::Impl::FindAlias(const std::string& alias) {
  std::optional<Alias> known = aliases.Find(alias);
  if (!known) return std::nullopt;
  const std::optional<HandlePtr> resident = kernels.Find(known->kernel_id);
  if (!resident) return std::nullopt;
  alias_hits.fetch_add(1, std::memory_order_relaxed);
  return Handle{std::move(known->kernel_id),
                (*resident)->kernel,
                std::move(known->view),
                /*cache_hit=*/true,
                {}};
}

// From the disk; nothing when it is not there, or no good.
StatusOr<KernelPtr> Engine::Impl::Restore(const std::string& kernel_id, const Reading& reading,
                                          const Build& build, Progress& progress) {
  if (options.disk == nullptr) return KernelPtr();
  const std::optional<std::string> bytes = options.disk->Get(kernel_id);
  if (!bytes) return KernelPtr();
  PB_RETURN_IF_ERROR(progress.Lap("disk"));
  if (const auto stored = ReadStoredKernel(*bytes)) {
    auto kernel = RestoreKernel(reading, *stored, build, All(), progress);
    if (kernel.ok() || IsInterruption(kernel.status())) return kernel;
    // A device that fails says nothing of the entry.
    const bool rejected = kernel.status().reason() == "OBJECT_REJECTED";
    if (stored->target == Target::kCuda && !rejected) return kernel;
  }
  options.disk->Remove(kernel_id);
  return KernelPtr();
}

// In the background: a disk takes its time.
void Engine::Impl::Store(const std::string& kernel_id, const StoredKernel& stored) {
  if (options.disk == nullptr) return;
  promoter.Add([this, kernel_id, bytes = Write(stored)] { options.disk->Put(kernel_id, bytes); });
}

// Makes the kernel and consumes the reading, unless it is there: the last flight may have landed
// between the look-up and this one. It is in the cache before this flight lands, for the same reason.
StatusOr<Made> Engine::Impl::Make(const std::string& kernel_id, Reading& reading,
                                  const Build& build, Progress& progress) {
  if (const std::optional<HandlePtr> resident = kernels.Peek(kernel_id)) {
    return Made{(*resident)->kernel, nullptr};
  }
  Made made;
  PB_ASSIGN_OR_RETURN(made.kernel, Restore(kernel_id, reading, build, progress));
  if (made.kernel == nullptr) {
    PB_ASSIGN_OR_RETURN(MadeKernel fresh,
                        MakeKernel(reading, build, options.limits, All(), progress));
    made.kernel = std::move(fresh.kernel);
    if (fresh.stored) Store(kernel_id, *fresh.stored);
  }
  made.view = MakeView(std::move(reading));
  const Handle handle{kernel_id, made.kernel, made.view, /*cache_hit=*/true, {}};
  kernels.Insert(kernel_id, std::make_shared<const Handle>(handle),
                 made.kernel->bytes() + ViewBytes(*made.view));
  return made;
}

StatusOr<Handle> Engine::Impl::Compile(const KernelRequest& request, const Build& build,
                                       const std::string& alias, const RunLimits& limits) {
  Progress progress(limits);
  PB_ASSIGN_OR_RETURN(Reading reading, ReadProgram(request, options.limits, progress));
  Handle handle;
  handle.kernel_id = KernelId(reading.canonical.text, reading.derivation, build);
  if (const std::optional<HandlePtr> resident = kernels.Find(handle.kernel_id)) {
    handle.kernel = (*resident)->kernel;
    handle.cache_hit = true;
  } else {
    const auto make = [&]() -> StatusOr<KernelPtr> {
      PB_ASSIGN_OR_RETURN(Made made, Make(handle.kernel_id, reading, build, progress));
      handle.view = std::move(made.view);
      return std::move(made.kernel);
    };
    PB_ASSIGN_OR_RETURN(handle.kernel, flights.Get(handle.kernel_id, alias, limits, make));
    if (!handle.view) PB_RETURN_IF_ERROR(progress.Lap("wait"));
  }
  if (!handle.view) handle.view = MakeView(std::move(reading));
  handle.timings = progress.Take();
  aliases.Insert(alias, {handle.kernel_id, handle.view}, alias.size() + ViewBytes(*handle.view));
  return handle;
}

// LLVM's code in place of tier 0's, where LLVM can; the cache hears of its size. Only an interruption of
// the caller is an error.
Status Engine::Impl::Promote(const std::string& kernel_id, const KernelPtr& kernel,
                             const RunLimits& limits) {
  PB_ASSIGN_OR_RETURN(TieredCode::Improvement made, kernel->code().Improve(*llvm, limits));
  if (!made.mine) return {};
  if (!made.status.ok()) {
    ++failed_promotions;
    if (options.on_failed_promotion) options.on_failed_promotion(made.status);
    return {};
  }
  ++promotions;
  Store(kernel_id, {Target::kCpu, Tier::kLlvm, kernel->layout().reads, std::move(made.object)});
  std::optional<HandlePtr> resident = kernels.Peek(kernel_id);
  if (resident && (*resident)->kernel == kernel) {
    const size_t bytes = kernel->bytes() + ViewBytes(*(*resident)->view);
    kernels.Insert(kernel_id, *std::move(resident), bytes);
  }
  return {};
}

void Engine::Impl::PromoteInBackground(const Handle& handle) {
  promoter.Add([this, id = handle.kernel_id, kernel = std::weak_ptr(handle.kernel)] {
    const KernelPtr alive = kernel.lock();
    if (alive) static_cast<void>(Promote(id, alive, {}));  // only the promoter's end interrupts it
  });
}

// A run in tier 0 has only as long as LLVM would take to compile; then it begins again in LLVM's code.
// once: (limits) to a Result, which is a RunReport.
template <typename Result, typename Once>
StatusOr<Result> Engine::Impl::Run(const Handle& handle, const RunLimits& limits,
                                   const Once& once) {
  TieredCode& code = handle.kernel->code();
  if (const auto patience = code.patience()) {
    const auto until = std::chrono::steady_clock::now() + *patience;
    RunLimits first = limits;
    const bool earlier = !limits.deadline || until < *limits.deadline;
    if (earlier) first.deadline = until;
    StatusOr<Result> outputs = once(first);
    if (outputs.ok() && code.Count(outputs->execute_seconds)) PromoteInBackground(handle);
    if (outputs.ok() || !earlier || outputs.status().code() != Code::kDeadlineExceeded) {
      return outputs;
    }
    if (Status s = Promote(handle.kernel_id, handle.kernel, limits); !s.ok()) {
      PromoteInBackground(handle);  // for who asks next
      return s;
    }
  }
  return once(limits);
}

Engine::Engine(EngineOptions options, std::shared_ptr<Backend> llvm,
               std::shared_ptr<Backend> baseline)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(llvm), std::move(baseline))) {}
Engine::~Engine() = default;

StatusOr<Handle> Engine::Compile(const KernelRequest& request, const RunLimits& limits) {
  PB_RETURN_IF_ERROR(CheckLive(limits));
  PB_ASSIGN_OR_RETURN(const Build build, impl_->BuildOf(request.options));
  const lang::Limits& limit = impl_->options.limits;
  if (request.program.size() > limit.max_source_bytes) {
    return lang::Parse(request.program, limit).status();  // refuses it, before it is hashed
  }
  const std::string alias = AliasKey(request, build.opt_level);
  if (std::optional<Handle> handle = impl_->FindAlias(alias)) return *std::move(handle);
  return impl_->Compile(request, build, alias, limits);
}

StatusOr<HandlePtr> Engine::Find(const std::string& kernel_id) {
  std::optional<HandlePtr> resident = impl_->kernels.Find(kernel_id);
  if (resident) return *std::move(resident);
  return Status(Code::kFailedPrecondition, "KERNEL_NOT_RESIDENT",
                "the kernel is not here (any more); send the program");
}

StatusOr<Outputs> Engine::Run(const Handle& handle, const Inputs& inputs, const RunLimits& limits) {
  PB_CHECK(handle.kernel && handle.view);
  return impl_->Run<Outputs>(handle, limits, [&](const RunLimits& within) {
    return RunOnce(*handle.kernel, *handle.view, inputs, within);
  });
}

bool Engine::RunsOnTensors(const Handle& handle) {
  return jit::RunsOnTensors(*handle.kernel, *handle.view);
}

StatusOr<RunReport> Engine::Run(const Handle& handle, const TensorInputs& inputs,
                                const RunLimits& limits, TensorSink* sink) {
  PB_CHECK(handle.kernel && handle.view);
  return impl_->Run<RunReport>(handle, limits, [&](const RunLimits& within) {
    return RunOnce(*handle.kernel, *handle.view, inputs, within, sink);
  });
}

StatusOr<std::string> Engine::Explain(const KernelRequest& request, const std::string& stage,
                                      const Inputs* inputs, const RunLimits& limits) {
  PB_RETURN_IF_ERROR(CheckStage(stage));
  // The code of a device can be shown where there is none.
  KernelRequest shown = request;
  if (stage.starts_with("ptx")) shown.options.target = Target::kCpu;
  PB_ASSIGN_OR_RETURN(Build build, impl_->BuildOf(shown.options));
  if (stage.starts_with("ptx")) build.target = Target::kCuda;  // its loops are those of a device
  Progress progress(limits);
  PB_ASSIGN_OR_RETURN(Reading reading, ReadProgram(request, impl_->options.limits, progress));
  Backend* backend = build.tier == Tier::kBaseline ? impl_->baseline.get() : impl_->llvm.get();
  if (stage.starts_with("ptx")) backend = impl_->options.device.get();
  if (backend == nullptr) {
    return Status(Code::kFailedPrecondition, "NO_DEVICE", "there is no back end for devices here");
  }
  return ExplainStage(std::move(reading), build, impl_->options.limits, *backend, stage, inputs,
                      progress);
}

EngineStats Engine::stats() const {
  const CacheStats kernels = impl_->kernels.stats();
  return {kernels.entries,   kernels.bytes,     kernels.hits,      kernels.misses,
          impl_->alias_hits, kernels.evictions, impl_->promotions, impl_->failed_promotions};
}

void Engine::DrainBackground() { impl_->promoter.Drain(); }

const Backend& Engine::backend() const { return *impl_->llvm; }

std::string Engine::build_id() const { return impl_->build_id; }

}  // namespace pullback::jit
