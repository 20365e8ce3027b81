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
    {Tok::kOr, 0, BinaryOp::kOr},       {Tok::kOrOr, 0, BinaryOp::kOr},
    {Tok::kAnd, 1, BinaryOp::kAnd},     {Tok::kAndAnd, 1, BinaryOp::kAnd},
    {Tok::kEqEq, 3, BinaryOp::kEq},     {Tok::kNotEq, 3, BinaryOp::kNe},
    {Tok::kLess, 3, BinaryOp::kLt},     {Tok::kLessEq, 3, BinaryOp::kLe},
    {Tok::kGreater, 3, BinaryOp::kGt},  {Tok::kGreaterEq, 3, BinaryOp::kGe},
    {Tok::kPlus, 4, BinaryOp::kAdd},    {Tok::kMinus, 4, BinaryOp::kSub},
    {Tok::kStar, 5, BinaryOp::kMul},    {Tok::kSlash, 5, BinaryOp::kDiv},
    {Tok::kPercent, 5, BinaryOp::kRem}, {Tok::kAt, 5, BinaryOp::kMatMul},
};

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

ExprPtr Parser::ParseExpr() {
  const Token& first = Peek();
  ExprPtr e = ParseLevel(kOrLevel);
  while (At(Tok::kWith) && !AtLineStart()) e = ParseWith(std::move(e), first);
  return e;
}

// s with a.b[i] = e: s with that part of it changed.
ExprPtr Parser::ParseWith(ExprPtr base, const Token& first) {
  Take();
  ExprPtr e = MakeExpr(Expr::Kind::kWith, first);
  e->operands.push_back(std::move(base));
  Span field = Peek().span;
  if (!At(Tok::kName)) ErrorHere("expected a field's name after 'with', found " + Found());
  ExprPtr place = ParsePostfix();
  if (!panic_ && !IsPlace(*place)) Error(place->span, "expected a field after 'with'");
  if (!panic_) {
    Target t = ToTarget(std::move(place));
    e->path.push_back({t.name, 0, {}, field});
    for (Access& a : t.path) e->path.push_back(std::move(a));
  }
  Expect(Tok::kAssign, " and the field's value");
  e->operands.push_back(ParseLevel(kOrLevel));
  return Finish(std::move(e));
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
  if (At(Tok::kExists)) return ParseExists();
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
  if (At(Tok::kNot) || At(Tok::kBang)) ErrorHere("put 'not …' in brackets: it binds loosely");
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
      e = ParseApply(std::move(e), first);
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
  if (At(Tok::kLParen)) return ParseApply(std::move(base), first, Expr::Kind::kBroadcastCall);
  bool transpose = At(Tok::kName) && Text(Peek()) == "T";
  if (!At(Tok::kName) && !At(Tok::kInt)) {
    ErrorHere("expected a field, 'T' (transpose) or the number of a tuple's element after '.', " +
              std::string("found ") + Found());
    return base;
  }
  ExprPtr e = MakeExpr(transpose ? Expr::Kind::kTranspose : Expr::Kind::kField, first);
  if (At(Tok::kInt) && Peek().int_value >= static_cast<uint64_t>(limits_.max_tuple)) {
    ErrorHere("a tuple has at most " + std::to_string(limits_.max_tuple) + " elements");
  }
  if (At(Tok::kName) && !transpose) e->name = Text(Peek());
  e->int_value = static_cast<int64_t>(Take().int_value);
  e->operands.push_back(std::move(base));
  return Finish(std::move(e));
}

}  // namespace pullback::lang
