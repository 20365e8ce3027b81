// What tier 0 compiles to: position-independent code, where it starts, and the places in it that hold
// addresses of the runtime's functions. As bytes it can be kept and sent like any ObjectCode.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "jit/runtime/context.h"

namespace pullback::jit {

struct BaselineObject {
  struct Address {
    uint32_t at = 0;     // of 8 bytes in the code, to be filled in
    std::string symbol;  // one of SymbolsBegin
  };
  std::string code;
  uint32_t entry = 0;
  std::vector<Address> addresses;
};

std::string Write(const BaselineObject& object);

// INTERNAL, OBJECT_REJECTED, for bytes that Write did not make, an address outside of the code or one
// that overlaps another, and a symbol that is not the runtime's.
StatusOr<BaselineObject> ReadBaselineObject(const std::string& bytes);

// nullptr when the runtime has no such function.
const void* RuntimeAddress(const std::string& symbol);

}  // namespace pullback::jit
