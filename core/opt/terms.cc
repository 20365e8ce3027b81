#include "core/opt/terms.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace pullback::opt {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Term Whole() {
    Term term = Read();
    if (at_ != text_.size()) Fail("end");
    return term;
  }

 private:
  Term Read() {
    Term term;
    if (at_ < text_.size() && (text_[at_] == '-' || std::isdigit(Peek()))) {
      term.kind = Term::Kind::kNumber;
      term.number = std::stod(std::string(Take([](int c) { return c == '-' || std::isdigit(c); })));
      return term;
    }
    const std::string_view word = Take([](int c) { return c == '_' || std::isalnum(c); });
    if (at_ < text_.size() && text_[at_] == '(') return Operation(word);
    if (word == "true" || word == "false") {
      term.kind = Term::Kind::kBool;
      term.truth = word == "true";
    } else if (word == "build" || word == "extent") {
      term.kind = word == "build" ? Term::Kind::kBuild : Term::Kind::kExtent;
    } else if (word.size() == 1 && word[0] >= 'a' && word[0] < 'a' + kTermVariables) {
      term.kind = Term::Kind::kVariable;
      term.variable = word[0] - 'a';
    } else {
      Fail("a term");
    }
    return term;
  }

  Term Operation(std::string_view mnemonic) {
    const auto op = ir::FindOp(mnemonic);
    if (!op) Fail("an op");
    Term term;
    term.op = *op;
    do {
      ++at_;  // ( or ,
      while (at_ < text_.size() && text_[at_] == ' ') ++at_;
      term.operands.push_back(Read());
    } while (at_ < text_.size() && text_[at_] == ',');
    if (at_ == text_.size() || text_[at_] != ')') Fail(")");
    ++at_;
    if (static_cast<int>(term.operands.size()) != ir::Info(*op).arity) Fail("as many operands");
    return term;
  }

  int Peek() const { return static_cast<unsigned char>(text_[at_]); }
  template <typename Fn>
  std::string_view Take(Fn&& is) {
    const size_t begin = at_;
    while (at_ < text_.size() && is(Peek())) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  [[noreturn]] void Fail(const char* wanted) const {
    std::fprintf(stderr, "rewrite rule '%.*s': expected %s at %zu\n",
                 static_cast<int>(text_.size()), text_.data(), wanted, at_);
    std::abort();
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Term ParseTerm(std::string_view text) { return Reader(text).Whole(); }

}  // namespace pullback::opt
