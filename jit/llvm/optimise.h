// The passes that LLVM runs over what we wrote.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Target/TargetMachine.h>

namespace pullback::jit {

// opt_level 0: as little as gives reasonable code; else the list in optimise.cc. Once the thread's Work has ended
// (core/base/work.h) the passes that are left are skipped: the caller asks it.
void Optimise(llvm::Module& module, llvm::TargetMachine& machine, int opt_level);

// Runs what `passes` makes by a builder for the machine, with all analyses at hand and no library functions.
void RunPasses(llvm::Module& module, llvm::TargetMachine& machine,
               const llvm::PipelineTuningOptions& tuning,
               llvm::function_ref<llvm::ModulePassManager(llvm::PassBuilder&)> passes);

// Of an LLVMContext: skips what code generation can do without once the thread's Work has ended.
class WantedGate : public llvm::OptPassGate {
 public:
  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef where) override;
};

// No libc behind us: nothing may turn loops into memset, or calls into other calls.
llvm::TargetLibraryInfoImpl NoLibrary(const llvm::Triple& triple);

}  // namespace pullback::jit
