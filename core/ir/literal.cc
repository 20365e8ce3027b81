#include "core/ir/literal.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace pullback::ir {

uint64_t FloatBits(DType type, double value) {
  return type == DType::kF32 ? std::bit_cast<uint32_t>(static_cast<float>(value))
                             : std::bit_cast<uint64_t>(value);
}
namespace {

constexpr uint64_t kNan64 = 0x7ff8000000000000;
constexpr uint64_t kNan32 = 0x7fc00000;
constexpr uint64_t kSign64 = uint64_t{1} << 63;
constexpr uint64_t kSign32 = uint64_t{1} << 31;

std::string HexText(const char* format, uint64_t bits) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, format, static_cast<unsigned long long>(bits));
  return buffer;
}

// Shortest decimal that reads back to the same bits, with a point or exponent so that it is no i64.
template <typename T>
std::string Decimal(T v) {
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  std::string out(buffer, end);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

std::string Text64(uint64_t bits) {
  const auto v = std::bit_cast<double>(bits);
  if (!std::isnan(v)) return Decimal(v);
  return bits == kNan64 ? "nan" : HexText("0x%016llx", bits);
}

std::string Text32(uint64_t bits) {
  const auto v = std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (!std::isnan(v)) return Decimal(v) + "f";
  return bits == kNan32 ? "nanf" : HexText("0x%08llxf", bits);
}

// Reads all of `text`; false when it is not a number or does not fit.
template <typename T, typename... Base>
bool ReadAll(std::string_view text, T& v, Base... base) {
  const auto r = std::from_chars(text.data(), text.data() + text.size(), v, base...);
  return r.ec == std::errc() && r.ptr == text.data() + text.size();
}

std::optional<Literal> ParseHex(std::string_view digits) {
  const bool f32 = digits.size() == 9 && digits.back() == 'f';
  if (f32) digits.remove_suffix(1);
  if (!f32 && digits.size() != 16) return std::nullopt;
  uint64_t bits = 0;
  if (!ReadAll(digits, bits, 16)) return std::nullopt;
  return Literal{f32 ? DType::kF32 : DType::kF64, bits};
}

std::optional<Literal> ParseFloat(std::string_view text) {
  const bool f32 = text.back() == 'f';
  if (f32) {
    text.remove_suffix(1);
    float v = 0;
    if (!ReadAll(text, v)) return std::nullopt;
    return Literal{DType::kF32, std::bit_cast<uint32_t>(v)};
  }
  double v = 0;
  if (!ReadAll(text, v)) return std::nullopt;
  return Literal{DType::kF64, std::bit_cast<uint64_t>(v)};
}

std::optional<Literal> ParseWord(std::string_view text) {
  if (text == "true") return Literal{DType::kBool, 1};
  if (text == "false") return Literal{DType::kBool, 0};
  if (text == "inf") return Literal{DType::kF64, std::bit_cast<uint64_t>(HUGE_VAL)};
  if (text == "inff") return Literal{DType::kF32, std::bit_cast<uint32_t>(HUGE_VALF)};
  if (text == "nan") return Literal{DType::kF64, kNan64};
  if (text == "nanf") return Literal{DType::kF32, kNan32};
  return std::nullopt;
}

}  // namespace

std::string LiteralText(Literal c) {
  switch (c.type) {
    case DType::kF64: return Text64(c.bits);
    case DType::kF32: return Text32(c.bits);
    case DType::kI64: return std::to_string(static_cast<int64_t>(c.bits));
    case DType::kBool: return c.bits != 0 ? "true" : "false";
  }
  return "?";
}

std::optional<Literal> ParseLiteral(std::string_view text) {
  if (text.empty()) return std::nullopt;
  if (text[0] < '0' || text[0] > '9') return ParseWord(text);
  if (text.starts_with("0x")) return ParseHex(text.substr(2));
  if (text.find_first_of(".ef") != std::string_view::npos) return ParseFloat(text);
  uint64_t v = 0;
  // 2^63 is read so that its negation, INT64_MIN, can be.
  if (!ReadAll(text, v) || v > kSign64) return std::nullopt;
  return Literal{DType::kI64, v};
}

Literal Negate(Literal c) {
  if (c.type == DType::kF64) return {c.type, c.bits ^ kSign64};
  if (c.type == DType::kF32) return {c.type, c.bits ^ kSign32};
  return {c.type, uint64_t{0} - c.bits};
}

}  // namespace pullback::ir
