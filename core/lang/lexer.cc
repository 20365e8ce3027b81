#include "core/lang/lexer.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "core/lang/habits.h"
#include "core/lang/number.h"

namespace pullback::lang {
namespace {

struct Spelling {
  Tok kind;
  std::string_view text;
};
#define PB_SPELLING(e, s) {Tok::k##e, s},
constexpr Spelling kKeywords[] = {PB_KEYWORDS(PB_SPELLING)};
constexpr Spelling kPunctuation[] = {PB_PUNCTUATION(PB_SPELLING)};
#undef PB_SPELLING
constexpr std::string_view kLater[] = {"relations"};

Tok WordKind(std::string_view word) {
  for (const Spelling& k : kKeywords) {
    if (k.text == word) return k.kind;
  }
  bool later = std::find(std::begin(kLater), std::end(kLater), word) != std::end(kLater);
  return later ? Tok::kLater : Tok::kName;
}

// Bytes of the UTF-8 character at `s`, 0 if there is no valid one. RFC 3629: no surrogates, no
// overlong forms, nothing above U+10FFFF.
size_t Utf8Length(std::string_view s) {
  auto byte = [&](size_t i) { return i < s.size() ? static_cast<uint8_t>(s[i]) : 0; };
  auto tail = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  uint8_t b = byte(0);
  if (b < 0x80) return 1;
  if (b >= 0xC2 && b <= 0xDF) return tail(1) ? 2 : 0;
  if (b >= 0xE0 && b <= 0xEF) {
    bool ok =
        tail(1) && tail(2) && !(b == 0xE0 && byte(1) < 0xA0) && !(b == 0xED && byte(1) > 0x9F);
    return ok ? 3 : 0;
  }
  if (b >= 0xF0 && b <= 0xF4) {
    bool ok = tail(1) && tail(2) && tail(3) && !(b == 0xF0 && byte(1) < 0x90) &&
              !(b == 0xF4 && byte(1) > 0x8F);
    return ok ? 4 : 0;
  }
  return 0;
}

std::string DescribeBad(std::string_view rest, size_t length) {
  char hex[8];
  std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned>(static_cast<uint8_t>(rest[0])));
  if (length == 0) return std::string("invalid UTF-8: byte ") + hex;
  std::string shown(rest.substr(0, length));
  if (length == 1 && !std::isprint(static_cast<uint8_t>(rest[0]))) shown = hex;
  return "unexpected character '" + shown + "'" + HabitOfCharacter(rest[0]);
}

class Lexer {
 public:
  Lexer(const std::string& text, size_t max_errors) : text_(text), max_errors_(max_errors) {}

  Lexed Run() {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    while (out_.errors.size() < max_errors_) {
      SkipBlanks();
      if (at_ >= text_.size()) break;
      LexToken();
    }
    PushEnd();
    return std::move(out_);
  }

 private:
  char Char(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  std::string_view Rest() const { return std::string_view(text_).substr(at_); }
  Span SpanTo(size_t end) const {
    return {static_cast<uint32_t>(at_), static_cast<uint32_t>(end), line_,
            static_cast<uint32_t>(at_ - line_start_ + 1)};
  }

  // Makes a token of [at_, end) and moves behind it.
  Token& Push(Tok kind, size_t end) {
    Token t;
    t.kind = kind;
    t.newline_before = newline_;
    t.span = SpanTo(end);
    out_.tokens.push_back(t);
    newline_ = false;
    at_ = end;
    return out_.tokens.back();
  }

  // The end stands right behind the last token, where a message about it shows something.
  void PushEnd() {
    at_ = text_.size();
    Span last = out_.tokens.empty() ? Span{0, 0, 1, 1} : out_.tokens.back().span;
    last.column += last.end - last.begin;
    last.begin = last.end;
    Push(Tok::kEnd, at_).span = last;
  }

  void Error(size_t end, std::string message) {
    Span span = SpanTo(end);
    out_.errors.push_back({Severity::kError, span, std::move(message), MakeExcerpt(text_, span)});
    bool runs_on = !out_.tokens.empty() && out_.tokens.back().kind == Tok::kBad;
    if (runs_on) {
      at_ = end;
    } else {
      Push(Tok::kBad, end);
    }
  }

  void SkipBlanks() {
    for (; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      if (c == '#') {
        TakeComment();
      } else if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
        return;
      }
      if (Char() == '\n') {
        newline_ = true;
        ++line_;
        line_start_ = at_ + 1;
      }
    }
  }

  // Leaves at_ on the line's end.
  void TakeComment() {
    size_t end = std::min(text_.find('\n', at_), text_.size());
    size_t last = text_.find_last_not_of(" \t\r", end == 0 ? 0 : end - 1);
    bool own_line = newline_ || out_.tokens.empty();
    out_.comments.push_back(
        {static_cast<uint32_t>(at_), line_, own_line, text_.substr(at_, last + 1 - at_)});
    at_ = end;
  }

  void LexToken() {
    char c = Char();
    if (std::isalpha(static_cast<uint8_t>(c)) || c == '_') return LexWord();
    if (std::isdigit(static_cast<uint8_t>(c))) return LexNumber();
    for (const Spelling& p : kPunctuation) {
      if (Rest().starts_with(p.text)) {
        Push(p.kind, at_ + p.text.size());
        return;
      }
    }
    LexBad();
  }

  void LexWord() {
    size_t end = at_;
    while (end < text_.size() &&
           (std::isalnum(static_cast<uint8_t>(text_[end])) || text_[end] == '_')) {
      ++end;
    }
    Push(WordKind(Rest().substr(0, end - at_)), end);
  }

  // After a '.' only digits count, so that t.0.1 is two fields.
  bool AfterDot() const {
    return !out_.tokens.empty() && out_.tokens.back().kind == Tok::kDot &&
           out_.tokens.back().span.end == at_;
  }

  void LexNumber() {
    Number n = ScanNumber(Rest(), AfterDot());
    if (!n.error.empty()) return Error(at_ + n.length, n.error);
    Token& t = Push(n.is_float ? Tok::kFloat : Tok::kInt, at_ + n.length);
    t.has_suffix = n.has_suffix;
    t.suffix = n.suffix;
    t.int_value = n.int_value;
    t.float_value = n.float_value;
  }

  // A run of bad characters is one error.
  void LexBad() {
    size_t length = Utf8Length(Rest());
    std::string message = DescribeBad(Rest(), length);
    size_t end = at_ + std::max<size_t>(length, 1);
    while (end < text_.size() && static_cast<uint8_t>(text_[end]) >= 0x80) ++end;
    Error(end, std::move(message));
  }

  const std::string& text_;
  const size_t max_errors_;
  size_t at_ = 0;
  size_t line_start_ = 0;
  uint32_t line_ = 1;
  bool newline_ = false;
  Lexed out_;
};

}  // namespace

Lexed Lex(const std::string& text, size_t max_errors) { return Lexer(text, max_errors).Run(); }

std::string_view TokenName(Tok kind) {
  switch (kind) {
    case Tok::kEnd: return "end of text";
    case Tok::kBad: return "a bad character";
    case Tok::kName: return "a name";
    case Tok::kInt: return "an integer";
    case Tok::kFloat: return "a number";
    case Tok::kLater: return "a reserved word";
#define PB_NAME(e, s) \
  case Tok::k##e: return "'" s "'";
      PB_KEYWORDS(PB_NAME) PB_PUNCTUATION(PB_NAME)
#undef PB_NAME
  }
  return "a token";
}

bool IsKeyword(std::string_view word) { return WordKind(word) != Tok::kName; }

}  // namespace pullback::lang
