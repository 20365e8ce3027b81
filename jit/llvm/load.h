// Object bytes to running code.
#pragma once

#include <llvm/ExecutionEngine/Orc/LLJIT.h>

#include <memory>

#include "core/base/status.h"
#include "jit/backend.h"

namespace pullback::jit {

class Linker {
 public:
  // One LLJIT with one bare JITDylib that holds the runtime's symbols and the kernels.
  static StatusOr<std::shared_ptr<Linker>> Make();
  explicit Linker(std::unique_ptr<llvm::orc::LLJIT> jit) : jit_(std::move(jit)) {}

  // The code keeps the linker alive. Thread-safe.
  static StatusOr<std::unique_ptr<LoadedCode>> Load(std::shared_ptr<Linker> self,
                                                    const ObjectCode& object);

 private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::atomic<uint64_t> next_{0};
};

// INTERNAL, reason OBJECT_REJECTED, unless the object is an ELF for this machine with nothing but
// code and constants, no undefined symbol beyond the runtime's, only the relocations that our
// compiler makes, and this entry.
Status CheckObject(const ObjectCode& object);

}  // namespace pullback::jit
