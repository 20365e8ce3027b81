// Blocks and statements.
#include <algorithm>

#include "core/lang/parser.h"

namespace pullback::lang {
namespace {

bool StartsStatement(Tok kind) {
  switch (kind) {
    case Tok::kLet:
    case Tok::kVar:
    case Tok::kWhile:
    case Tok::kFor:
    case Tok::kBreak:
    case Tok::kContinue:
    case Tok::kReturn: return true;
    default: return false;
  }
}

struct AugmentedRow {
  Tok tok;
  BinaryOp op;
};
constexpr AugmentedRow kAugmented[] = {{Tok::kPlusAssign, BinaryOp::kAdd},
                                       {Tok::kMinusAssign, BinaryOp::kSub},
                                       {Tok::kStarAssign, BinaryOp::kMul},
                                       {Tok::kSlashAssign, BinaryOp::kDiv}};

const AugmentedRow* FindAugmented(Tok tok) {
  for (const AugmentedRow& row : kAugmented) {
    if (row.tok == tok) return &row;
  }
  return nullptr;
}

// The first arm that keeps an `if` from being a value: the arm without one, or the last where there
// is no else. Null if it is a value.
const CondArm* ArmWithoutValue(const std::vector<CondArm>& arms) {
  for (const CondArm& arm : arms) {
    if (!arm.body.result) return &arm;
  }
  return arms.back().cond ? &arms.back() : nullptr;
}

bool AnyValue(const std::vector<CondArm>& arms) {
  for (const CondArm& arm : arms) {
    if (arm.body.result) return true;
  }
  return false;
}

std::string NoValueMessage(const CondArm& arm) {
  return arm.body.result ? "an 'if' that is used as a value needs an 'else'"
                         : "this block needs a value: it must end with an expression";
}

}  // namespace

Block Parser::ParseBlock(BlockKind kind) {
  Block block;
  const Token& first = Peek();
  size_t errors_before = errors_;
  Open(Tok::kLBrace, "");
  if (!panic_) ParseBlockItems(block, kind);
  Close(Tok::kLBrace);
  FinishBlock(block, first);
  if (kind == BlockKind::kValue && !block.result && !panic_ && errors_ == errors_before) {
    Complain(Last().span, "this block needs a value: it must end with an expression");
  }
  return block;
}

void Parser::ParseBlockItems(Block& block, BlockKind kind) {
  while (!stopped_ && !At(Tok::kRBrace) && !At(Tok::kEnd) && !AtItem()) {
    size_t start = at_;
    ParseBlockItem(block, kind);
    if (panic_) Synchronise(start);
  }
}

void Parser::ParseBlockItem(Block& block, BlockKind kind) {
  if (Accept(Tok::kSemicolon)) return;
  if (At(Tok::kIf)) return ParseIfItem(block, kind);
  if (StartsStatement(Peek().kind)) {
    StmtPtr s = ParseStatement();
    if (implied_) block.stmts.push_back(std::move(implied_));
    block.stmts.push_back(std::move(s));
    return EndStatement();
  }
  const Token& first = Peek();
  ExprPtr e = ParseExpr();
  if (At(Tok::kAssign) || At(Tok::kComma) || (!panic_ && FindAugmented(Peek().kind))) {
    block.stmts.push_back(ParseAssignment(std::move(e)));
    return EndStatement();
  }
  EndStatement();
  if (panic_) return;
  const bool call = e->kind == Expr::Kind::kCall || e->kind == Expr::Kind::kApply;
  if (kind != BlockKind::kStatements && At(Tok::kRBrace)) {
    block.result = std::move(e);
  } else if (call && !e->parenthesised && !SeemsToContinue(Peek())) {
    StmtPtr s = MakeStmt(Stmt::Kind::kCall, first);
    s->span = e->span;
    s->value = std::move(e);
    block.stmts.push_back(std::move(s));
  } else {
    UnusedValue(*e, first, kind);
  }
}

// An `if` at the start of a statement: a statement, or the value of the block that it ends.
void Parser::ParseIfItem(Block& block, BlockKind kind) {
  const Token& first = Peek();
  bool statement = kind == BlockKind::kStatements;
  std::vector<CondArm> arms = ParseArms(statement ? BlockKind::kStatements : BlockKind::kMaybe);
  if (panic_) return;
  Accept(Tok::kSemicolon);
  if (!statement && At(Tok::kRBrace) && AnyValue(arms)) {
    if (const CondArm* bad = ArmWithoutValue(arms)) Complain(bad->body.span, NoValueMessage(*bad));
    ExprPtr e = MakeExpr(Expr::Kind::kIf, first);
    e->arms = std::move(arms);
    block.result = Finish(std::move(e));
    return;
  }
  UnusedArms(arms);
  StmtPtr s = MakeStmt(Stmt::Kind::kIf, first);
  s->arms = std::move(arms);
  s->span = SpanFrom(first);
  block.stmts.push_back(std::move(s));
}

std::vector<CondArm> Parser::ParseArms(BlockKind kind) {
  std::vector<CondArm> arms;
  bool more = true;
  while (more && !panic_) {
    CondArm arm;
    if (Accept(Tok::kIf)) {
      arm.cond = ParseExpr();
    } else {
      more = false;
    }
    arm.body = ParseBlock(kind);
    arms.push_back(std::move(arm));
    more = more && Accept(Tok::kElse);
  }
  return arms;
}

StmtPtr Parser::ParseStatement() {
  const Token& first = Peek();
  StmtPtr s;
  switch (first.kind) {
    case Tok::kLet: s = ParseLet(Stmt::Kind::kLet); break;
    case Tok::kVar: s = ParseLet(Stmt::Kind::kVar); break;
    case Tok::kWhile: s = ParseWhile(); break;
    case Tok::kFor: s = ParseFor(); break;
    case Tok::kReturn: s = ParseReturn(); break;
    case Tok::kBreak: s = MakeStmt(Stmt::Kind::kBreak, Take()); break;
    default: s = MakeStmt(Stmt::Kind::kContinue, Take()); break;
  }
  s->span = SpanFrom(first);
  return s;
}

StmtPtr Parser::ParseLet(Stmt::Kind kind) {
  StmtPtr s = MakeStmt(kind, Take());
  ParseLetNames(*s);
  if (s->targets.size() == 1 && Accept(Tok::kColon)) {
    s->annotation_storage = std::make_unique<TypeExpr>(ParseType());
    s->annotation = s->annotation_storage.get();
  }
  Expect(Tok::kAssign, " and a value");
  s->value = ParseValues(s->targets.size());
  return s;
}

void Parser::ParseLetNames(Stmt& s) {
  bool bracketed = At(Tok::kLParen);
  if (bracketed) Open(Tok::kLParen, "");
  do {
    Target t;
    t.span = Peek().span;
    t.name = TakeName("a name");
    s.targets.push_back(std::move(t));
  } while (Accept(Tok::kComma) && !(bracketed && At(Tok::kRParen)));
  if (bracketed) Close(Tok::kLParen);
  if (bracketed && s.targets.size() == 1) ErrorHere("a tuple has at least two names");
}

StmtPtr Parser::ParseReturn() {
  StmtPtr s = MakeStmt(Stmt::Kind::kReturn, Take());
  if (AtLineStart() || At(Tok::kSemicolon) || At(Tok::kRBrace)) return s;
  s->value = ParseExpr();
  if (At(Tok::kComma)) ErrorHere("several results are a tuple: return (a, b)");
  return s;
}

StmtPtr Parser::ParseAssignment(ExprPtr first) {
  StmtPtr s = MakeStmt(Stmt::Kind::kAssign, Peek());
  s->span = first->span;
  if (!At(Tok::kComma) && !At(Tok::kAssign)) {
    ParseAugmented(*s, std::move(first));
  } else {
    s->targets.push_back(ToTarget(std::move(first)));
    while (Accept(Tok::kComma)) s->targets.push_back(ToTarget(ParseExpr()));
    Expect(Tok::kAssign, "");
    s->value = ParseValues(s->targets.size());
  }
  s->span.end = Last().span.end;
  return s;
}

// x op= e becomes x = x op e.
void Parser::ParseAugmented(Stmt& s, ExprPtr target) {
  const Token& first = tokens_[at_];
  s.augmented = true;
  s.augmented_op = FindAugmented(Take().kind)->op;
  ExprPtr old = Clone(*target);
  Span span = target->span;
  s.targets.push_back(ToTarget(std::move(target)));
  s.value = MakeBinary(s.augmented_op, std::move(old), ParseExpr(), first);
  s.value->span.begin = span.begin;
  s.value->span.line = span.line;
  s.value->span.column = span.column;
}

// Several values, for several targets, are a tuple.
ExprPtr Parser::ParseValues(size_t targets) {
  const Token& first = Peek();
  ExprPtr e = ParseExpr();
  if (!At(Tok::kComma)) return e;
  if (targets == 1) {
    ErrorHere("several values for one name: write a tuple (a, b)");
    return e;
  }
  ExprPtr tuple = MakeExpr(Expr::Kind::kTuple, first);
  tuple->operands.push_back(std::move(e));
  while (Accept(Tok::kComma)) tuple->operands.push_back(ParseExpr());
  return Finish(std::move(tuple));
}

bool Parser::IsPlace(const Expr& e) {
  const Expr* base = &e;
  bool steps = true;
  while (steps && !base->parenthesised) {
    steps = base->kind == Expr::Kind::kIndex || base->kind == Expr::Kind::kField;
    if (steps) base = base->operands[0].get();
  }
  return base->kind == Expr::Kind::kName && !base->parenthesised;
}

// x, x[i, j], s.a.b[i].c: a name and the steps from it.
Target Parser::ToTarget(ExprPtr e) {
  Target t;
  t.span = e->span;
  if (!IsPlace(*e)) {
    Error(e->span, "only a variable, or a part of one, can be assigned");
    return t;
  }
  while (e->kind != Expr::Kind::kName) {
    Access a{e->name, e->int_value, std::move(e->subscripts), e->span};
    t.path.push_back(std::move(a));
    e = ExprPtr(std::move(e->operands[0]));
  }
  std::reverse(t.path.begin(), t.path.end());
  t.name = e->name;
  return t;
}

// `;`, a new line, or nothing before and after `}`.
void Parser::EndStatement() {
  if (panic_ || Accept(Tok::kSemicolon) || At(Tok::kRBrace) || AtLineStart()) return;
  if (Last().kind == Tok::kRBrace || At(Tok::kEnd)) return;
  ErrorHere("expected the end of the statement (a new line or ';'), found " + Found() +
            AdviceBehind());
}

void Parser::UnusedValue(const Expr& e, const Token& first, BlockKind kind) {
  std::string message = "the value of this expression is not used";
  bool last = At(Tok::kRBrace);
  if (e.kind == Expr::Kind::kBinary && e.binary == BinaryOp::kEq) {
    message += "; '==' compares, '=' assigns";
  } else if (SeemsToContinue(first) || SeemsToContinue(Peek())) {
    message += std::string("; ") + kLineHint;
  } else if (last && kind == BlockKind::kStatements) {
    message += "; 'return' makes it the result";
  }
  Complain(e.span, message);
}

void Parser::UnusedArms(const std::vector<CondArm>& arms) {
  for (const CondArm& arm : arms) {
    if (arm.body.result)
      return Complain(arm.body.result->span, "the value of this 'if' is not used");
  }
}

// Skips to where the next statement of the innermost block probably begins: behind `;`, at a new
// line, or at the block's end. Moves at least one token on from `start`, where the bad statement
// began, unless the block ends there.
void Parser::Synchronise(size_t start) {
  if (stopped_) return;
  panic_ = false;
  size_t open = open_at_error_;
  for (int braces = 0;; Take()) {
    const Token& t = Peek();
    if (t.kind == Tok::kEnd || IsItemStart(t.kind)) return;
    if (t.kind == Tok::kRBrace && braces-- == 0) return;
    if (t.kind == Tok::kLBrace) ++braces;
    if (t.kind == Tok::kLParen || t.kind == Tok::kLBracket) ++open;
    if ((t.kind == Tok::kRParen || t.kind == Tok::kRBracket) && open > 0) --open;
    if (braces > 0 || at_ == start) continue;
    if (t.kind == Tok::kSemicolon) return;
    bool begins =
        StartsStatement(t.kind) || (open == 0 && (t.kind == Tok::kName || t.kind == Tok::kIf));
    if (t.newline_before && begins) return;
  }
}

}  // namespace pullback::lang
