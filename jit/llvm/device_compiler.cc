#include "jit/llvm/device_compiler.h"

#include <llvm/Config/llvm-config.h>

#include "jit/llvm/compile.h"
#include "jit/llvm/load.h"
#include "jit/llvm/nvptx.h"

namespace pullback::jit {
namespace {

constexpr const char* kEntrySymbol = "pb_kernel";
constexpr const char* kVersion = "device-5";  // raise it when emitted code changes

class LlvmDeviceCompiler : public DeviceCompiler {
 public:
  LlvmDeviceCompiler(HostTarget host, std::shared_ptr<Linker> linker)
      : compiler_(std::move(host)), linker_(std::move(linker)) {}

  std::string version() const override {
    return std::string("llvm-") + LLVM_VERSION_STRING + "/" + kVersion + "/" + DeviceMathVersion();
  }
  std::string target() const override { return compiler_.host().name; }

  StatusOr<DeviceCode> Compile(const loops::Module& module, const BackendOptions& options,
                               const std::string& arch) override {
    PB_RETURN_IF_ERROR(loops::CheckLimits(module));
    const auto offload = std::make_shared<const Offload>(module);
    DeviceCode code;
    for (const loops::OffloadPlan& plan : offload->plans) {
      for (const auto& refusal : plan.refusals) {
        code.refusals.push_back(refusal.why);
        if (code.refused_at == 0) code.refused_at = refusal.loc;
      }
    }
    code.kernels = offload->Describe(module);
    if (offload->kernels.empty()) return code;
    if (arch == kHostArch) {
      PB_ASSIGN_OR_RETURN(code.image,
                          compiler_.Run(module, options, Stage::kObject, [&](ModuleEmitter& m) {
                            EmitKernels(m, *offload, true, kEntrySymbol);
                          }));
    } else {
      PB_ASSIGN_OR_RETURN(code.image, WritePtx(module, *offload, arch));
    }
    code.host.entry_symbol = kEntrySymbol;
    PB_ASSIGN_OR_RETURN(code.host.bytes,
                        compiler_.Run(module, options, Stage::kObject, [&](ModuleEmitter& m) {
                          AddLaunches(m, offload);
                          EmitModule(m, kEntrySymbol);
                        }));
    return code;
  }

  StatusOr<std::unique_ptr<LoadedCode>> LoadHost(const ObjectCode& object) override {
    return Linker::Load(linker_, object);
  }

 private:
  Compiler compiler_;
  std::shared_ptr<Linker> linker_;
};

}  // namespace

StatusOr<std::shared_ptr<DeviceCompiler>> MakeDeviceCompiler() {
  PB_ASSIGN_OR_RETURN(HostTarget host, DetectHost());
  PB_ASSIGN_OR_RETURN(std::shared_ptr<Linker> linker, Linker::Make());
  return std::shared_ptr<DeviceCompiler>(
      std::make_shared<LlvmDeviceCompiler>(std::move(host), std::move(linker)));
}

}  // namespace pullback::jit
