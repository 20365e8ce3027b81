// Expressions, by precedence climbing.
#include "core/lang/parser.h"

namespace pullback::lang {
namespace {

struct OperatorRow {
  Tok tok;
  int level;
  BinaryOp op;
};
constexpr OperatorRow kOperators[] = {
    {Tok::kOr, 0, BinaryOp::kOr},        {Tok::kOrOr, 0, BinaryOp::kOr},
    {Tok::kAnd, 1, BinaryOp::kAnd},      {Tok::kAndAnd, 1, BinaryOp::kAnd},
    {Tok::kEqEq, 3, BinaryOp::kEq},      {Tok::kNotEq, 3, BinaryOp::kNe},
    {Tok::kLess, 3, BinaryOp::kLt},      {Tok::kLessEq, 3, BinaryOp::kLe},
    {Tok::kGreater, 3, BinaryOp::kGt},   {Tok::kGreaterEq, 3, BinaryOp::kGe},
    {Tok::kPlus, 4, BinaryOp::kAdd},     {Tok::kMinus, 4, BinaryOp::kSub},
    {Tok::kStar, 5, BinaryOp::kMul},     {Tok::kSlash, 5, BinaryOp::kDiv},
    {Tok::kPercent, 5, BinaryOp::kRem},  {Tok::kAt, 5, BinaryOp::kMatMul},
};

struct ComprehensionRow {
  std::string_view name;
  Comprehension kind;
};
constexpr ComprehensionRow kComprehensions[] = {{"gen", Comprehension::kGen},
                                                {"sum", Comprehension::kSum},
                                                {"prod", Comprehension::kProd},
                                                {"max", Comprehension::kMax},
                                                {"min", Comprehension::kMin}};

const ComprehensionRow* FindComprehension(std::string_view name) {
  for (const ComprehensionRow& row : kComprehensions) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

constexpr uint64_t kLeastMagnitude = uint64_t{1} << 63;

}  // namespace

const BinaryOp* Parser::OperatorAt(int level) const {
  if (panic_ || AtLineStart()) return nullptr;
  for (const OperatorRow& row : kOperators) {
    if (row.level == level && row.tok == Peek().kind) return &row.op;
  }
  return nullptr;
}

bool Parser::SeemsToContinue(const Token& t) {
  bool operation = t.kind == Tok::kStarStar || t.kind == Tok::kDot || t.kind == Tok::kLParen ||
                   t.kind == Tok::kLBracket;
  for (const OperatorRow& row : kOperators) operation = operation || row.tok == t.kind;
  return operation && t.newline_before;
}

ExprPtr Parser::ParseLevel(int level) {
  if (level == kNotLevel) return ParseNot();
  if (level == kCompareLevel) return ParseComparison();
  if (level == kUnaryLevel) return ParseUnary();
  const Token& first = Peek();
  ExprPtr left = ParseLevel(level + 1);
  while (const BinaryOp* op = OperatorAt(level)) {
    Take();
    ExprPtr right = ParseLevel(level + 1);
    left = MakeBinary(*op, std::move(left), std::move(right), first);
  }
  return left;
}

ExprPtr Parser::ParseNot() {
  if (!At(Tok::kNot) && !At(Tok::kBang)) return ParseComparison();
  Nest nest(*this);
  if (!nest.ok()) return ParseMissing();
  ExprPtr e = MakeExpr(Expr::Kind::kUnary, Take());
  e->unary = UnaryOp::kNot;
  e->operands.push_back(ParseNot());
  return Finish(std::move(e));
}

// a < b < c is (a < b) and (b < c), from the left, with b copied.
ExprPtr Parser::ParseComparison() {
  const Token& first = Peek();
  ExprPtr chain = ParseLevel(kCompareLevel + 1);
  const Token* left = &first;
  Expr* last = nullptr;  // the comparison before
  while (const BinaryOp* op = OperatorAt(kCompareLevel)) {
    Take();
    const Token* right = &Peek();
    ExprPtr operand = ParseLevel(kCompareLevel + 1);
    ExprPtr from = last ? Clone(*last->operands[1]) : std::move(chain);
    ExprPtr comparison = MakeBinary(*op, std::move(from), std::move(operand), *left);
    Expr* made = comparison.get();
    if (last) {
      chain = MakeBinary(BinaryOp::kAnd, std::move(chain), std::move(comparison), first);
      chain->chained = true;
    } else {
      chain = std::move(comparison);
    }
    last = made;
    left = right;
  }
  return chain;
}

// -9223372036854775808 is one literal unless something binds to the number first.
bool Parser::AtLeastInteger() const {
  const Token& number = Peek(1);
  Tok after = Peek(2).kind;
  return At(Tok::kMinus) && number.kind == Tok::kInt && number.int_value == kLeastMagnitude &&
         after != Tok::kStarStar && after != Tok::kLBracket && after != Tok::kDot;
}

ExprPtr Parser::ParseLeastInteger() {
  ExprPtr e = MakeExpr(Expr::Kind::kInt, Take());
  e->int_value = INT64_MIN;
  e->has_suffix = Peek().has_suffix;
  e->elem = DType::kI64;
  Take();
  return Finish(std::move(e));
}

ExprPtr Parser::ParseUnary() {
  if (AtLeastInteger()) return ParseLeastInteger();
  if (At(Tok::kNot) || At(Tok::kBang)) ErrorHere("put 'not …' in brackets here: it binds loosely");
  if (!At(Tok::kMinus)) return ParsePower();
  Nest nest(*this);
  if (!nest.ok()) return ParseMissing();
  ExprPtr e = MakeExpr(Expr::Kind::kUnary, Take());
  e->unary = UnaryOp::kNeg;
  e->operands.push_back(ParseUnary());
  return Finish(std::move(e));
}

// a ** b ** c is a ** (b ** c); a minus takes all that follows: a ** -(b ** c).
ExprPtr Parser::ParsePower() {
  std::vector<const Token*> firsts = {&Peek()};
  std::vector<ExprPtr> operands;
  operands.push_back(ParsePostfix());
  bool more = true;
  while (more && At(Tok::kStarStar) && !AtLineStart()) {
    Take();
    more = !At(Tok::kMinus);
    firsts.push_back(&Peek());
    operands.push_back(more ? ParsePostfix() : ParseUnary());
  }
  ExprPtr e = std::move(operands.back());
  for (size_t i = operands.size() - 1; i-- > 0 && !panic_;) {
    e = MakeBinary(BinaryOp::kPow, std::move(operands[i]), std::move(e), *firsts[i]);
  }
  return e;
}

ExprPtr Parser::ParsePostfix() {
  const Token& first = Peek();
  ExprPtr e = ParsePrimary();
  while (!panic_ && !AtLineStart()) {
    if (At(Tok::kLBracket)) {
      e = ParseIndex(std::move(e), first);
    } else if (At(Tok::kDot)) {
      e = ParseDot(std::move(e), first);
    } else if (At(Tok::kLParen) && Last().kind != Tok::kRBrace) {
      ErrorHere("only a function's name can be called");
    } else {
      break;
    }
  }
  return e;
}

ExprPtr Parser::ParseIndex(ExprPtr base, const Token& first) {
  ExprPtr e = MakeExpr(Expr::Kind::kIndex, first);
  e->operands.push_back(std::move(base));
  Open(Tok::kLBracket, "");
  if (At(Tok::kRBracket)) ErrorHere("expected an index or a slice, found ']'");
  while (!panic_ && !At(Tok::kRBracket)) {
    e->subscripts.push_back(ParseSubscript());
    if (!Accept(Tok::kComma)) break;
  }
  Close(Tok::kLBracket);
  return Finish(std::move(e));
}

Subscript Parser::ParseSubscript() {
  Subscript s;
  const Token& first = Peek();
  if (!At(Tok::kColon)) s.index = ParseExpr();
  if (Accept(Tok::kColon)) ParseSlice(s);
  s.span = SpanFrom(first);
  return s;
}

void Parser::ParseSlice(Subscript& s) {
  s.is_slice = true;
  s.lo = std::move(s.index);
  if (!At(Tok::kColon) && !At(Tok::kComma) && !At(Tok::kRBracket)) s.hi = ParseExpr();
  if (Accept(Tok::kColon)) s.step = ParseStep();
}

ExprPtr Parser::ParseStep() {
  bool good = At(Tok::kInt) && Peek().int_value > 0;
  if (good) return ParseNumber();
  ErrorHere("a slice's step is a positive integer literal, found " + Found());
  return ParseMissing();
}

ExprPtr Parser::ParseDot(ExprPtr base, const Token& first) {
  Take();
  bool transpose = At(Tok::kName) && Text(Peek()) == "T";
  if (!transpose && !At(Tok::kInt)) {
    ErrorHere("expected 'T' (transpose) or the number of a tuple's element after '.', found " + Found());
    return base;
  }
  ExprPtr e = MakeExpr(transpose ? Expr::Kind::kTranspose : Expr::Kind::kField, first);
  if (!transpose && Peek().int_value >= static_cast<uint64_t>(limits_.max_tuple)) {
    ErrorHere("a tuple has at most " + std::to_string(limits_.max_tuple) + " elements");
  }
  e->int_value = static_cast<int64_t>(Take().int_value);
  e->operands.push_back(std::move(base));
  return Finish(std::move(e));
}

ExprPtr Parser::ParsePrimary() {
  if (panic_) return ParseMissing();
  switch (Peek().kind) {
    case Tok::kInt:
    case Tok::kFloat: return ParseNumber();
    case Tok::kTrue:
    case Tok::kFalse: return ParseBool();
    case Tok::kName: return AtComprehension() ? ParseComprehension() : ParseName();
    case Tok::kGen: return ParseComprehension();
    case Tok::kF64:
    case Tok::kF32:
    case Tok::kI64:
    case Tok::kBool: return ParseCast();
    case Tok::kLParen: return ParseGroup();
    case Tok::kLBracket: return ParseArray();
    case Tok::kIf: return ParseIf();
    case Tok::kLater: Unimplemented(Peek().span, Found()); return ParseMissing();
    case Tok::kPipe:
    case Tok::kOrOr: Unimplemented(Peek().span, "a lambda"); return ParseMissing();
    default: break;
  }
  std::string hint = SeemsToContinue(Peek()) ? std::string("; ") + kLineHint : "";
  ErrorHere("expected an expression, found " + Found() + hint);
  return ParseMissing();
}

// Stands for an expression that was not there, after an error.
ExprPtr Parser::ParseMissing() { return MakeExpr(Expr::Kind::kInt, Peek()); }

ExprPtr Parser::ParseNumber() {
  const Token& t = Take();
  bool is_float = t.kind == Tok::kFloat;
  if (!is_float && t.int_value >= kLeastMagnitude) {
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

ExprPtr Parser::ParseCall(const Token& name, Expr::Kind kind) {
  ExprPtr e = MakeExpr(kind, name);
  e->name = Text(name);
  Open(Tok::kLParen, "");
  while (!panic_ && !At(Tok::kRParen)) {
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

bool Parser::AtComprehension() const {
  return At(Tok::kGen) ||
         (At(Tok::kName) && FindComprehension(Text(Peek())) && Continues(1, Tok::kName));
}

ExprPtr Parser::ParseComprehension() {
  Nest nest(*this);
  if (!nest.ok()) return ParseMissing();
  ExprPtr e = MakeExpr(Expr::Kind::kComprehension, Peek());
  e->comprehension = FindComprehension(Text(Take()))->kind;
  do {
    e->binders.push_back(ParseBinder());
  } while (Accept(Tok::kComma));
  e->body = ParseBlock(BlockKind::kValue);
  return Finish(std::move(e));
}

Binder Parser::ParseBinder() {
  Binder b;
  const Token& first = Peek();
  b.name = TakeName("an index");
  if (Accept(Tok::kIn)) {
    b.lo = ParseLevel(kSumLevel);
    Expect(Tok::kDotDot, " between the bounds of the range");
    b.hi = ParseLevel(kSumLevel);
  } else if (Accept(Tok::kLess)) {
    b.hi = ParseLevel(kSumLevel);
  } else {
    ErrorHere("expected '< n' or 'in lo..hi' after the index, found " + Found());
  }
  b.span = SpanFrom(first);
  return b;
}

}  // namespace pullback::lang
