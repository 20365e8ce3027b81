#include "core/ir/lexer.h"

#include <string_view>

#include "core/ir/names.h"

namespace pullback::ir {
namespace {

class Lexer {
 public:
  explicit Lexer(const std::string& text) : text_(text) {}

  std::vector<Token> Run() {
    std::vector<Token> out;
    do {
      out.push_back(Next());
    } while (out.back().kind != Token::Kind::kEnd);
    return out;
  }

 private:
  char Peek(size_t ahead = 0) const {
    return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0';
  }

  void SkipBlank() {
    for (; pos_ < text_.size(); ++pos_) {
      const char c = text_[pos_];
      if (c == '#') {
        pos_ = std::min(text_.find('\n', pos_), text_.size() - 1);
      } else if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
        return;
      }
      if (text_[pos_] == '\n') StartLine(pos_ + 1);
    }
  }

  void StartLine(size_t at) {
    ++line_;
    line_begin_ = at;
  }

  Token Next() {
    SkipBlank();
    const size_t begin = pos_;
    Token t;
    t.span.line = line_;
    t.span.column = ColumnOf(begin);
    Scan(t);
    t.span.begin = static_cast<uint32_t>(begin);
    t.span.end = static_cast<uint32_t>(pos_);
    return t;
  }

  // In code points, as an editor counts.
  uint32_t ColumnOf(size_t at) const {
    uint32_t column = 1;
    for (size_t i = line_begin_; i < at; ++i) column += (text_[i] & 0xC0) != 0x80;
    return column;
  }

  void Scan(Token& t) {
    const char c = Peek();
    if (pos_ >= text_.size()) return;
    if (c == '%' || c == '@')
      return ScanName(t, c == '%' ? Token::Kind::kValue : Token::Kind::kFunction);
    if (c >= '0' && c <= '9') return ScanNumber(t);
    if (IsNameChar(c)) {
      t.kind = Token::Kind::kWord;
      t.text = TakeName();
      return;
    }
    ScanPunct(t);
  }

  std::string TakeName() {
    const size_t begin = pos_;
    while (IsNameChar(Peek())) ++pos_;
    return text_.substr(begin, pos_ - begin);
  }

  void ScanName(Token& t, Token::Kind kind) {
    ++pos_;
    t.kind = kind;
    if (kind == Token::Kind::kFunction && Peek() == '"') return ScanQuoted(t);
    t.text = TakeName();
    if (t.text.empty()) Fail(t, "a name is missing here");
  }

  void ScanQuoted(Token& t) {
    for (++pos_; Peek() != '"'; ++pos_) {
      if (Peek() == '\\') ++pos_;
      if (pos_ >= text_.size() || Peek() == '\n') return Fail(t, "this name has no closing quote");
      t.text += Peek();
    }
    ++pos_;
  }

  void ScanNumber(Token& t) {
    t.kind = Token::Kind::kNumber;
    const size_t begin = pos_;
    const bool hex = Peek() == '0' && Peek(1) == 'x';
    while (IsNameChar(Peek()) || (!hex && IsExponentSign())) ++pos_;
    t.text = text_.substr(begin, pos_ - begin);
  }

  bool IsExponentSign() const {
    return (Peek() == '-' || Peek() == '+') && pos_ > 0 && text_[pos_ - 1] == 'e';
  }

  void ScanPunct(Token& t) {
    static constexpr std::string_view kPairs[] = {"->", "==", "<=", ">="};
    t.kind = Token::Kind::kPunct;
    t.text = text_.substr(pos_, 2);
    for (std::string_view pair : kPairs) {
      if (t.text == pair) {
        pos_ += 2;
        return;
      }
    }
    t.text = text_.substr(pos_++, 1);
    static constexpr std::string_view kSingle = "()[]{},:;+-*!=<>";
    if (kSingle.find(t.text) == std::string_view::npos)
      Fail(t, "this character means nothing here");
  }

  void Fail(Token& t, const char* message) {
    t.kind = Token::Kind::kBad;
    t.text = message;
  }

  const std::string& text_;
  size_t pos_ = 0;
  size_t line_begin_ = 0;
  uint32_t line_ = 1;
};

}  // namespace

std::vector<Token> Lex(const std::string& text) { return Lexer(text).Run(); }

}  // namespace pullback::ir
