// What of a kernel is kept on disk: the code, and what of its layout the signature does not say.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jit/backend.h"
#include "jit/engine.h"

namespace pullback::jit {

struct StoredKernel {
  Target target = Target::kCpu;  // kCpu or kCuda: whose object it is
  Tier tier = Tier::kLlvm;       // that made it
  std::vector<bool> reads;       // Layout::reads
  ObjectCode object;
};

std::string Write(const StoredKernel& kernel);
// Nothing when the bytes are not what Write gives.
std::optional<StoredKernel> ReadStoredKernel(std::string_view bytes);

}  // namespace pullback::jit
