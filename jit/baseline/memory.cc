#include "jit/baseline/memory.h"

#include <cstring>

namespace pullback::jit {
namespace {

asmjit::JitAllocator::CreateParams DualMapping() {
  asmjit::JitAllocator::CreateParams params;
  params.reset();
  params.options = asmjit::JitAllocatorOptions::kUseDualMapping;
  return params;
}

}  // namespace

CodeMemory::CodeMemory()
    : allocator_([] {
        static const asmjit::JitAllocator::CreateParams params = DualMapping();
        return &params;
      }()) {}

StatusOr<const void*> CodeMemory::Place(const std::string& code) {
  void* run = nullptr;
  void* write = nullptr;
  const asmjit::Error error = allocator_.alloc(&run, &write, code.size());
  if (error != asmjit::kErrorOk) {
    return Status(Code::kResourceExhausted, "CODE_MEMORY",
                  std::string("no memory for code: ") + asmjit::DebugUtils::errorAsString(error));
  }
  std::memcpy(write, code.data(), code.size());
  return static_cast<const void*>(run);
}

void CodeMemory::Free(const void* code) { allocator_.release(const_cast<void*>(code)); }

}  // namespace pullback::jit
