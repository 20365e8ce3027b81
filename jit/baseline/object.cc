#include "jit/baseline/object.h"

#include <unordered_map>

#include "core/base/bytes.h"

namespace pullback::jit {
namespace {

constexpr char kMagic[] = "pullback tier 0\n";
constexpr size_t kMagicSize = sizeof kMagic - 1;
constexpr uint32_t kMostCode = uint32_t{1} << 30;

Status Rejected(const std::string& why) { return {Code::kInternal, "OBJECT_REJECTED", why}; }

Status CheckAddresses(const BaselineObject& object) {
  uint64_t free_from = 0;
  for (const BaselineObject::Address& address : object.addresses) {
    if (address.at < free_from || uint64_t{address.at} + 8 > object.code.size()) {
      return Rejected("an address outside of the code, or upon another");
    }
    free_from = uint64_t{address.at} + 8;
    if (RuntimeAddress(address.symbol) == nullptr) {
      return Rejected("the runtime has no " + address.symbol);
    }
  }
  return {};
}

}  // namespace

std::string Write(const BaselineObject& object) {
  std::string out(kMagic, kMagicSize);
  AppendField(out, object.code);
  AppendNumber(out, object.entry);
  AppendNumber(out, static_cast<uint32_t>(object.addresses.size()));
  for (const BaselineObject::Address& address : object.addresses) {
    AppendNumber(out, address.at);
    AppendField(out, address.symbol);
  }
  return out;
}

StatusOr<BaselineObject> ReadBaselineObject(const std::string& bytes) {
  if (bytes.compare(0, kMagicSize, kMagic) != 0) return Rejected("not an object of tier 0");
  ByteReader reader(std::string_view(bytes).substr(kMagicSize));
  BaselineObject object;
  object.code = reader.Field();
  object.entry = reader.Number();
  const uint32_t count = reader.Number();
  for (uint32_t i = 0; i < count && reader.good(); ++i) {
    const uint32_t at = reader.Number();
    object.addresses.push_back({at, std::string(reader.Field())});
  }
  if (!reader.at_end()) return Rejected("the object is cut off, or goes on behind its end");
  if (object.code.size() > kMostCode || object.entry >= object.code.size()) {
    return Rejected("the entry lies outside of the code");
  }
  PB_RETURN_IF_ERROR(CheckAddresses(object));
  return object;
}

const void* RuntimeAddress(const std::string& symbol) {
  static const auto* const addresses = [] {
    auto* map = new std::unordered_map<std::string, const void*>;
    for (const RuntimeSymbol* s = SymbolsBegin(); s != SymbolsEnd(); ++s) {
      map->emplace(s->name, s->address);
    }
    return map;
  }();
  const auto found = addresses->find(symbol);
  return found == addresses->end() ? nullptr : found->second;
}

}  // namespace pullback::jit
