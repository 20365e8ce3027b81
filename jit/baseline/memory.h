// Pages for code: each is mapped twice, once to be written and once to be run; none is both.
#pragma once

#include <asmjit/core.h>

#include <memory>
#include <string>

#include "core/base/status.h"

namespace pullback::jit {

class CodeMemory {
 public:
  CodeMemory();
  CodeMemory(const CodeMemory&) = delete;
  CodeMemory& operator=(const CodeMemory&) = delete;

  // Copies code in; where it can be run. RESOURCE_EXHAUSTED, CODE_MEMORY, when there is none left.
  StatusOr<const void*> Place(const std::string& code);
  void Free(const void* code);

 private:
  asmjit::JitAllocator allocator_;  // has a lock of its own
};

}  // namespace pullback::jit
