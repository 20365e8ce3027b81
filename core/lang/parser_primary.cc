// What stands for itself in an expression: literals, names, calls, brackets, `if`, comprehensions.
#include "core/lang/parser.h"

namespace pullback::lang {
namespace {

struct ComprehensionRow {
  std::string_view name;
  Comprehension kind;
};
constexpr ComprehensionRow kComprehensions[] = {
    {"gen", Comprehension::kGen},       {"sum", Comprehension::kSum},
    {"prod", Comprehension::kProd},     {"max", Comprehension::kMax},
    {"min", Comprehension::kMin},       {"argmax", Comprehension::kArgMax},
    {"argmin", Comprehension::kArgMin}, {"and", Comprehension::kAnd},
    {"or", Comprehension::kOr}};

const ComprehensionRow* FindComprehension(std::string_view name) {
  for (const ComprehensionRow& row : kComprehensions) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace

ExprPtr Parser::ParsePrimary() {
  if (panic_) return ParseMissing();
  switch (Peek().kind) {
    case Tok::kInt:
    case Tok::kFloat: return ParseNumber();
    case Tok::kTrue:
    case Tok::kFalse: return ParseBool();
    case Tok::kName:
      if (AtScan()) return ParseScan();
      return AtComprehension() ? ParseComprehension() : ParseName();
    case Tok::kAnd:
    case Tok::kOr:
      if (AtComprehension()) return ParseComprehension();
      break;
    case Tok::kGen: return ParseComprehension();
    case Tok::kExists:
      ErrorHere("put 'exists …' in brackets: it binds loosely");
      return ParseMissing();
    case Tok::kF64:
    case Tok::kF32:
    case Tok::kI64:
    case Tok::kBool: return ParseCast();
    case Tok::kList:
    case Tok::kBox: return ParseListOrBox();
    case Tok::kLParen: return ParseGroup();
    case Tok::kLBracket: return ParseArray();
    case Tok::kIf: return ParseIf();
    case Tok::kLater: Unimplemented(Peek().span, Found()); return ParseMissing();
    case Tok::kPipe:
    case Tok::kOrOr: return ParseLambda();
    default: break;
  }
  std::string hint = AdviceHere();
  if (hint.empty() && SeemsToContinue(Peek())) hint = std::string("; ") + kLineHint;
  ErrorHere("expected an expression, found " + Found() + hint);
  return ParseMissing();
}

// Stands for an expression that was not there, after an error.
ExprPtr Parser::ParseMissing() { return MakeExpr(Expr::Kind::kInt, Peek()); }

ExprPtr Parser::ParseNumber() {
  const Token& t = Take();
  bool is_float = t.kind == Tok::kFloat;
  if (!is_float && t.int_value > INT64_MAX) {
    Error(t.span, "this integer is too large for i64 (the greatest is 9223372036854775807)");
  }
  ExprPtr e = MakeExpr(is_float ? Expr::Kind::kFloat : Expr::Kind::kInt, t);
  e->int_value = static_cast<int64_t>(t.int_value);
  e->float_value = t.float_value;
  e->has_suffix = t.has_suffix;
  e->elem = t.has_suffix ? t.suffix : is_float ? DType::kF64 : DType::kI64;
  return Finish(std::move(e));
}

ExprPtr Parser::ParseBool() {
  ExprPtr e = MakeExpr(Expr::Kind::kBool, Peek());
  e->int_value = Take().kind == Tok::kTrue;
  e->elem = DType::kBool;
  return Finish(std::move(e));
}

// The token `ahead` is `kind` and continues what stands before it.
bool Parser::Continues(size_t ahead, Tok kind) const {
  return Peek(ahead).kind == kind && !(LinesCount() && Peek(ahead).newline_before);
}

ExprPtr Parser::ParseName() {
  const Token& name = Take();
  if (Continues(0, Tok::kLParen)) return ParseCall(name, Expr::Kind::kCall);
  if (Continues(0, Tok::kDot) && Peek(1).kind == Tok::kLParen) {
    Take();
    return ParseCall(name, Expr::Kind::kBroadcastCall);
  }
  ExprPtr e = MakeExpr(Expr::Kind::kName, name);
  e->name = Text(name);
  return Finish(std::move(e));
}

// list(a, …), box(e).
ExprPtr Parser::ParseListOrBox() {
  const Token& name = Take();
  if (Continues(0, Tok::kLParen)) return ParseCall(name, Expr::Kind::kCall);
  ErrorHere("expected '(' after '" + std::string(Text(name)) + "', found " + Found());
  return ParseMissing();
}

// S(a: e, …), the fields of a struct by name: all or none of them.
void Parser::ParseLabel(Expr& call) {
  bool label = At(Tok::kName) && Peek(1).kind == Tok::kColon;
  if (!call.operands.empty() && label == call.labels.empty()) {
    ErrorHere("give a name to every field, or to none");
  }
  if (!label) return;
  call.labels.emplace_back(Text(Take()));
  Take();
}

ExprPtr Parser::ParseCall(const Token& name, Expr::Kind kind) {
  ExprPtr e = MakeExpr(kind, name);
  e->name = Text(name);
  Open(Tok::kLParen, "");
  while (!panic_ && !At(Tok::kRParen)) {
    if (kind == Expr::Kind::kCall) ParseLabel(*e);
    e->operands.push_back(ParseExpr());
    if (!Accept(Tok::kComma)) break;
  }
  Close(Tok::kLParen);
  return Finish(std::move(e));
}

ExprPtr Parser::ParseCast() {
  const Token& first = Peek();
  ExprPtr e = MakeExpr(Expr::Kind::kCast, first);
  e->elem = TakeScalarType();
  Open(Tok::kLParen, " and a value to convert");
  e->operands.push_back(ParseExpr());
  Accept(Tok::kComma);
  Close(Tok::kLParen);
  return Finish(std::move(e));
}

ExprPtr Parser::ParseGroup() {
  const Token& first = Peek();
  Open(Tok::kLParen, "");
  if (At(Tok::kRParen)) ErrorHere("expected an expression, found ')'");
  ExprPtr e = ParseExpr();
  if (At(Tok::kComma)) {
    e = ParseTuple(std::move(e), first);
  } else {
    e->parenthesised = true;
  }
  Close(Tok::kLParen);
  if (e->kind == Expr::Kind::kTuple && !e->parenthesised) e->span = SpanFrom(first);
  return e;
}

ExprPtr Parser::ParseTuple(ExprPtr first_element, const Token& first) {
  ExprPtr e = MakeExpr(Expr::Kind::kTuple, first);
  e->operands.push_back(std::move(first_element));
  while (Accept(Tok::kComma) && !At(Tok::kRParen)) {
    if (e->operands.size() >= static_cast<size_t>(limits_.max_tuple)) {
      Limit("TYPE_TOO_LARGE", Peek().span,
            "too many elements in a tuple: at most " + std::to_string(limits_.max_tuple) +
                " are allowed");
    }
    e->operands.push_back(ParseExpr());
  }
  if (e->operands.size() == 1) ErrorHere("a tuple has at least two elements");
  return Finish(std::move(e));
}

// [e] is a bracket, whose meaning depends on e's type; a comma makes it an array.
ExprPtr Parser::ParseArray() {
  ExprPtr e = MakeExpr(Expr::Kind::kBracket, Peek());
  if (array_depth_++ == 0) array_elements_ = 0;
  Open(Tok::kLBracket, "");
  if (At(Tok::kRBracket)) ErrorHere("an array literal has at least one element; see zeros(n)");
  while (!panic_ && !At(Tok::kRBracket)) {
    ExprPtr element = ParseExpr();
    bool row = element->kind == Expr::Kind::kArray || element->kind == Expr::Kind::kBracket;
    if (!row && ++array_elements_ > limits_.max_array_literal) {
      Limit("CONSTANT_TOO_LARGE", element->span,
            "this array literal is too large: at most " +
                std::to_string(limits_.max_array_literal) + " elements are allowed");
    }
    e->operands.push_back(std::move(element));
    if (!Accept(Tok::kComma)) break;
    e->kind = Expr::Kind::kArray;
  }
  Close(Tok::kLBracket);
  --array_depth_;
  return Finish(std::move(e));
}

ExprPtr Parser::ParseIf() {
  Nest nest(*this);
  if (!nest.ok()) return ParseMissing();
  ExprPtr e = MakeExpr(Expr::Kind::kIf, Peek());
  e->arms = ParseArms(BlockKind::kValue);
  if (!panic_ && e->arms.back().cond) {
    Complain(e->span, "an 'if' that is used as a value needs an 'else'");
  }
  return Finish(std::move(e));
}

// The word at `ahead` starts a comprehension. After 'and' and 'or', which are operators too, the range of
// an index must follow.
bool Parser::AtComprehension(size_t ahead) const {
  const Tok word = Peek(ahead).kind;
  if (panic_) return false;
  if (word == Tok::kGen) return true;
  if (!Continues(ahead + 1, Tok::kName)) return false;
  const Tok range = Peek(ahead + 2).kind;
  if (word == Tok::kAnd || word == Tok::kOr) return range == Tok::kLess || range == Tok::kIn;
  return word == Tok::kName && FindComprehension(Text(Peek(ahead)));
}

void Parser::ParseBinders(Expr& e) {
  do {
    e.binders.push_back(ParseBinder());
  } while (Accept(Tok::kComma));
}

ExprPtr Parser::ParseComprehension() {
  Nest nest(*this);
  if (!nest.ok()) return ParseMissing();
  ExprPtr e = MakeExpr(Expr::Kind::kComprehension, Peek());
  e->comprehension = FindComprehension(Text(Take()))->kind;
  ParseBinders(*e);
  e->body = ParseBlock(BlockKind::kValue);
  return Finish(std::move(e));
}

// exists i < n: p, which takes all that follows.
ExprPtr Parser::ParseExists() {
  Nest nest(*this);
  if (!nest.ok()) return ParseMissing();
  ExprPtr e = MakeExpr(Expr::Kind::kComprehension, Take());
  e->comprehension = Comprehension::kExists;
  ParseBinders(*e);
  Expect(Tok::kColon, " and a condition after the indices of 'exists'");
  const Token& first = Peek();
  e->body.result = ParseLevel(kOrLevel);
  FinishBlock(e->body, first);
  return Finish(std::move(e));
}

// scan sum i < n { e }
bool Parser::AtScan() const {
  if (!At(Tok::kName) || !Continues(1, Tok::kName) || !AtComprehension(1)) return false;
  return Text(Peek()) == "scan" || Text(Peek()) == "exscan";
}

ExprPtr Parser::ParseScan() {
  ExprPtr e = MakeExpr(Expr::Kind::kScan, Peek());
  e->exclusive = Text(Take()) == "exscan";
  const Token& word = Peek();
  ExprPtr terms = ParseComprehension();
  if (terms->kind == Expr::Kind::kComprehension) {
    e->comprehension = terms->comprehension;
    terms->comprehension = Comprehension::kGen;
  }
  if (IsArg(e->comprehension))
    Complain(word.span, "there is no scan of '" + std::string(Text(word)) +
                            "': only of sum, prod, max and min");
  e->operands.push_back(std::move(terms));
  return Finish(std::move(e));
}

// With `or_values`, `x in xs` is one too: then `hi` is null.
Binder Parser::ParseBinder(bool or_values) {
  Binder b;
  const Token& first = Peek();
  b.name = TakeName("an index");
  if (Accept(Tok::kIn)) {
    b.lo = ParseLevel(kSumLevel);
    if (!or_values || At(Tok::kDotDot)) {
      if (At(Tok::kLBrace)) {
        ErrorHere("expected '..' between the bounds of the range, found '{'; a range is " + b.name +
                  " < n or " + b.name + " in a..b");
      } else {
        Expect(Tok::kDotDot, " between the bounds of the range");
      }
      b.hi = ParseLevel(kSumLevel);
    }
  } else if (Accept(Tok::kLess)) {
    b.hi = ParseLevel(kSumLevel);
  } else {
    ErrorHere("expected '< n' or 'in lo..hi' after the index, found " + Found());
  }
  b.span = SpanFrom(first);
  return b;
}

}  // namespace pullback::lang
