// Loops: for over a range, over values; while.
#include "core/lang/each.h"
#include "core/lang/parser.h"

namespace pullback::lang {

StmtPtr Parser::ParseFor() {
  StmtPtr s = MakeStmt(Stmt::Kind::kFor, Take());
  const Token& name = Peek();
  if (At(Tok::kLParen)) ErrorHere("a loop is for i < n { … } or for i in a..b { … }");
  s->binder = ParseBinder(true);
  if (At(Tok::kComma)) ErrorHere("'for' has one index; put another 'for' inside");
  StmtPtr values, element;
  if (s->binder.lo && !s->binder.hi) ParseEach(*s, name, values, element);
  ParseSnapshots(*s);
  s->body = ParseBlock(BlockKind::kStatements);
  if (element) s->body.stmts.insert(s->body.stmts.begin(), std::move(element));
  implied_ = std::move(values);
  return s;
}

StmtPtr Parser::ParseWhile() {
  StmtPtr s = MakeStmt(Stmt::Kind::kWhile, Take());
  s->value = ParseExpr();
  ParseSnapshots(*s);
  s->body = ParseBlock(BlockKind::kStatements);
  return s;
}

// checkpoint(e), in front of a loop's body
void Parser::ParseSnapshots(Stmt& s) {
  if (!At(Tok::kName) || Text(Peek()) != "checkpoint") return;
  Take();
  Open(Tok::kLParen, " before the number of states to keep");
  s.snapshots = ParseExpr();
  Close(Tok::kLParen);
}

// for x in xs: see each.h. The binder's lower bound is xs.
void Parser::ParseEach(Stmt& s, const Token& name, StmtPtr& values, StmtPtr& element) {
  const Token& first = name;
  const int number = each_++;
  const auto node = [&](Expr::Kind kind, std::string text) {
    ExprPtr e = MakeExpr(kind, first);
    e->span = s.binder.lo ? s.binder.lo->span : values->value->span;
    e->name = std::move(text);
    e->height = kind == Expr::Kind::kName ? 0 : 1;
    return e;
  };
  const auto let = [&](std::string target, ExprPtr value) {
    StmtPtr made = MakeStmt(Stmt::Kind::kLet, first);
    Target t;
    t.span = name.span;
    t.name = std::move(target);
    made->targets.push_back(std::move(t));
    made->span = value->span;
    made->value = std::move(value);
    return made;
  };
  ExprPtr index = node(Expr::Kind::kIndex, "");
  index->operands.push_back(node(Expr::Kind::kName, EachValues(number)));
  Subscript at;
  at.index = node(Expr::Kind::kName, EachIndex(number));
  at.span = at.index->span;
  index->subscripts.push_back(std::move(at));
  ExprPtr length = node(Expr::Kind::kCall, kEachLength);
  length->operands.push_back(node(Expr::Kind::kName, EachValues(number)));
  element = let(s.binder.name, std::move(index));
  values = let(EachValues(number), std::move(s.binder.lo));
  s.binder.name = EachIndex(number);
  s.binder.hi = std::move(length);
}

}  // namespace pullback::lang
