// Tokens of the IR's text.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"

namespace pullback::ir {

struct Token {
  enum class Kind : uint8_t {
    kEnd,
    kWord,      // add, b1, f64, true
    kValue,     // %x; text without the sign
    kFunction,  // @f, @"a b"; text without sign and quotes
    kNumber,    // 2, 2.0, 1e-3f, 0x7ff8000000000001
    kPunct,     // ( ) [ ] { } , : ; + - * ! = == < <= > >= ->
    kBad,       // text is the message
  };
  Kind kind = Kind::kEnd;
  std::string text;
  Span span;
};

// The tokens of `text`, without comments (`#` to the end of the line); the last one is kEnd.
std::vector<Token> Lex(const std::string& text);

}  // namespace pullback::ir
