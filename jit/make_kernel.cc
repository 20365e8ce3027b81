#include "jit/make_kernel.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/loops/lower.h"
#include "jit/interrupt.h"
#include "jit/list_types.h"
#include "jit/trap.h"

namespace pullback::jit {
namespace {

// Whether the types are those of the slots, of `first` and then of `then`.
bool Match(const ir::Module& module, const std::vector<ir::Type>& types,
           const std::vector<Slot>& first, const std::vector<Slot>& then,
           const ApiStructs& structs) {
  std::vector<Slot> slots = first;
  slots.insert(slots.end(), then.begin(), then.end());
  return std::equal(
      types.begin(), types.end(), slots.begin(), slots.end(), [&](ir::Type type, const Slot& slot) {
        return slot.list == nullptr ? type == slot.type
                                    : IsListOf(PlanOf(*slot.list, structs), module, type);
      });
}

// Runs trust the layout with the client's memory, so that a pass that departs from it must not pass.
Status CheckSignature(const ir::Module& module, const SlotLayout& slots,
                      const ApiStructs& structs) {
  const ir::Function& entry = module.Get(module.entry);
  std::vector<ir::Type> params;
  for (ir::Value v : entry.params()) params.push_back(entry.TypeOf(v));
  if (Match(module, params, slots.params, slots.seeds, structs) &&
      Match(module, entry.results, slots.values, slots.derivatives, structs)) {
    return {};
  }
  return {Code::kInternal, "SIGNATURE_MISMATCH",
          "the derived entry '" + entry.name + "' does not have the types of its signature"};
}

std::vector<bool> ReadParams(const ir::Module& module) {
  const ir::Function& entry = module.Get(module.entry);
  std::vector<bool> used(entry.values.size());
  const auto use = [&](ir::Value v) { used[v.id] = true; };
  for (const ir::Block& block : entry.blocks) {
    for (const ir::Inst& inst : block.insts) ir::ForEachOperand(inst, use);
    ir::ForEachTermOperand(block.term, use);
  }
  std::vector<bool> reads;
  for (ir::Value v : entry.params()) reads.push_back(used[v.id]);
  return reads;
}

}  // namespace

namespace {

StatusOr<pipeline::Staged> DoStage(const Reading& reading, const Derivation& derivation,
                                   const pipeline::Options& options, const lang::Limits& limits,
                                   Progress& progress) {
  const Places places{reading.canonical.places, reading.text};
  StatusOr<ir::Module> ssa = lang::Lower(reading.program, reading.entry, limits);
  if (!ssa.ok()) return PlaceStatus(ssa.status(), places);
  PB_RETURN_IF_ERROR(progress.Lap("lower"));
  pipeline::Options passes = options;
  passes.sparse = derivation.sparse;
  passes.max_insts = limits.max_ir_insts;
  StatusOr<pipeline::Staged> staged = pipeline::Derive(
      *ssa, derivation.transform, WrtLeaves(reading.signature, derivation), passes);
  if (!staged.ok()) return PlaceStatus(staged.status(), places);
  PB_RETURN_IF_ERROR(progress.Lap("derive"));
  return staged;
}

struct Generated {
  std::unique_ptr<LoadedCode> code;
  ObjectCode object;
};

StatusOr<Generated> Generate(const loops::Module& loops, int opt_level, Backend& backend,
                             Progress& progress) {
  Generated made;
  PB_ASSIGN_OR_RETURN(made.object, backend.Compile(loops, {opt_level}));
  PB_RETURN_IF_ERROR(progress.Lap("codegen"));
  PB_ASSIGN_OR_RETURN(made.code, backend.Load(made.object));
  PB_RETURN_IF_ERROR(progress.Lap("link"));
  return made;
}

// What has no place of the user's own, and could have one, is said of the entry.
Status PlaceRefusal(const Status& status, const Reading& reading) {
  Status placed = PlaceStatus(status, {reading.canonical.places, reading.text});
  if (status.reason() != "NOT_ON_DEVICE") return placed;
  std::vector<Diagnostic> diagnostics = placed.diagnostics();
  const auto has_line = [](const Diagnostic& d) { return d.span.line > 0; };
  if (std::any_of(diagnostics.begin(), diagnostics.end(), has_line)) return placed;
  const auto& functions = reading.program.functions;
  const auto entry = std::find_if(functions.begin(), functions.end(),
                                  [&](const auto& f) { return f->name == reading.entry; });
  PB_CHECK(entry != functions.end());
  const Span span = (*entry)->span;
  if (span.line == 0) return placed;  // the entry is a function of the prelude
  diagnostics.push_back(
      {Severity::kError, span, placed.message(), MakeExcerpt(reading.text, span)});
  return {placed.code(), placed.reason(), placed.message(), std::move(diagnostics)};
}

struct MadeCode {
  std::unique_ptr<TieredCode> code;
  std::optional<StoredKernel> stored;
  Target target = Target::kCpu;
};

MadeCode ForGood(Target target, Tier tier, Generated made, const Layout& layout) {
  return {std::make_unique<TieredCode>(tier, std::move(made.code), std::nullopt),
          StoredKernel{target, tier, layout.reads, std::move(made.object)}, target};
}

// What has nothing for a device stays on the CPU, unless that was ruled out.
StatusOr<MadeCode> MakeDeviceCode(const loops::Module& loops, const Layout& layout,
                                  const Build& build, DeviceBackend& device, Progress& progress) {
  StatusOr<Generated> made = Generate(loops, build.opt_level, device, progress);
  if (made.ok()) return ForGood(Target::kCuda, Tier::kLlvm, *std::move(made), layout);
  const bool lacks = made.status().code() == Code::kUnimplemented;
  if (build.target == Target::kAuto && lacks) return MadeCode{};
  return made.status();
}

// Where nobody has asked for tier 0, LLVM compiles what would need too much of the stack there. What LLVM would
// not optimise stays in tier 0, which is as fast and there at once.
StatusOr<MadeCode> MakeCode(loops::Module loops, const Layout& layout, const Build& build,
                            const Backends& backends, Progress& progress) {
  if (build.tier != Tier::kLlvm && backends.baseline != nullptr) {
    StatusOr<Generated> made = Generate(loops, build.opt_level, *backends.baseline, progress);
    if (made.ok() && (build.tier == Tier::kBaseline || !backends.llvm.Optimises(loops))) {
      return ForGood(Target::kCpu, Tier::kBaseline, *std::move(made), layout);
    }
    if (made.ok()) {
      TieredCode::Later later{std::move(loops), build.opt_level};
      return MadeCode{
          std::make_unique<TieredCode>(Tier::kBaseline, std::move(made->code), std::move(later)),
          std::nullopt, Target::kCpu};
    }
    if (build.tier == Tier::kBaseline || made.status().reason() != "FRAME_TOO_LARGE") {
      return made.status();
    }
  }
  PB_ASSIGN_OR_RETURN(Generated made, Generate(loops, build.opt_level, backends.llvm, progress));
  return ForGood(Target::kCpu, Tier::kLlvm, std::move(made), layout);
}

StatusOr<MadeKernel> DoMakeKernel(const Reading& reading, const Build& build,
                                  const lang::Limits& limits, const Backends& backends,
                                  Progress& progress) {
  PB_ASSIGN_OR_RETURN(const pipeline::Staged staged,
                      DoStage(reading, reading.derivation, build.passes, limits, progress));
  const SlotLayout slots = MakeSlots(reading.signature, reading.derivation);
  PB_RETURN_IF_ERROR(CheckSignature(staged.final, slots, reading.signature.structs));
  Layout layout = MakeLayout(slots);
  layout.reads = ReadParams(staged.final);
  PB_ASSIGN_OR_RETURN(loops::Module loops,
                      loops::LowerToLoops(staged.final, LowerOptionsOf(build)));
  PB_RETURN_IF_ERROR(progress.Lap("loops"));
  MadeCode made;
  if (build.target != Target::kCpu) {
    StatusOr<MadeCode> there = MakeDeviceCode(loops, layout, build, *backends.device, progress);
    if (!there.ok()) return PlaceRefusal(there.status(), reading);
    made = *std::move(there);
  }
  if (made.code == nullptr) {
    PB_ASSIGN_OR_RETURN(made, MakeCode(std::move(loops), layout, build, backends, progress));
  }
  return MadeKernel{std::make_shared<const Kernel>(reading.derivation, std::move(layout),
                                                   std::move(made.code), made.target, build.blas),
                    std::move(made.stored)};
}

}  // namespace

StatusOr<pipeline::Staged> Stage(const Reading& reading, const Derivation& derivation,
                                 const pipeline::Options& options, const lang::Limits& limits,
                                 Progress& progress) {
  return WhileWanted(progress.limits(),
                     [&] { return DoStage(reading, derivation, options, limits, progress); });
}

StatusOr<MadeKernel> MakeKernel(const Reading& reading, const Build& build,
                                const lang::Limits& limits, const Backends& backends,
                                Progress& progress) {
  return WhileWanted(progress.limits(),
                     [&] { return DoMakeKernel(reading, build, limits, backends, progress); });
}

StatusOr<std::shared_ptr<const Kernel>> RestoreKernel(const Reading& reading,
                                                      const StoredKernel& stored,
                                                      const Build& build, const Backends& backends,
                                                      Progress& progress) {
  Layout layout = MakeLayout(MakeSlots(reading.signature, reading.derivation));
  Backend* backend = stored.tier == Tier::kLlvm ? &backends.llvm : backends.baseline;
  if (stored.target == Target::kCuda) {
    backend = build.target == Target::kCpu ? nullptr : backends.device;
  }
  if (stored.reads.size() != layout.arguments() || backend == nullptr) {
    return Status(Code::kInternal, "OBJECT_REJECTED", "what was kept is of another program");
  }
  layout.reads = stored.reads;
  PB_ASSIGN_OR_RETURN(std::unique_ptr<LoadedCode> loaded, backend->Load(stored.object));
  PB_RETURN_IF_ERROR(progress.Lap("link"));
  auto code = std::make_unique<TieredCode>(stored.tier, std::move(loaded), std::nullopt);
  return std::shared_ptr<const Kernel>(std::make_shared<const Kernel>(
      reading.derivation, std::move(layout), std::move(code), stored.target, build.blas));
}

}  // namespace pullback::jit
