#include "jit/key.h"

#include <algorithm>
#include <numeric>

#include "core/base/sha256.h"

namespace pullback::jit {
namespace {

void Append(std::string& bytes, const std::string& field) {
  bytes += std::to_string(field.size());
  bytes += ':';
  bytes += field;
}

void Append(std::string& bytes, int64_t number) {
  bytes += std::to_string(number);
  bytes += ';';
}

}  // namespace

SlotOrder InSlotOrder(const std::vector<uint32_t>& wrt) {
  SlotOrder order(wrt.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return wrt[a] < wrt[b]; });
  return order;
}

std::string KernelId(const std::string& canonical_text, const Derivation& derivation,
                     const Build& build) {
  std::string bytes = "pullback kernel 1\n";
  Append(bytes, canonical_text);
  Append(bytes, static_cast<int64_t>(derivation.transform));
  Append(bytes, static_cast<int64_t>(derivation.wrt.size()));
  for (uint32_t position : derivation.wrt) Append(bytes, position);
  Append(bytes, derivation.sparse);
  Append(bytes, build.passes.optimise);
  Append(bytes, build.passes.fast_math);
  Append(bytes, static_cast<int64_t>(build.passes.mixed));
  Append(bytes, build.opt_level);
  Append(bytes, static_cast<int64_t>(build.tier));
  Append(bytes, static_cast<int64_t>(build.target));
  Append(bytes, static_cast<int64_t>(build.contractions));
  Append(bytes, build.id);
  return Sha256Hex(bytes);
}

std::string AliasKey(const KernelRequest& request, int opt_level) {
  std::string key = Sha256Hex(request.program);
  Append(key, request.entry);
  Append(key, static_cast<int64_t>(request.transform));
  Append(key, static_cast<int64_t>(request.wrt.size()));
  for (const std::string& name : request.wrt) Append(key, name);
  Append(key, request.sparse);
  Append(key, request.options.optimise);
  Append(key, static_cast<int64_t>(request.options.tier));
  Append(key, static_cast<int64_t>(request.options.mixed));
  Append(key, static_cast<int64_t>(request.options.target));
  Append(key, static_cast<int64_t>(request.options.contractions));
  Append(key, opt_level);
  return key;
}

}  // namespace pullback::jit
