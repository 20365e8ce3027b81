// A back end turns loops into an object, and an object into running code. The two halves are apart so
// that compiling can move into worker processes: an ObjectCode is plain bytes.
#pragma once

#include <memory>
#include <string>

#include "core/base/status.h"
#include "core/loops/loops.h"
#include "jit/runtime/context.h"
#include "jit/runtime/device.h"

namespace pullback::jit {

struct ObjectCode {
  std::string bytes;         // a relocatable object
  std::string entry_symbol;  // of type KernelEntry
};

struct BackendOptions {
  int opt_level = 2;  // 0 or 2
};

// Running code; the destructor gives its memory back.
class LoadedCode {
 public:
  virtual ~LoadedCode() = default;
  virtual KernelEntry entry() const = 0;
  virtual size_t bytes() const = 0;  // code and data held
  // Of code that launches kernels: what this run of it needs (RunContext::device).
  virtual StatusOr<std::unique_ptr<DeviceRun>> StartRun(RunContext*) {
    return std::unique_ptr<DeviceRun>();
  }
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;     // "llvm"
  virtual std::string target() const = 0;   // "x86-64 +avx2 +fma …": part of the kernel key
  virtual std::string version() const = 0;  // "llvm-19.1.7/emit-1": part of the kernel key
  // Whether opt_level 2 is heeded; false for modules that would take minutes.
  virtual bool Optimises(const loops::Module&) const { return true; }
  // Thread-safe. What the thread's Work (core/base/work.h) was ended by.
  virtual StatusOr<ObjectCode> Compile(const loops::Module& module,
                                       const BackendOptions& options) = 0;
  // Checks undefined symbols, sections and relocations against the allow-list before linking:
  // INTERNAL, reason OBJECT_REJECTED.
  virtual StatusOr<std::unique_ptr<LoadedCode>> Load(const ObjectCode& object) = 0;
  // Text of a stage for Explain: "llvm" (after optimisation) or "asm"; of a device "ptx", or "ptx:sm_80".
  virtual StatusOr<std::string> Dump(const loops::Module& module, const BackendOptions& options,
                                     const std::string& stage) = 0;
};

// A back end for a device: host code that launches kernels. It is there, and Dump works, where no device is.
class DeviceBackend : public Backend {
 public:
  // The library that takes contractions there, with its version; "no cuBLAS".
  virtual std::string blas() = 0;
  // OK where a device can be used; else FAILED_PRECONDITION, NO_DEVICE, saying what is missing. Compile
  // and Load give the same; UNIMPLEMENTED, NOT_ON_DEVICE, for programs of which nothing can go there.
  virtual Status available() = 0;
};

}  // namespace pullback::jit
