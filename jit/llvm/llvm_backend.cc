#include "jit/llvm/llvm_backend.h"

#include <llvm/Config/llvm-config.h>

#include <algorithm>

#include "core/loops/walk.h"
#include "jit/llvm/compile.h"
#include "jit/llvm/load.h"

namespace pullback::jit {
namespace {

constexpr const char* kEntrySymbol = "pb_kernel";
constexpr const char* kEmitVersion =
    "emit-5";  // part of the key: raise it when emitted code changes

// Nodes of a function that LLVM optimises. What that takes grows faster than the function: 11 s for 14,000
// nodes where opt_level 0 takes 1.2, over 100 for 44,000 where that takes 2.2 (docs/benchmarks.md).
constexpr size_t kMostOptimised = 20000;

class LlvmBackend : public Backend {
 public:
  LlvmBackend(HostTarget host, std::shared_ptr<Linker> linker)
      : compiler_(std::move(host)), linker_(std::move(linker)) {}

  std::string name() const override { return "llvm"; }
  std::string target() const override { return compiler_.host().name; }
  std::string version() const override {
    return std::string("llvm-") + LLVM_VERSION_STRING + "/" + kEmitVersion;
  }

  bool Optimises(const loops::Module& module) const override {
    return std::all_of(module.functions.begin(), module.functions.end(),
                       [](const auto& f) { return loops::CountNodes(*f) <= kMostOptimised; });
  }

  StatusOr<ObjectCode> Compile(const loops::Module& module,
                               const BackendOptions& options) override {
    PB_ASSIGN_OR_RETURN(std::string bytes, compiler_.Run(module, Heeded(module, options),
                                                         Stage::kObject, kEntrySymbol));
    return ObjectCode{std::move(bytes), kEntrySymbol};
  }

  StatusOr<std::unique_ptr<LoadedCode>> Load(const ObjectCode& object) override {
    return Linker::Load(linker_, object);
  }

  StatusOr<std::string> Dump(const loops::Module& module, const BackendOptions& options,
                             const std::string& stage) override {
    if (stage != "llvm" && stage != "asm") {
      return Status(Code::kNotFound, "UNKNOWN_STAGE", "no stage " + stage);
    }
    return compiler_.Run(module, Heeded(module, options),
                         stage == "llvm" ? Stage::kIr : Stage::kAssembly, kEntrySymbol);
  }

 private:
  BackendOptions Heeded(const loops::Module& module, const BackendOptions& options) const {
    return options.opt_level == 0 || Optimises(module) ? options : BackendOptions{0};
  }

  Compiler compiler_;
  std::shared_ptr<Linker> linker_;
};

// x -> x + x: compiled once and thrown away, so that the first request finds LLVM's tables made.
loops::Module WarmUpModule() {
  auto f = std::make_unique<loops::Function>();
  f->results = {ir::Type::F64()};
  f->regs = {{ir::Type::F64(), false, "x"}, {ir::Type::F64(), false, "y"}};
  loops::Node add;
  add.op = ir::Op::Add;
  add.args = {loops::Reg{0}, loops::Reg{0}};
  add.results = {loops::Reg{1}};
  loops::Block block;
  block.params = {loops::Reg{0}};
  block.nodes.push_back(std::move(add));
  block.term.kind = ir::Terminator::Kind::kReturn;
  block.term.results = {loops::Reg{1}};
  f->blocks.push_back(std::move(block));
  loops::Module module;
  module.functions.push_back(std::move(f));
  return module;
}

}  // namespace

StatusOr<std::shared_ptr<Backend>> MakeLlvmBackend() {
  PB_ASSIGN_OR_RETURN(HostTarget host, DetectHost());
  PB_ASSIGN_OR_RETURN(std::shared_ptr<Linker> linker, Linker::Make());
  auto backend = std::make_shared<LlvmBackend>(std::move(host), std::move(linker));
  for (const int opt_level : {0, 2}) {
    PB_ASSIGN_OR_RETURN(const ObjectCode object, backend->Compile(WarmUpModule(), {opt_level}));
    PB_RETURN_IF_ERROR(backend->Load(object).status());
  }
  return std::shared_ptr<Backend>(std::move(backend));
}

}  // namespace pullback::jit
