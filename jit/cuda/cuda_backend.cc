#include "jit/cuda/cuda_backend.h"

#include <mutex>

#include "jit/cuda/code.h"
#include "jit/cuda/device.h"

namespace pullback::jit {
namespace {

constexpr const char* kDefaultArch = "sm_90";  // of Dump, where there is no device
constexpr const char* kVersion = "cuda-3";     // raise it when what is kept of code changes

class CudaBackend : public DeviceBackend {
 public:
  CudaBackend(std::shared_ptr<DeviceCompiler> compiler, const CudaOptions& options)
      : compiler_(std::move(compiler)), options_(options) {}

  std::string name() const override { return "cuda"; }
  std::string blas() override { return Device().ok() ? (*Device())->blas() : "no cuBLAS"; }
  // Asks for the device.
  std::string target() const override {
    const auto& device = Device();
    return device.ok() ? Arch(**device) + " " + compiler_->target() : "none";
  }
  std::string version() const override {
    return std::string(kVersion) + "/" + compiler_->version();
  }
  Status available() override { return Device().status(); }

  StatusOr<ObjectCode> Compile(const loops::Module& module,
                               const BackendOptions& options) override {
    PB_ASSIGN_OR_RETURN(const std::shared_ptr<cuda::Device> device, Device());
    PB_ASSIGN_OR_RETURN(const DeviceCode code, compiler_->Compile(module, options, Arch(*device)));
    if (code.kernels.empty()) return NothingThere(code);
    return ObjectCode{cuda::Write(code), code.host.entry_symbol};
  }

  StatusOr<std::unique_ptr<LoadedCode>> Load(const ObjectCode& object) override {
    PB_ASSIGN_OR_RETURN(const std::shared_ptr<cuda::Device> device, Device());
    PB_ASSIGN_OR_RETURN(DeviceCode code, cuda::Read(object.bytes));
    PB_ASSIGN_OR_RETURN(std::unique_ptr<LoadedCode> host, compiler_->LoadHost(code.host));
    auto kernels = std::make_shared<cuda::Kernels>(device, std::move(code.image),
                                                   std::move(code.kernels), options_.limits);
    PB_RETURN_IF_ERROR(kernels->Load().status());
    return std::unique_ptr<LoadedCode>(
        std::make_unique<cuda::CudaCode>(std::move(host), std::move(kernels)));
  }

  StatusOr<std::string> Dump(const loops::Module& module, const BackendOptions& options,
                             const std::string& stage) override {
    if (stage != "ptx" && !stage.starts_with("ptx:")) {
      return Status(Code::kNotFound, "UNKNOWN_STAGE", "a device has no stage " + stage);
    }
    std::string arch = stage == "ptx" ? "" : stage.substr(4);
    if (arch.empty()) arch = Device().ok() ? (*Device())->arch() : kDefaultArch;
    PB_ASSIGN_OR_RETURN(const DeviceCode code, compiler_->Compile(module, options, arch));
    std::string text;
    for (const std::string& why : code.refusals) text += "// " + why + "\n";
    for (const DeviceKernel& kernel : code.kernels) {
      text += "// " + kernel.name + ": " + kernel.about + "; blocks of " +
              std::to_string(kernel.block) + "\n";
    }
    if (code.kernels.empty()) text += "// nothing of this program runs on a device\n";
    return text + code.image;
  }

 private:
  const std::string& Arch(const cuda::Device& device) const {
    return options_.arch.empty() ? device.arch() : options_.arch;
  }

  static Status NothingThere(const DeviceCode& code) {
    std::string text = "nothing of this program runs on a device";
    for (const std::string& why : code.refusals) text += "; " + why;
    if (code.refusals.empty())
      text +=
          "; it has no gen, sum or the like, or what they compute needs control flow over arrays";
    text += " !" + std::to_string(code.refused_at);  // as of UnimplementedAt
    return {Code::kUnimplemented, "NOT_ON_DEVICE", text};
  }

  // Looked for once.
  const StatusOr<std::shared_ptr<cuda::Device>>& Device() const {
    std::call_once(once_, [&] { device_ = Open(); });
    return *device_;
  }
  StatusOr<std::shared_ptr<cuda::Device>> Open() const {
    if (options_.driver) return cuda::Device::Open(*options_.driver, options_.load_cublas);
    PB_ASSIGN_OR_RETURN(const cuda::Driver driver, cuda::LoadDriver());
    return cuda::Device::Open(driver, options_.load_cublas);
  }

  const std::shared_ptr<DeviceCompiler> compiler_;
  const CudaOptions options_;
  mutable std::once_flag once_;
  mutable std::optional<StatusOr<std::shared_ptr<cuda::Device>>> device_;
};

}  // namespace

std::shared_ptr<DeviceBackend> MakeCudaBackend(std::shared_ptr<DeviceCompiler> compiler,
                                               const CudaOptions& options) {
  return std::make_shared<CudaBackend>(std::move(compiler), options);
}

}  // namespace pullback::jit
