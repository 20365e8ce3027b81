#include "jit/llvm/nvptx.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Linker/Linker.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/Internalize.h>

#include <algorithm>
#include <mutex>

#include "core/base/sha256.h"
#include "core/base/work.h"
#include "jit/llvm/device_math.h"
#include "jit/llvm/optimise.h"

namespace pullback::jit {
namespace {

constexpr const char* kTriple = "nvptx64-nvidia-cuda";

// The oldest PTX that knows the architecture, so that old drivers take it.
struct Arch {
  const char* name;
  const char* ptx;
};
constexpr Arch kArchs[] = {{"sm_75", "+ptx63"}, {"sm_80", "+ptx70"}, {"sm_86", "+ptx71"},
                           {"sm_87", "+ptx74"}, {"sm_89", "+ptx78"}, {"sm_90", "+ptx78"},
                           {"sm_90a", "+ptx80"}};

StatusOr<Arch> FindArch(const std::string& name) {
  for (const Arch& arch : kArchs) {
    if (name == arch.name) return arch;
  }
  std::string names;
  for (const Arch& arch : kArchs) names += (names.empty() ? "" : ", ") + std::string(arch.name);
  return Status(Code::kInvalidArgument, "UNKNOWN_ARCH",
                "no GPU architecture '" + name + "'; there are: " + names);
}

std::unique_ptr<llvm::TargetMachine> MakeMachine(const Arch& arch) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  PB_CHECK(target != nullptr);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(kTriple, arch.name, arch.ptx, options, llvm::Reloc::PIC_,
                                  std::nullopt, llvm::CodeGenOptLevel::Default));
}

// What of our math the kernels call, and nothing else.
Status LinkMath(llvm::Module& module) {
  const std::string_view bytes = DeviceMathBitcode();
  auto math = llvm::parseBitcodeFile({{bytes.data(), bytes.size()}, "math"}, module.getContext());
  if (!math) return {Code::kInternal, "DEVICE_MATH", llvm::toString(math.takeError())};
  for (llvm::Function& f : **math) {
    f.removeFnAttr("target-cpu");  // ours, so that they may be inlined
    f.removeFnAttr("target-features");
  }
  (*math)->setTargetTriple(module.getTargetTriple());
  (*math)->setDataLayout(module.getDataLayout());
  if (llvm::Linker::linkModules(module, std::move(*math), llvm::Linker::LinkOnlyNeeded)) {
    return {Code::kInternal, "DEVICE_MATH", "the math of devices does not link"};
  }
  for (const llvm::Function& f : module) {
    if (f.isDeclaration() && !f.isIntrinsic() && !f.use_empty()) {
      return {Code::kUnimplemented, "NOT_ON_DEVICE",
              "there is no " + f.getName().str() + " on the device yet"};
    }
  }
  return {};
}

void OptimiseForDevice(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = false;
  llvm::internalizeModule(module, [](const llvm::GlobalValue& value) {
    const auto* f = llvm::dyn_cast<llvm::Function>(&value);
    return f != nullptr && f->getCallingConv() == llvm::CallingConv::PTX_Kernel;
  });
  RunPasses(module, machine, tuning, [](llvm::PassBuilder& builder) {
    return builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2);
  });
}

}  // namespace

const std::vector<std::string>& NvptxArchs() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Arch& arch : kArchs) all.emplace_back(arch.name);
    return all;
  }();
  return names;
}

StatusOr<std::string> WritePtx(const loops::Module& source, const Offload& offload,
                               const std::string& arch_name) {
  PB_ASSIGN_OR_RETURN(const Arch arch, FindArch(arch_name));
  const auto machine = MakeMachine(arch);
  WantedGate gate;
  llvm::LLVMContext context;
  context.setOptPassGate(gate);
  llvm::Module module("pullback", context);
  module.setTargetTriple(kTriple);
  module.setDataLayout(machine->createDataLayout());
  ModuleEmitter emitter(module, source, 0);
  EmitKernels(emitter, offload, /*host=*/false, "");
  std::string complaints;
  llvm::raw_string_ostream out(complaints);
  if (llvm::verifyModule(module, &out)) return Status(Code::kInternal, "LLVM_VERIFY", complaints);
  PB_RETURN_IF_ERROR(LinkMath(module));
  OptimiseForDevice(module, *machine);
  PB_RETURN_IF_ERROR(Work::Ask());
  const NoThrow no_throw;
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream text(bytes);
  llvm::legacy::PassManager passes;
  passes.add(new llvm::TargetLibraryInfoWrapperPass(NoLibrary(machine->getTargetTriple())));
  PB_CHECK(
      !machine->addPassesToEmitFile(passes, text, nullptr, llvm::CodeGenFileType::AssemblyFile));
  passes.run(module);
  PB_RETURN_IF_ERROR(Work::Ask());
  return std::string(bytes.begin(), bytes.end());
}

std::string DeviceMathVersion() {
  static const std::string version =
      "math-" + Sha256Hex(std::string(DeviceMathBitcode())).substr(0, 16);
  return version;
}

}  // namespace pullback::jit
