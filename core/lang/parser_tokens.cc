// The parser's cursor, its brackets, and how it reports.
#include <algorithm>

#include "core/lang/parser.h"

namespace pullback::lang {
namespace {

constexpr size_t kMaxErrors = 20;

Tok Closer(Tok open) {
  if (open == Tok::kLParen) return Tok::kRParen;
  return open == Tok::kLBracket ? Tok::kRBracket : Tok::kRBrace;
}

}  // namespace

Parser::Parser(const std::string& text, const Limits& limits) : text_(text), limits_(limits) {
  Lexed lexed = Lex(text, kMaxErrors);
  tokens_ = std::move(lexed.tokens);
  comments_ = std::move(lexed.comments);
  diagnostics_ = std::move(lexed.errors);
  errors_ = diagnostics_.size();
}

const Token& Parser::Peek(size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

const Token& Parser::Take() {
  const Token& t = Peek();
  if (at_ + 1 < tokens_.size()) ++at_;
  return t;
}

bool Parser::Accept(Tok kind) {
  if (!At(kind)) return false;
  Take();
  return true;
}

bool Parser::Expect(Tok kind, std::string_view context) {
  if (Accept(kind)) return true;
  ErrorHere("expected " + std::string(TokenName(kind)) + std::string(context) + ", found " +
            Found() + (kind == Tok::kLBrace ? AdviceForBlock() : AdviceHere()));
  return false;
}

std::string Parser::TakeName(std::string_view what) {
  if (At(Tok::kName)) return std::string(Text(Take()));
  bool word = IsKeyword(Text(Peek()));
  ErrorHere("expected " + std::string(what) + ", found " + (word ? "the reserved word " : "") +
            Found());
  return "";
}

std::string_view Parser::Text(const Token& t) const {
  return std::string_view(text_).substr(t.span.begin, t.span.end - t.span.begin);
}

// The token under the cursor, for "found …".
std::string Parser::Found() const {
  const Token& t = Peek();
  if (t.kind == Tok::kEnd) return "the end of the text";
  constexpr size_t kShown = 40;
  std::string text(Text(t).substr(0, kShown));
  return "'" + text + (Text(t).size() > kShown ? "…'" : "'");
}

Span Parser::SpanFrom(const Token& first) const {
  Span s = first.span;
  s.end = std::max(s.end, Last().span.end);
  return s;
}

bool Parser::Error(const Span& span, std::string message) {
  if (panic_) return false;
  panic_ = true;
  open_at_error_ = 0;
  while (open_at_error_ < brackets_.size() &&
         brackets_[brackets_.size() - 1 - open_at_error_].kind != Tok::kLBrace) {
    ++open_at_error_;
  }
  if (Peek().kind == Tok::kBad) return false;  // the lexer has reported it
  Complain(span, std::move(message));
  return true;
}

void Parser::Complain(const Span& span, std::string message) {
  if (stopped_) return;
  diagnostics_.push_back({Severity::kError, span, std::move(message), MakeExcerpt(text_, span)});
  if (++errors_ >= kMaxErrors) Stop();
}

void Parser::Note(const Span& span, std::string message) {
  diagnostics_.push_back({Severity::kNote, span, std::move(message), MakeExcerpt(text_, span)});
}

void Parser::Unimplemented(const Span& span, const std::string& what) {
  if (panic_) return;
  if (errors_ == 0) {
    code_ = Code::kUnimplemented;
    reason_ = "UNIMPLEMENTED";
  }
  Complain(span, what + " is not implemented yet");
  Stop();
}

void Parser::Limit(const char* reason, const Span& span, std::string message) {
  if (panic_) return;
  if (errors_ == 0) reason_ = reason;
  Complain(span, std::move(message));
  Stop();
}

void Parser::Stop() {
  panic_ = true;
  stopped_ = true;
  at_ = tokens_.size() - 1;
}

// Lexer's and parser's messages in the order of the text; notes stay behind their error.
Status Parser::ErrorStatus() const {
  std::vector<std::pair<uint32_t, size_t>> order;  // place, index
  for (size_t i = 0; i < diagnostics_.size(); ++i) {
    bool note = diagnostics_[i].severity == Severity::kNote;
    order.emplace_back(note ? order.back().first : diagnostics_[i].span.begin, i);
  }
  std::sort(order.begin(), order.end());
  std::vector<Diagnostic> sorted;
  for (const auto& [begin, i] : order) sorted.push_back(diagnostics_[i]);
  std::string message = sorted[0].message;
  if (errors_ > 1) message += " (and " + std::to_string(errors_ - 1) + " more)";
  return Status(code_, reason_, std::move(message), std::move(sorted));
}

void Parser::Open(Tok kind, std::string_view context) {
  Deepen();
  Span span = Peek().span;
  Expect(kind, context);
  brackets_.push_back({kind, span});
}

void Parser::Close(Tok kind) {
  Tok closer = Closer(kind);
  if (!Accept(closer) &&
      Error(Peek().span,
            "expected " + std::string(TokenName(closer)) + ", found " + Found() +
                (At(Tok::kSemicolon) ? "; parts are separated by ','" : AdviceHere())) &&
      !stopped_) {
    Note(brackets_.back().span, std::string(TokenName(kind)) + " was opened here");
  }
  brackets_.pop_back();
  --depth_;
}

void Parser::Deepen() {
  if (++depth_ <= limits_.max_nesting) return;
  Limit("NESTING_TOO_DEEP", Peek().span,
        "nested too deeply: at most " + std::to_string(limits_.max_nesting) +
            " brackets, blocks, types and prefix operators inside each other");
}

}  // namespace pullback::lang
