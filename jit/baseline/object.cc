#include "jit/baseline/object.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace pullback::jit {
namespace {

constexpr char kMagic[] = "pullback tier 0\n";
constexpr size_t kMagicSize = sizeof kMagic - 1;
constexpr uint32_t kMostCode = uint32_t{1} << 30;

void Append(std::string& out, uint32_t number) {
  char bytes[4];
  std::memcpy(bytes, &number, 4);
  out.append(bytes, 4);
}

void Append(std::string& out, const std::string& field) {
  Append(out, static_cast<uint32_t>(field.size()));
  out += field;
}

// Reads from the front of bytes; once it has failed it gives nothing.
class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes), at_(kMagicSize) {}

  uint32_t Number() {
    uint32_t number = 0;
    if (!Has(4)) return 0;
    std::memcpy(&number, bytes_.data() + at_, 4);
    at_ += 4;
    return number;
  }
  std::string Field() {
    const uint32_t size = Number();
    if (!Has(size)) return {};
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  bool good() const { return good_; }
  bool at_end() const { return good_ && at_ == bytes_.size(); }

 private:
  bool Has(size_t size) {
    good_ = good_ && bytes_.size() - at_ >= size;
    return good_;
  }
  const std::string& bytes_;
  size_t at_;
  bool good_ = true;
};

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
  Append(out, object.code);
  Append(out, object.entry);
  Append(out, static_cast<uint32_t>(object.addresses.size()));
  for (const BaselineObject::Address& address : object.addresses) {
    Append(out, address.at);
    Append(out, address.symbol);
  }
  return out;
}

StatusOr<BaselineObject> ReadBaselineObject(const std::string& bytes) {
  if (bytes.compare(0, kMagicSize, kMagic) != 0) return Rejected("not an object of tier 0");
  Reader reader(bytes);
  BaselineObject object;
  object.code = reader.Field();
  object.entry = reader.Number();
  const uint32_t count = reader.Number();
  for (uint32_t i = 0; i < count && reader.good(); ++i) {
    const uint32_t at = reader.Number();
    object.addresses.push_back({at, reader.Field()});
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
