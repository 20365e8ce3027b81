#include "jit/stored_kernel.h"

#include "core/base/bytes.h"

namespace pullback::jit {

std::string Write(const StoredKernel& kernel) {
  std::string out;
  AppendNumber(out, static_cast<uint32_t>(kernel.target));
  AppendNumber(out, static_cast<uint32_t>(kernel.tier));
  std::string reads;
  for (const bool read : kernel.reads) reads += read ? '1' : '0';
  AppendField(out, reads);
  AppendField(out, kernel.object.entry_symbol);
  AppendField(out, kernel.object.bytes);
  return out;
}

std::optional<StoredKernel> ReadStoredKernel(std::string_view bytes) {
  ByteReader reader(bytes);
  StoredKernel kernel;
  const uint32_t target = reader.Number(), tier = reader.Number();
  for (const char read : reader.Field()) kernel.reads.push_back(read == '1');
  kernel.object.entry_symbol = reader.Field();
  kernel.object.bytes = reader.Field();
  const bool here = target == static_cast<uint32_t>(Target::kCpu);
  const bool there = target == static_cast<uint32_t>(Target::kCuda);
  const bool llvm = tier == static_cast<uint32_t>(Tier::kLlvm);
  const bool baseline = tier == static_cast<uint32_t>(Tier::kBaseline);
  if (!reader.at_end() || (!here && !there) || (!llvm && !(baseline && here))) return std::nullopt;
  kernel.target = there ? Target::kCuda : Target::kCpu;
  kernel.tier = llvm ? Tier::kLlvm : Tier::kBaseline;
  return kernel;
}

}  // namespace pullback::jit
