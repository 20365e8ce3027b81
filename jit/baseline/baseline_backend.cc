#include "jit/baseline/baseline_backend.h"

#include <asmjit/x86.h>

#include <cstring>

#include "jit/baseline/memory.h"
#include "jit/baseline/object.h"
#include "jit/baseline/writer.h"

namespace pullback::jit {
namespace {

constexpr const char* kWriterVersion = "tier0-2";  // part of the key: raise it when code changes

// Keeps the first complaint.
class Complaints : public asmjit::ErrorHandler {
 public:
  void handleError(asmjit::Error, const char* message, asmjit::BaseEmitter*) override {
    if (first.empty()) first = message;
  }
  std::string first;
};

struct Written {
  BaselineObject object;
  std::vector<uint32_t> frames;
};

// `frames`: of an earlier writing, for a listing that shows them.
StatusOr<Written> WriteModule(const loops::Module& module, bool validate,
                              std::vector<uint32_t> frames = {},
                              asmjit::StringLogger* log = nullptr) {
  PB_RETURN_IF_ERROR(loops::CheckLimits(module));
  Complaints complaints;
  asmjit::CodeHolder code;
  code.init(asmjit::Environment::host());
  code.setErrorHandler(&complaints);
  if (log != nullptr) code.setLogger(log);
  ModuleWriter writer(module, code);
  if (!frames.empty()) writer.frames = std::move(frames);
  if (validate) writer.a.addDiagnosticOptions(asmjit::DiagnosticOptions::kValidateAssembler);
  PB_RETURN_IF_ERROR(writer.Write());
  code.flatten();
  code.resolveUnresolvedLinks();
  Written written;
  written.object.code.resize(code.codeSize());
  code.copyFlattenedData(written.object.code.data(), written.object.code.size());
  written.object.entry = static_cast<uint32_t>(code.labelOffset(writer.entry));
  written.object.addresses = std::move(writer.addresses);
  written.frames = std::move(writer.frames);
  if (!complaints.first.empty()) {
    return Status(Code::kInternal, "ENCODING", "tier 0: " + complaints.first);
  }
  return written;
}

class PlacedCode : public LoadedCode {
 public:
  PlacedCode(std::shared_ptr<CodeMemory> memory, const void* code, const BaselineObject& object)
      : memory_(std::move(memory)),
        code_(code),
        entry_(reinterpret_cast<KernelEntry>(reinterpret_cast<uintptr_t>(code) + object.entry)),
        bytes_(object.code.size()) {}
  ~PlacedCode() override { memory_->Free(code_); }
  KernelEntry entry() const override { return entry_; }
  size_t bytes() const override { return bytes_; }

 private:
  const std::shared_ptr<CodeMemory> memory_;
  const void* const code_;
  const KernelEntry entry_;
  const size_t bytes_;
};

class BaselineBackend : public Backend {
 public:
  explicit BaselineBackend(const BaselineOptions& options) : options_(options) {}

  std::string name() const override { return "baseline"; }
  std::string target() const override { return "x86-64 +sse4.1"; }
  std::string version() const override { return kWriterVersion; }

  StatusOr<ObjectCode> Compile(const loops::Module& module, const BackendOptions&) override {
    PB_ASSIGN_OR_RETURN(const Written written, WriteModule(module, options_.validate));
    return ObjectCode{pullback::jit::Write(written.object), {}};
  }

  StatusOr<std::unique_ptr<LoadedCode>> Load(const ObjectCode& object) override {
    PB_ASSIGN_OR_RETURN(BaselineObject read, ReadBaselineObject(object.bytes));
    for (const BaselineObject::Address& address : read.addresses) {
      const void* target = RuntimeAddress(address.symbol);
      std::memcpy(read.code.data() + address.at, static_cast<const void*>(&target), sizeof target);
    }
    PB_ASSIGN_OR_RETURN(const void* code, memory_->Place(read.code));
    return std::unique_ptr<LoadedCode>(std::make_unique<PlacedCode>(memory_, code, read));
  }

  StatusOr<std::string> Dump(const loops::Module& module, const BackendOptions&,
                             const std::string& stage) override {
    if (stage != "asm") {
      return Status(Code::kNotFound, "UNKNOWN_STAGE", "tier 0 has no stage " + stage);
    }
    asmjit::StringLogger log;
    PB_ASSIGN_OR_RETURN(Written first, WriteModule(module, options_.validate));
    PB_RETURN_IF_ERROR(
        WriteModule(module, options_.validate, std::move(first.frames), &log).status());
    return std::string(log.data(), log.dataSize());
  }

 private:
  const BaselineOptions options_;
  const std::shared_ptr<CodeMemory> memory_ = std::make_shared<CodeMemory>();
};

}  // namespace

StatusOr<std::shared_ptr<Backend>> MakeBaselineBackend(const BaselineOptions& options) {
  if (!asmjit::CpuInfo::host().features().x86().hasSSE4_1()) {
    return Status(Code::kInternal, "NO_BACKEND", "the host is not an x86-64 with SSE4.1");
  }
  return std::shared_ptr<Backend>(std::make_shared<BaselineBackend>(options));
}

}  // namespace pullback::jit
