#include "jit/stored_kernel.h"

#include "core/base/bytes.h"

namespace pullback::jit {

std::string Write(const StoredKernel& kernel) {
  std::string out;
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
  kernel.tier = static_cast<Tier>(reader.Number());
  for (const char read : reader.Field()) kernel.reads.push_back(read == '1');
  kernel.object.entry_symbol = reader.Field();
  kernel.object.bytes = reader.Field();
  const bool known = kernel.tier == Tier::kLlvm || kernel.tier == Tier::kBaseline;
  if (!reader.at_end() || !known) return std::nullopt;
  return kernel;
}

}  // namespace pullback::jit
