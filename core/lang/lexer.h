// Program text to tokens. Errors are collected, and a kBad token stands where one was, so that the
// parser goes on and reports its own beside them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/base/tensor.h"
#include "core/lang/ast.h"

namespace pullback::lang {

// X(enum, spelling): keywords of the language as it is.
// clang-format off
#define PB_KEYWORDS(X)                                                                           \
  X(Fn, "fn") X(Let, "let") X(Var, "var") X(If, "if") X(Else, "else") X(While, "while")          \
  X(For, "for") X(In, "in") X(Break, "break") X(Continue, "continue") X(Return, "return")        \
  X(True, "true") X(False, "false") X(And, "and") X(Or, "or") X(Not, "not") X(Gen, "gen")        \
  X(F64, "f64") X(F32, "f32") X(I64, "i64") X(Bool, "bool") X(Struct, "struct") X(List, "list")  \
  X(Box, "box") X(With, "with") X(Exists, "exists")
// clang-format on

// Operators and punctuation; a longer one stands before its prefixes.
// clang-format off
#define PB_PUNCTUATION(X)                                                                        \
  X(StarStar, "**") X(PlusAssign, "+=") X(MinusAssign, "-=") X(StarAssign, "*=")                 \
  X(SlashAssign, "/=") X(EqEq, "==") X(NotEq, "!=") X(LessEq, "<=") X(GreaterEq, ">=")           \
  X(Arrow, "->") X(DotDot, "..") X(AndAnd, "&&") X(OrOr, "||") X(LParen, "(") X(RParen, ")")     \
  X(LBracket, "[") X(RBracket, "]") X(LBrace, "{") X(RBrace, "}") X(Comma, ",")                  \
  X(Semicolon, ";") X(Colon, ":") X(Dot, ".") X(Assign, "=") X(Plus, "+") X(Minus, "-")          \
  X(Star, "*") X(Slash, "/") X(Percent, "%") X(At, "@") X(Less, "<") X(Greater, ">")             \
  X(Bang, "!") X(Pipe, "|")
// clang-format on

enum class Tok : uint8_t {
  kEnd,
  kBad,  // already reported
  kName,
  kInt,
  kFloat,
  kLater,  // a word reserved for a construct that is not implemented yet
#define PB_TOK(e, s) k##e,
  PB_KEYWORDS(PB_TOK) PB_PUNCTUATION(PB_TOK)
#undef PB_TOK
};

struct Token {
  Tok kind = Tok::kEnd;
  bool newline_before = false;
  bool has_suffix = false;  // numbers: the type was written
  DType suffix = DType::kF64;
  Span span;
  uint64_t int_value = 0;  // up to 2^63, which is only good after a minus
  double float_value = 0;
};

struct Lexed {
  std::vector<Token> tokens;  // the last is kEnd
  std::vector<Comment> comments;
  std::vector<Diagnostic> errors;  // at most `max_errors`; lexing stops there
};
Lexed Lex(const std::string& text, size_t max_errors);

// How messages name a token of this kind: "'('", "a name", "end of text".
std::string_view TokenName(Tok kind);
bool IsKeyword(std::string_view word);  // later ones included

}  // namespace pullback::lang
