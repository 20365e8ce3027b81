#include "jit/llvm/compile.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>

#include "core/base/work.h"
#include "jit/llvm/emit.h"
#include "jit/llvm/optimise.h"

namespace pullback::jit {
namespace {

// Collects what LLVM complains about instead of printing it.
class Diagnostics : public llvm::DiagnosticHandler {
 public:
  explicit Diagnostics(std::string* found) : found_(found) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getKind() != llvm::DK_StackSize && info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream out(*found_);
    llvm::DiagnosticPrinterRawOStream printer(out);
    info.print(printer);
    out << "; ";
    return true;
  }

 private:
  std::string* found_;
};

std::string Generate(llvm::Module& module, llvm::TargetMachine& machine,
                     llvm::CodeGenFileType type) {
  const NoThrow no_throw;
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  passes.add(new llvm::TargetLibraryInfoWrapperPass(NoLibrary(machine.getTargetTriple())));
  PB_CHECK(!machine.addPassesToEmitFile(passes, out, nullptr, type));
  // LLVM 19's fast selection, which that has chosen at O0, loads the third and fourth float that a call
  // gives back by an instruction that cannot name the registers from xmm16 on: the bytes are no code.
  machine.setFastISel(false);
  passes.run(module);
  return {bytes.begin(), bytes.end()};
}

std::string Text(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out, nullptr);
  return text;
}

void LimitFrames(llvm::Module& module, int64_t bytes) {
  for (llvm::Function& f : module) {
    if (!f.isDeclaration()) f.addFnAttr("warn-stack-size", std::to_string(bytes));
  }
}

llvm::CodeGenFileType FileTypeOf(Stage stage) {
  return stage == Stage::kObject ? llvm::CodeGenFileType::ObjectFile
                                 : llvm::CodeGenFileType::AssemblyFile;
}

}  // namespace

StatusOr<HostTarget> DetectHost() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::InitializeNativeTargetAsmParser();
  HostTarget host;
  host.triple = llvm::sys::getProcessTriple();
  host.cpu = llvm::sys::getHostCPUName().str();
  std::vector<std::pair<std::string, bool>> features;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    features.emplace_back(feature.getKey().str(), feature.getValue());
  }
  std::sort(features.begin(), features.end());
  host.name = llvm::Triple(host.triple).getArchName().str();
  const auto has = [&](const char* name) {
    return std::binary_search(features.begin(), features.end(), std::pair(std::string(name), true));
  };
  for (const auto& [name, there] : features) {
    host.features += (host.features.empty() ? "" : ",") + std::string(there ? "+" : "-") + name;
    if (there) host.name += " +" + name;
  }
  std::string error;
  if (llvm::TargetRegistry::lookupTarget(host.triple, error) == nullptr || !has("fma") ||
      !has("avx2")) {
    return Status(Code::kInternal, "NO_BACKEND",
                  "the host is not an x86-64 with AVX2 and FMA: " + host.name + " " + error);
  }
  host.vector_bytes = has("avx512f") ? 64 : 32;
  return host;
}

Compiler::Machine Compiler::TakeMachine(int opt_level) {
  {
    const std::lock_guard lock(mutex_);
    auto& idle = machines_[opt_level > 0];
    if (!idle.empty()) {
      Machine machine = std::move(idle.back());
      idle.pop_back();
      return machine;
    }
  }
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(host_.triple, error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.TrapUnreachable = true;
  return Machine(target->createTargetMachine(
      host_.triple, host_.cpu, host_.features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      opt_level > 0 ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::None, true));
}

void Compiler::GiveMachine(int opt_level, Machine machine) {
  const std::lock_guard lock(mutex_);
  machines_[opt_level > 0].push_back(std::move(machine));
}

static_assert(loops::kMostAxes == kMaxRank);

StatusOr<std::string> Compiler::Run(const loops::Module& source, const BackendOptions& options,
                                    Stage stage, const std::string& entry_symbol) {
  return Run(source, options, stage, [&](ModuleEmitter& m) { EmitModule(m, entry_symbol); });
}

static_assert(loops::kMostAxes == kMaxRank);

StatusOr<std::string> Compiler::Run(const loops::Module& source, const BackendOptions& options,
                                    Stage stage, const std::function<void(ModuleEmitter&)>& fill) {
  PB_RETURN_IF_ERROR(loops::CheckLimits(source));
  Machine machine = TakeMachine(options.opt_level);
  std::string complaints;
  WantedGate gate;
  llvm::LLVMContext context;
  context.setOptPassGate(gate);
  context.setDiagnosticHandler(std::make_unique<Diagnostics>(&complaints));
  llvm::Module module("pullback", context);
  module.setTargetTriple(host_.triple);
  module.setDataLayout(machine->createDataLayout());
  ModuleEmitter emitter(module, source, host_.vector_bytes);
  fill(emitter);
  LimitFrames(module, FrameLimit(source));
  llvm::raw_string_ostream out(complaints);
  if (llvm::verifyModule(module, &out)) {
    return Status(Code::kInternal, "LLVM_VERIFY", complaints);
  }
  Optimise(module, *machine, options.opt_level);
  std::string result;
  if (Status s = Work::Ask(); s.ok()) {
    result = stage == Stage::kIr ? Text(module) : Generate(module, *machine, FileTypeOf(stage));
  }
  GiveMachine(options.opt_level, std::move(machine));
  PB_RETURN_IF_ERROR(Work::Ask());
  if (!complaints.empty()) {
    return Status(Code::kResourceExhausted, "FRAME_TOO_LARGE",
                  "the program needs more native stack than a function may use: " + complaints);
  }
  return result;
}

}  // namespace pullback::jit
