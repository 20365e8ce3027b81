// One function's text into a Function. Internal to the parser.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/ir/ir.h"
#include "core/ir/lexer.h"
#include "core/ir/literal.h"

namespace pullback::ir::internal {

// A place in the tokens, and the first error. Parsing functions return false once it is set.
class Cursor {
 public:
  explicit Cursor(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& Peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& Take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool Is(std::string_view text) const {  // a word or punctuation
    const Token& t = Peek();
    return (t.kind == Token::Kind::kWord || t.kind == Token::Kind::kPunct) && t.text == text;
  }
  bool Is(Token::Kind kind) const { return Peek().kind == kind; }
  bool Accept(std::string_view text) { return Is(text) && (Take(), true); }
  bool Expect(std::string_view text) {
    return Accept(text) || Fail("expected `" + std::string(text) + "`");
  }
  // Records the error at the current token; a token that is no token says so itself.
  bool Fail(const std::string& message) {
    const bool bad = Is(Token::Kind::kBad);
    return FailAt(Peek().span, bad ? Peek().text : message);
  }
  bool FailAt(const Span& span, const std::string& message) {
    if (!error_) error_ = Diagnostic{Severity::kError, span, message, ""};
    return false;
  }
  const std::optional<Diagnostic>& error() const { return error_; }
  const std::vector<Token>& tokens() const { return tokens_; }

 private:
  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::optional<Diagnostic> error_;
};

// A call names a function that may stand further down: resolved when all are known.
struct CalleeName {
  std::string name;
  Span span;
};

// Index of each record of the module.
using RecordNames = absl::flat_hash_map<std::string, uint32_t>;
bool ParseType(Cursor& c, const RecordNames& records, Type& t);

class FunctionParser {
 public:
  // Names of callees go to `callees`; Inst::callee (and a rule of the function) is the position there,
  // and wrt ends with the last parameter in it, until they are resolved.
  FunctionParser(Cursor& cursor, const RecordNames& records, Function& f,
                 std::vector<CalleeName>& callees)
      : c_(cursor), records_(records), f_(f), callees_(callees) {}

  // `fn @name(params) -> (types) { blocks }`
  bool Parse();

 private:
  using Names = absl::flat_hash_map<std::string, Value>;
  struct Label {
    std::string name;
    Span first_use;
    uint32_t block = UINT32_MAX;  // until it is defined
  };

  // function_parser.cc: function, blocks, terminators
  bool ParseHeader();
  bool ParseRules();
  bool ParseParams(std::vector<Value>& params);
  bool ParseType(Type& t);
  bool ParseBlock();
  bool ParseBlockBody(Block& block);
  bool StartsBlock() const;
  bool ParseTerminator(Terminator& t);
  bool ParseSnapshots(Terminator& t);  // ` checkpoint %s`, of a loop's header
  bool ParseEdge(Edge& e);
  uint32_t LabelId(const Token& label);
  bool ResolveLabels();
  bool CheckAllDefined();

  // function_parser_values.cc: names, constants, affine forms
  bool Use(const Token& name, Value& v);
  bool Define(const Token& name, Type t, Value& v);
  bool StartsOperand() const;
  bool ParseOperand(Value& v);
  template <typename List>
  bool ParseOperands(List& vs) {  // one or more, with commas
    do {
      if (!ParseOperand(vs.emplace_back())) return false;
    } while (c_.Accept(","));
    return true;
  }
  bool ParseLiteral(Literal& c);
  bool ParseNested(Value& v);
  bool ParseAffine(Affine& a);
  bool ParseAffineTerm(bool negative, Affine& a);
  bool ParseConstraint(Constraint& c);
  bool ParseHolds(Inst& inst);
  bool ParseConstraints(std::vector<Constraint>& cs);  // `(c and c)`
  bool ParseSubscripts(std::vector<Affine>& subs);     // `[a, a]`
  bool ParseIndex(uint64_t& n);                        // a plain unsigned number
  Value AppendConst(const Literal& c);

  // function_parser_insts.cc: instructions
  bool ParseInst();
  bool ParseOperation(Inst& inst, std::vector<Type>& types);
  bool ParsePlain(Inst& inst);
  bool ParseConst(Inst& inst, std::vector<Type>& types);
  bool ParseAccess(Inst& inst);
  bool ParseCall(Inst& inst);
  bool ParseDerivative(Inst& inst);
  bool ParseWrt(ThinVector<bool>& wrt);
  bool ParseCallee(uint32_t& callee);
  bool ParseArguments(Inst& inst);
  bool ParseCheck(Inst& inst);
  bool ParseWithType(Inst& inst, std::vector<Type>& types);
  bool ParseDim(Inst& inst);
  bool ParseEach(Inst& inst);
  bool ParseEachHead(Each& each);
  bool ParseEachResult(EachResult& r, std::vector<Inst>& outer);
  bool ParseSuffix(Inst& inst);
  bool ParseLoc(uint32_t& loc);
  bool DefineResults(const std::vector<Token>& names, const std::vector<Type>& types, Inst& inst);

  Cursor& c_;
  const RecordNames& records_;
  Function& f_;
  std::vector<CalleeName>& callees_;
  Names globals_;
  std::vector<Names> locals_;                    // of the statements around, innermost last
  absl::flat_hash_map<std::string, Span> open_;  // used, not yet defined
  absl::flat_hash_map<std::string, uint32_t> label_ids_;
  std::vector<Label> labels_;         // Edge::block is the position here until the end
  std::vector<Inst>* out_ = nullptr;  // where instructions and inline constants go
  int depth_ = 0;                     // of nested operations and statements
};

}  // namespace pullback::ir::internal
