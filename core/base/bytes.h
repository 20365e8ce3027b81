// Numbers and strings as bytes in a row, and back from bytes that may be anything.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace pullback {

inline void AppendNumber(std::string& out, uint32_t number) {
  char bytes[4];
  std::memcpy(bytes, &number, 4);
  out.append(bytes, 4);
}

inline void AppendField(std::string& out, std::string_view field) {
  AppendNumber(out, static_cast<uint32_t>(field.size()));
  out += field;
}

// Reads from the front. Once it has failed it gives zeros and empty strings.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  uint32_t Number() {
    uint32_t number = 0;
    const std::string_view bytes = Take(4);
    if (good_) std::memcpy(&number, bytes.data(), 4);
    return number;
  }
  std::string_view Field() { return Take(Number()); }
  bool good() const { return good_; }
  bool at_end() const { return good_ && rest_.empty(); }

 private:
  std::string_view Take(size_t size) {
    good_ = good_ && rest_.size() >= size;
    if (!good_) return {};
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
  bool good_ = true;
};

}  // namespace pullback
