// Functions as values: lambdas, calls of what an expression gives, function types, type parameters.
#include <algorithm>

#include "core/lang/parser.h"
#include "core/lang/relation.h"

namespace pullback::lang {

// <T, U>
void Parser::ParseTypeParams(Function& f) {
  Take();
  do {
    const Span span = Peek().span;
    std::string name = TakeName("a type parameter");
    const bool known =
        std::find(f.type_params.begin(), f.type_params.end(), name) != f.type_params.end();
    if (known) Error(span, "there are two type parameters named '" + name + "'");
    f.type_params.push_back(std::move(name));
  } while (Accept(Tok::kComma));
  Expect(Tok::kGreater, " after the type parameters");
}

// fn(T, U) -> V
void Parser::ParseFunctionType(TypeExpr& t) {
  Nest nest(*this);
  if (!nest.ok()) return;
  Take();
  t.kind = TypeExpr::Kind::kFunction;
  Open(Tok::kLParen, " before the types of the parameters");
  while (!panic_ && !At(Tok::kRParen)) {
    if (t.elements.size() >= static_cast<size_t>(limits_.max_params)) {
      Limit("TYPE_TOO_LARGE", Peek().span, "too many parameters in a function type");
    }
    t.elements.push_back(ParseType());
    if (!Accept(Tok::kComma)) break;
  }
  Close(Tok::kLParen);
  if (Expect(Tok::kArrow, " and the type of the result")) {
    t.elements.push_back(ParseType());
  } else {
    t.elements.emplace_back();
  }
}

// rel[n, m]
void Parser::ParseRelationType(TypeExpr& t) {
  const Token& open = Peek();
  t.kind = TypeExpr::Kind::kRelation;
  t.name.clear();
  Open(Tok::kLBracket, "");
  if (At(Tok::kRBracket)) ErrorHere("a relation names its sizes: rel[n, m]");
  while (!panic_ && !At(Tok::kRBracket)) {
    if (t.dims.size() >= kMaxArity) {
      Limit("TYPE_TOO_LARGE", Peek().span,
            "a relation is between at most " + std::to_string(kMaxArity) + " indices");
    }
    t.dims.push_back(ParseLevel(kSumLevel));
    if (!Accept(Tok::kComma)) break;
  }
  Close(Tok::kLBracket);
  t.span = SpanFrom(open);
  if (t.dims.empty()) t.kind = TypeExpr::Kind::kScalar;  // reported
  if (!t.dims.empty()) FinishRelation(t);
}

// |x, y: f64| result
ExprPtr Parser::ParseLambda() {
  Nest nest(*this);
  if (!nest.ok()) return ParseMissing();
  ExprPtr e = MakeExpr(Expr::Kind::kLambda, Peek());
  e->lambda = std::make_unique<Lambda>();
  Lambda& lambda = *e->lambda;
  if (!Accept(Tok::kOrOr)) ParseLambdaParams(lambda);
  if (panic_) return e;
  if (At(Tok::kLBrace)) {
    lambda.braces = true;
    lambda.body = ParseBlock(BlockKind::kValue);
  } else {
    const Token& first = Peek();
    lambda.body.result = ParseExpr();
    FinishBlock(lambda.body, first);
  }
  return Finish(std::move(e));
}

void Parser::ParseLambdaParams(Lambda& lambda) {
  Take();
  while (!panic_ && !At(Tok::kPipe)) {
    if (lambda.params.size() >= static_cast<size_t>(limits_.max_params)) {
      Limit("TYPE_TOO_LARGE", Peek().span, "too many parameters of a lambda");
    }
    Param p;
    p.span = Peek().span;
    p.name = TakeName("a parameter name");
    p.type.kind = TypeExpr::Kind::kOmitted;
    p.type.span = p.span;
    for (const Param& other : lambda.params) {
      if (other.name == p.name) Error(p.span, "two parameters are named '" + p.name + "'");
    }
    if (Accept(Tok::kColon)) p.type = ParseType();
    lambda.params.push_back(std::move(p));
    if (!Accept(Tok::kComma)) break;
  }
  Expect(Tok::kPipe, " after the parameters of a lambda");
}

// f(x) where f is no name.
ExprPtr Parser::ParseApply(ExprPtr function, const Token& first, Expr::Kind kind) {
  ExprPtr e = MakeExpr(kind, first);
  if (kind == Expr::Kind::kBroadcastCall && function->kind == Expr::Kind::kName) {
    e->name = function->name;  // (f).(x) is f.(x)
  } else {
    e->operands.push_back(std::move(function));
  }
  Open(Tok::kLParen, "");
  while (!panic_ && !At(Tok::kRParen)) {
    e->operands.push_back(ParseExpr());
    if (!Accept(Tok::kComma)) break;
  }
  Close(Tok::kLParen);
  return Finish(std::move(e));
}

}  // namespace pullback::lang
