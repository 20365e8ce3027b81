// The recursive-descent parser's state, shared by parser.cc (items, types), parser_stmt.cc, parser_for.cc,
// parser_expr.cc and parser_primary.cc. Others call Parse() of lang.h.
//
// Errors: the first one in a statement sets `panic_`; while it is set nothing more is reported and
// every loop ends, so that functions may return placeholders. The statement list resynchronises and
// clears it. Stop() goes to the end of the text for good: limits, constructs that are not there
// yet.
//
// Depth: every way back into the same function opens a bracket or holds a Nest; trees that grow by
// iteration (operator chains) are bounded through Expr::height.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/lang/lang.h"
#include "core/lang/lexer.h"

namespace pullback::lang {

class Parser {
 public:
  Parser(const std::string& text, const Limits& limits);
  StatusOr<Program> Run();
  // A copy of a function that is not checked yet.
  std::unique_ptr<Function> Clone(const Function& f);
  TypeExpr Clone(const TypeExpr& t);
  Block Clone(const Block& b);
  bool stopped() const { return stopped_; }
  size_t nodes() const { return nodes_; }

 private:
  // Whether a block may end with an expression. kMaybe: arms of an `if` statement in a block with a
  // value, where only what follows the `if` tells.
  enum class BlockKind : uint8_t { kStatements, kMaybe, kValue };

  // --- items and types (parser.cc)
  std::unique_ptr<Function> ParseFunction();
  std::unique_ptr<Struct> ParseStruct();
  void ParseParams(Function& f);
  void ParseTypeParams(Function& f);
  TypeExpr ParseType();
  void ParseArrayType(TypeExpr& t);
  void ParseStructArray(TypeExpr& t);
  void ParseTupleType(TypeExpr& t);
  void ParseRelationType(TypeExpr& t);
  void ParseRules(Function& f);
  void ParseFunctionType(TypeExpr& t);
  void ParseElementType(TypeExpr& t);
  bool AtScalarType() const { return !panic_ && IsScalarType(Peek().kind); }
  static bool IsScalarType(Tok kind) {
    return kind == Tok::kF64 || kind == Tok::kF32 || kind == Tok::kI64 || kind == Tok::kBool;
  }
  DType TakeScalarType();
  void SkipToItem();
  static bool IsItemStart(Tok kind) { return kind == Tok::kFn || kind == Tok::kStruct; }
  bool AtItem() const { return IsItemStart(Peek().kind); }

  // --- statements (parser_stmt.cc)
  Block ParseBlock(BlockKind kind);
  void ParseBlockItems(Block& block, BlockKind kind);
  void ParseBlockItem(Block& block, BlockKind kind);
  void ParseIfItem(Block& block, BlockKind kind);
  StmtPtr ParseStatement();
  StmtPtr ParseLet(Stmt::Kind kind);
  void ParseLetNames(Stmt& s);
  StmtPtr ParseWhile();
  StmtPtr ParseFor();
  void ParseSnapshots(Stmt& s);
  void ParseEach(Stmt& s, const Token& name, StmtPtr& values, StmtPtr& element);
  StmtPtr ParseReturn();
  StmtPtr ParseAssignment(ExprPtr first);
  void ParseAugmented(Stmt& s, ExprPtr target);
  ExprPtr ParseValues(size_t targets);
  Target ToTarget(ExprPtr e);
  bool IsPlace(const Expr& e);
  std::vector<CondArm> ParseArms(BlockKind kind);
  void EndStatement();
  void UnusedValue(const Expr& e, const Token& first, BlockKind kind);
  void UnusedArms(const std::vector<CondArm>& arms);
  void Synchronise(size_t start);
  StmtPtr MakeStmt(Stmt::Kind kind, const Token& first);

  // --- expressions (parser_expr.cc)
  static constexpr const char* kLineHint =
      "an expression ends with its line, unless that ends with an operator or a bracket is open";
  // Levels of binding, loosest first; a level's operands are of the next.
  static constexpr int kOrLevel = 0, kNotLevel = 2, kCompareLevel = 3, kSumLevel = 4,
                       kUnaryLevel = 6;
  ExprPtr ParseExpr();
  ExprPtr ParseWith(ExprPtr base, const Token& first);
  ExprPtr ParseLevel(int level);
  const BinaryOp* OperatorAt(int level) const;
  // A line that starts so was perhaps meant to go on with the expression before.
  static bool SeemsToContinue(const Token& t);
  ExprPtr ParseNot();
  ExprPtr ParseComparison();
  ExprPtr ParseUnary();
  ExprPtr ParsePower();
  ExprPtr ParsePostfix();
  ExprPtr ParseIndex(ExprPtr base, const Token& first);
  ExprPtr ParseDot(ExprPtr base, const Token& first);
  Subscript ParseSubscript();
  void ParseSlice(Subscript& s);
  ExprPtr ParseStep();
  // --- primary expressions (parser_primary.cc)
  ExprPtr ParsePrimary();
  ExprPtr ParseNumber();
  ExprPtr ParseBool();
  ExprPtr ParseLeastInteger();
  bool AtLeastInteger() const;
  ExprPtr ParseName();
  ExprPtr ParseCall(const Token& name, Expr::Kind kind);
  void ParseLabel(Expr& call);
  ExprPtr ParseCast();
  ExprPtr ParseListOrBox();
  ExprPtr ParseGroup();
  ExprPtr ParseTuple(ExprPtr first_element, const Token& first);
  ExprPtr ParseArray();
  ExprPtr ParseIf();
  ExprPtr ParseComprehension();
  ExprPtr ParseLambda();
  void ParseLambdaParams(Lambda& lambda);
  ExprPtr ParseApply(ExprPtr function, const Token& first, Expr::Kind kind = Expr::Kind::kApply);
  ExprPtr ParseMissing();
  ExprPtr ParseExists();
  ExprPtr ParseScan();
  Binder ParseBinder(bool or_values = false);
  void ParseBinders(Expr& e);
  bool AtComprehension(size_t ahead = 0) const;
  bool AtScan() const;
  bool Continues(size_t ahead, Tok kind) const;

  // --- nodes (parser_nodes.cc)
  ExprPtr MakeExpr(Expr::Kind kind, const Token& first);
  ExprPtr MakeBinary(BinaryOp op, ExprPtr a, ExprPtr b, const Token& first);
  // Takes the node's end and height from what it holds now. Must be called last.
  ExprPtr Finish(ExprPtr e);
  void FinishBlock(Block& block, const Token& first);
  ExprPtr Clone(const Expr& e);
  ExprPtr Clone(const ExprPtr& e);  // null stays null
  StmtPtr Clone(const Stmt& s);
  std::vector<Subscript> Clone(const std::vector<Subscript>& subscripts);
  std::vector<Access> Clone(const std::vector<Access>& path);
  std::vector<CondArm> Clone(const std::vector<CondArm>& arms);
  Binder Clone(const Binder& b);
  std::unique_ptr<Lambda> Clone(const std::unique_ptr<Lambda>& lambda);
  Param Clone(const Param& p);
  void CountNode(const Span& at);

  // --- tokens and errors (parser_tokens.cc)
  const Token& Peek(size_t ahead = 0) const;
  const Token& Last() const { return tokens_[at_ == 0 ? 0 : at_ - 1]; }
  bool LinesCount() const { return !brackets_.empty() && brackets_.back().kind == Tok::kLBrace; }
  const Token& Take();
  bool At(Tok kind) const { return !panic_ && Peek().kind == kind; }
  bool Accept(Tok kind);
  bool Expect(Tok kind, std::string_view context);
  std::string TakeName(std::string_view what);
  // The next token begins a line, and lines count here.
  bool AtLineStart() const { return LinesCount() && Peek().newline_before; }
  std::string_view Text(const Token& t) const;
  std::string Found() const;
  // --- (parser_advice.cc)
  bool Touches() const;
  std::string AdviceHere() const;
  std::string AdviceForItem() const;   // in place of a function or a struct
  std::string AdviceForBlock() const;  // in place of a block
  std::string AdviceBehind() const;    // behind a statement
  Span SpanFrom(const Token& first) const;

  // Reports once until the next resynchronisation; false if it was suppressed.
  bool Error(const Span& span, std::string message);
  void ErrorHere(std::string message) { Error(Peek().span, std::move(message)); }
  void Note(const Span& span, std::string message);
  // An error that leaves the parser where it is: parsing goes on.
  void Complain(const Span& span, std::string message);
  void Unimplemented(const Span& span, const std::string& what);
  void Limit(const char* reason, const Span& span, std::string message);
  void Stop();
  Status ErrorStatus() const;

  // Brackets open around the cursor; they count as depth. Every Open has its Close, errors or not.
  void Open(Tok kind, std::string_view context);
  void Close(Tok kind);
  void Deepen();

  // Depth for the guard's lifetime; !ok() past the limit, which has then been reported.
  class Nest {
   public:
    explicit Nest(Parser& p) : parser_(p) { p.Deepen(); }
    ~Nest() { --parser_.depth_; }
    Nest(const Nest&) = delete;
    bool ok() const { return !parser_.panic_; }

   private:
    Parser& parser_;
  };

  struct Bracket {
    Tok kind;
    Span span;
  };

  const std::string& text_;
  const Limits& limits_;
  std::vector<Token> tokens_;
  std::vector<Comment> comments_;
  std::vector<Diagnostic> diagnostics_;
  std::vector<Bracket> brackets_;
  Token end_;
  size_t at_ = 0;
  size_t errors_ = 0;
  size_t nodes_ = 0;
  size_t open_at_error_ = 0;  // ( and [ that were open in the innermost block at the last error
  int depth_ = 0;
  int array_elements_ = 0;  // leaves of the array literal that is being parsed
  int array_depth_ = 0;
  int each_ = 0;     // loops over values so far
  StmtPtr implied_;  // what such a loop needs before it
  bool panic_ = false;
  bool stopped_ = false;
  const char* reason_ = "SYNTAX_ERROR";
  Code code_ = Code::kInvalidArgument;
};

}  // namespace pullback::lang
