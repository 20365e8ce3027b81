#include "core/lang/number.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "absl/strings/charconv.h"

namespace pullback::lang {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHexDigit(char c) { return std::isxdigit(static_cast<uint8_t>(c)) != 0; }
bool IsWordChar(char c) { return std::isalnum(static_cast<uint8_t>(c)) || c == '_'; }

// Walks the literal, collecting its digits without '_' in `digits`.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  Number Run(bool plain) {
    if (plain) {
      TakeDigits(IsDigit);
    } else if (text_.starts_with("0x") || text_.starts_with("0X")) {
      at_ = 2;
      base_ = 16;
      TakeDigits(IsHexDigit);
      if (digits_.empty()) Fail("a hexadecimal integer needs digits after '0x'");
    } else {
      TakeDecimal();
    }
    if (!plain) TakeSuffix();
    if (n_.error.empty()) Evaluate();
    n_.length = at_;
    return n_;
  }

 private:
  char Char(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void Fail(std::string message) {
    if (n_.error.empty()) n_.error = std::move(message);
  }

  template <typename Pred>
  void TakeDigits(Pred is_digit) {
    for (;; ++at_) {
      if (is_digit(Char())) {
        digits_ += Char();
      } else if (Char() != '_' || !is_digit(Char(1)) || at_ == 0 || !is_digit(text_[at_ - 1])) {
        return;
      }
    }
  }

  void TakeDecimal() {
    TakeDigits(IsDigit);
    if (Char() == '.' && Char(1) != '.' && !IsWordChar(Char(1))) {
      ++at_;
      return Fail("a digit must follow the point: write '1.0'");
    }
    if (Char() == '.' && IsDigit(Char(1))) {
      n_.is_float = true;
      digits_ += '.';
      ++at_;
      TakeDigits(IsDigit);
    }
    TakeExponent();
  }

  void TakeExponent() {
    if (Char() != 'e' && Char() != 'E') return;
    bool sign = Char(1) == '+' || Char(1) == '-';
    n_.is_float = true;
    digits_ += 'e';
    if (sign) digits_ += Char(1);
    at_ += sign ? 2 : 1;
    size_t before = digits_.size();
    TakeDigits(IsDigit);
    if (digits_.size() == before) Fail("an exponent needs digits");
  }

  void TakeSuffix() {
    size_t end = at_;
    while (end < text_.size() && IsWordChar(text_[end])) ++end;
    std::string_view word = text_.substr(at_, end - at_);
    at_ = end;
    if (word.empty()) return;
    n_.has_suffix = true;
    if (word == "i64" && !n_.is_float) {
      n_.suffix = DType::kI64;
    } else if (base_ == 10 && (word == "f64" || word == "f32")) {
      n_.suffix = word == "f64" ? DType::kF64 : DType::kF32;
      n_.is_float = true;
    } else {
      Fail("'" + std::string(word) + "' cannot follow a number; suffixes are f64, f32 and, for " +
           "integers, i64");
    }
  }

  void Evaluate() {
    if (n_.is_float) return EvaluateFloat();
    uint64_t v = 0;
    auto r = std::from_chars(digits_.data(), digits_.data() + digits_.size(), v, base_);
    if (r.ec != std::errc() || v > uint64_t{1} << 63) {
      Fail("this integer is too large for i64 (the greatest is 9223372036854775807)");
    }
    n_.int_value = v;
  }

  void EvaluateFloat() {
    const char* end = digits_.data() + digits_.size();
    bool narrow = n_.has_suffix && n_.suffix == DType::kF32;
    float f = 0;
    absl::from_chars_result r;
    if (narrow) {
      r = absl::from_chars(digits_.data(), end, f);
      n_.float_value = f;
    } else {
      r = absl::from_chars(digits_.data(), end, n_.float_value);
    }
    // Out of range below is a zero or a subnormal number, which is fine.
    if (r.ec != std::errc() && n_.float_value > 1) {
      Fail(std::string("this number is too large for ") + (narrow ? "f32" : "f64"));
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  int base_ = 10;
  std::string digits_;
  Number n_;
};

}  // namespace

Number ScanNumber(std::string_view text, bool plain) { return Scanner(text).Run(plain); }

std::string SpellFloat(double value, DType type) {
  char buffer[64];
  std::to_chars_result r =
      type == DType::kF32 ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value))
                          : std::to_chars(buffer, buffer + sizeof buffer, value);
  std::string s(buffer, r.ptr);
  bool plain = s.find_first_of(".en") == std::string::npos;  // n: inf, nan
  return plain ? s + ".0" : s;
}

}  // namespace pullback::lang
