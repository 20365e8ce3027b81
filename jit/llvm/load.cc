#include "jit/llvm/load.h"

#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>

namespace pullback::jit {
namespace {

namespace orc = llvm::orc;
namespace jitlink = llvm::jitlink;

Status Failed(const char* reason, llvm::Error error) {
  return Status(Code::kInternal, reason, llvm::toString(std::move(error)));
}

// Maps pages writable, fills them, then makes code executable and not writable: never both.
llvm::Expected<std::unique_ptr<orc::ObjectLayer>> MakeLinkingLayer(orc::ExecutionSession& session,
                                                                   const llvm::Triple&) {
  auto memory = jitlink::InProcessMemoryManager::Create();
  if (!memory) return memory.takeError();
  return std::make_unique<orc::ObjectLinkingLayer>(session, std::move(*memory));
}

orc::SymbolMap RuntimeSymbols(orc::LLJIT& jit) {
  orc::SymbolMap symbols;
  for (const RuntimeSymbol* s = SymbolsBegin(); s != SymbolsEnd(); ++s) {
    symbols[jit.mangleAndIntern(s->name)] = {orc::ExecutorAddr::fromPtr(s->address),
                                             llvm::JITSymbolFlags::Exported};
  }
  return symbols;
}

class LinkedKernel : public LoadedCode {
 public:
  LinkedKernel(std::shared_ptr<Linker> linker, orc::ResourceTrackerSP tracker, KernelEntry entry,
               size_t bytes)
      : linker_(std::move(linker)), tracker_(std::move(tracker)), entry_(entry), bytes_(bytes) {}
  ~LinkedKernel() override { llvm::cantFail(tracker_->remove()); }
  KernelEntry entry() const override { return entry_; }
  size_t bytes() const override { return bytes_; }

 private:
  std::shared_ptr<Linker> linker_;  // outlives the tracker
  orc::ResourceTrackerSP tracker_;
  KernelEntry entry_;
  size_t bytes_;
};

// Memory that the graph will take: each kind of protection has pages of its own.
size_t PagesOf(jitlink::LinkGraph& graph) {
  constexpr uint64_t kPage = 4096;
  llvm::DenseMap<int, uint64_t> by_protection;
  for (jitlink::Section& section : graph.sections()) {
    if (section.empty() || section.getMemLifetime() == orc::MemLifetime::NoAlloc) continue;
    by_protection[static_cast<int>(section.getMemProt())] +=
        jitlink::SectionRange(section).getSize();
  }
  uint64_t bytes = 0;
  for (const auto& [protection, size] : by_protection) bytes += llvm::alignTo(size, kPage);
  return bytes;
}

}  // namespace

StatusOr<std::shared_ptr<Linker>> Linker::Make() {
  auto jit = orc::LLJITBuilder()
                 .setObjectLinkingLayerCreator(MakeLinkingLayer)
                 .setLinkProcessSymbolsByDefault(false)
                 .setPlatformSetUp(orc::setUpInactivePlatform)
                 .create();
  if (!jit) return Failed("NO_BACKEND", jit.takeError());
  // What fails is told to the caller; nothing is printed.
  (*jit)->getExecutionSession().setErrorReporter([](llvm::Error e) { consumeError(std::move(e)); });
  auto symbols = orc::absoluteSymbols(RuntimeSymbols(**jit));
  if (auto error = (*jit)->getMainJITDylib().define(std::move(symbols))) {
    return Failed("NO_BACKEND", std::move(error));
  }
  return std::make_shared<Linker>(std::move(*jit));
}

StatusOr<std::unique_ptr<LoadedCode>> Linker::Load(std::shared_ptr<Linker> self,
                                                   const ObjectCode& object) {
  PB_RETURN_IF_ERROR(CheckObject(object));
  auto graph = jitlink::createLinkGraphFromObject({object.bytes, "kernel"});
  if (!graph) return Failed("OBJECT_REJECTED", graph.takeError());
  // A name of its own: the same object may be loaded twice.
  const std::string name = object.entry_symbol + "." + std::to_string(self->next_++);
  for (jitlink::Symbol* symbol : (*graph)->defined_symbols()) {
    if (symbol->hasName() && symbol->getName() == object.entry_symbol) {
      const auto stored = (*graph)->allocateContent(llvm::Twine(name));
      symbol->setName({stored.data(), stored.size()});
    }
  }
  const size_t bytes = PagesOf(**graph);
  orc::LLJIT& jit = *self->jit_;
  auto tracker = jit.getMainJITDylib().createResourceTracker();
  auto& layer = static_cast<orc::ObjectLinkingLayer&>(jit.getObjLinkingLayer());
  if (auto error = layer.add(tracker, std::move(*graph))) {
    return Failed("OBJECT_REJECTED", std::move(error));
  }
  auto address = jit.lookupLinkerMangled(jit.getMainJITDylib(), name);
  if (!address) {
    llvm::consumeError(tracker->remove());
    return Failed("OBJECT_REJECTED", address.takeError());
  }
  return std::unique_ptr<LoadedCode>(std::make_unique<LinkedKernel>(
      std::move(self), std::move(tracker), address->toPtr<KernelEntry>(), bytes));
}

}  // namespace pullback::jit
