// LLVM modules to object bytes, for one target.
#pragma once

#include <llvm/Target/TargetMachine.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "jit/backend.h"

namespace pullback::jit {

// The host, as LLVM sees it.
struct HostTarget {
  std::string triple;
  std::string cpu;       // for tuning only
  std::string features;  // "+avx2,-avx512f,…": every ISA feature, in order
  std::string name;      // "x86_64 +avx2 +fma …": features that are there, in order
  int vector_bytes = 0;  // of the widest registers for which math variants may be called
};
// INTERNAL, reason NO_BACKEND.
StatusOr<HostTarget> DetectHost();

class ModuleEmitter;

enum class Stage : uint8_t { kObject, kIr, kAssembly };

class Compiler {
 public:
  explicit Compiler(HostTarget host) : host_(std::move(host)) {}
  const HostTarget& host() const { return host_; }
  // An object's bytes, or text. Thread-safe. INTERNAL, reason LLVM_VERIFY, when what we wrote is
  // not valid; RESOURCE_EXHAUSTED, reason FRAME_TOO_LARGE or NESTED_TOO_DEEP.
  StatusOr<std::string> Run(const loops::Module& source, const BackendOptions& options, Stage stage,
                            const std::string& entry_symbol);
  // The same with another way to fill the module.
  StatusOr<std::string> Run(const loops::Module& source, const BackendOptions& options, Stage stage,
                            const std::function<void(ModuleEmitter&)>& fill);

 private:
  using Machine = std::unique_ptr<llvm::TargetMachine>;
  Machine TakeMachine(int opt_level);
  void GiveMachine(int opt_level, Machine machine);

  HostTarget host_;
  std::mutex mutex_;
  std::vector<Machine> machines_[2];  // idle ones, by opt_level > 0
};

}  // namespace pullback::jit
