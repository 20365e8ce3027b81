// Making and copying nodes, with the bounds on their number and height.
#include <algorithm>

#include "core/lang/parser.h"

namespace pullback::lang {
namespace {

uint32_t HeightOf(const ExprPtr& e) { return e ? e->height : 0; }

uint32_t HeightOf(const Binder& b) { return std::max(HeightOf(b.lo), HeightOf(b.hi)); }

uint32_t HeightOf(const std::vector<Subscript>& subscripts) {
  uint32_t h = 0;
  for (const Subscript& s : subscripts) {
    h = std::max({h, HeightOf(s.index), HeightOf(s.lo), HeightOf(s.hi)});
  }
  return h;
}

uint32_t HeightOf(const std::vector<Access>& path) {
  uint32_t h = 0;
  for (const Access& a : path) h = std::max(h, HeightOf(a.subscripts));
  return h;
}

uint32_t HeightOf(const std::vector<CondArm>& arms) {
  uint32_t h = 0;
  for (const CondArm& arm : arms) h = std::max({h, HeightOf(arm.cond), arm.body.height});
  return h;
}

uint32_t HeightOf(const Stmt& s) {
  uint32_t h = std::max({HeightOf(s.value), HeightOf(s.binder), HeightOf(s.snapshots),
                         HeightOf(s.arms), s.body.height});
  for (const Target& t : s.targets) h = std::max(h, HeightOf(t.path));
  return h;
}

uint32_t HeightBelow(const Expr& e) {
  uint32_t h =
      std::max({HeightOf(e.subscripts), HeightOf(e.path), HeightOf(e.arms), e.body.height});
  for (const ExprPtr& o : e.operands) h = std::max(h, HeightOf(o));
  for (const Binder& b : e.binders) h = std::max(h, HeightOf(b));
  if (e.lambda) h = std::max(h, e.lambda->body.height);
  return h;
}

}  // namespace

void Parser::CountNode(const Span& at) {
  if (++nodes_ > limits_.max_ir_insts) {
    Limit("PROGRAM_TOO_LARGE", at,
          "the program is too large: at most " + std::to_string(limits_.max_ir_insts) +
              " nodes are allowed");
  }
}

ExprPtr Parser::MakeExpr(Expr::Kind kind, const Token& first) {
  CountNode(first.span);
  auto e = std::make_unique<Expr>();
  e->kind = kind;
  e->span = first.span;
  return e;
}

StmtPtr Parser::MakeStmt(Stmt::Kind kind, const Token& first) {
  CountNode(first.span);
  auto s = std::make_unique<Stmt>();
  s->kind = kind;
  s->span = first.span;
  return s;
}

ExprPtr Parser::MakeBinary(BinaryOp op, ExprPtr a, ExprPtr b, const Token& first) {
  ExprPtr e = MakeExpr(Expr::Kind::kBinary, first);
  e->binary = op;
  e->operands.push_back(std::move(a));
  e->operands.push_back(std::move(b));
  return Finish(std::move(e));
}

ExprPtr Parser::Finish(ExprPtr e) {
  e->span.end = std::max(e->span.end, Last().span.end);
  e->height = 1 + HeightBelow(*e);
  if (e->height > static_cast<uint32_t>(limits_.max_chain) + 1) {
    Limit("NESTING_TOO_DEEP", e->span,
          "this expression is too deep: at most " + std::to_string(limits_.max_chain) +
              " operators may wait for each other");
  }
  return e;
}

void Parser::FinishBlock(Block& block, const Token& first) {
  block.span = SpanFrom(first);
  block.height = HeightOf(block.result);
  for (const StmtPtr& s : block.stmts) block.height = std::max(block.height, HeightOf(*s));
}

ExprPtr Parser::Clone(const Expr& e) {
  auto c = std::make_unique<Expr>();
  CountNode(e.span);
  c->kind = e.kind;
  c->span = e.span;
  c->name = e.name;
  c->int_value = e.int_value;
  c->float_value = e.float_value;
  c->elem = e.elem;
  c->has_suffix = e.has_suffix;
  c->parenthesised = e.parenthesised;
  c->chained = e.chained;
  c->height = e.height;
  c->binary = e.binary;
  c->unary = e.unary;
  c->comprehension = e.comprehension;
  c->exclusive = e.exclusive;
  c->derive = e.derive;
  if (stopped_) return c;
  for (const ExprPtr& o : e.operands) c->operands.push_back(Clone(*o));
  for (const Binder& b : e.binders) c->binders.push_back(Clone(b));
  c->subscripts = Clone(e.subscripts);
  c->path = Clone(e.path);
  c->labels = e.labels;
  c->body = Clone(e.body);
  c->arms = Clone(e.arms);
  c->lambda = Clone(e.lambda);
  return c;
}

std::unique_ptr<Lambda> Parser::Clone(const std::unique_ptr<Lambda>& lambda) {
  if (!lambda) return nullptr;
  auto c = std::make_unique<Lambda>();
  for (const Param& p : lambda->params) c->params.push_back(Clone(p));
  c->body = Clone(lambda->body);
  c->braces = lambda->braces;
  return c;
}

Param Parser::Clone(const Param& p) { return {p.name, Clone(p.type), p.span}; }

std::unique_ptr<Function> Parser::Clone(const Function& f) {
  auto c = std::make_unique<Function>();
  c->name = f.name;
  c->span = f.span;
  c->type_params = f.type_params;
  for (const Param& p : f.params) c->params.push_back(Clone(p));
  c->result = Clone(f.result);
  c->has_result = f.has_result;
  c->vjp_rule = f.vjp_rule;
  c->jvp_rule = f.jvp_rule;
  c->body = Clone(f.body);
  c->from_prelude = f.from_prelude;
  c->is_template = f.is_template;
  return c;
}

ExprPtr Parser::Clone(const ExprPtr& e) { return e ? Clone(*e) : nullptr; }

Block Parser::Clone(const Block& b) {
  Block c;
  for (const StmtPtr& s : b.stmts) c.stmts.push_back(Clone(*s));
  c.result = Clone(b.result);
  c.span = b.span;
  c.height = b.height;
  return c;
}

StmtPtr Parser::Clone(const Stmt& s) {
  auto c = std::make_unique<Stmt>();
  CountNode(s.span);
  c->kind = s.kind;
  c->span = s.span;
  for (const Target& t : s.targets) {
    Target copy;
    copy.name = t.name;
    copy.span = t.span;
    copy.path = Clone(t.path);
    c->targets.push_back(std::move(copy));
  }
  if (s.annotation) {
    c->annotation_storage = std::make_unique<TypeExpr>(Clone(*s.annotation));
    c->annotation = c->annotation_storage.get();
  }
  c->value = Clone(s.value);
  c->arms = Clone(s.arms);
  c->binder = Clone(s.binder);
  c->snapshots = Clone(s.snapshots);
  c->body = Clone(s.body);
  c->augmented = s.augmented;
  c->augmented_op = s.augmented_op;
  return c;
}

std::vector<Subscript> Parser::Clone(const std::vector<Subscript>& subscripts) {
  std::vector<Subscript> out;
  for (const Subscript& s : subscripts) {
    Subscript c;
    c.is_slice = s.is_slice;
    c.span = s.span;
    c.index = Clone(s.index);
    c.lo = Clone(s.lo);
    c.hi = Clone(s.hi);
    c.step = Clone(s.step);
    out.push_back(std::move(c));
  }
  return out;
}

std::vector<Access> Parser::Clone(const std::vector<Access>& path) {
  std::vector<Access> out;
  for (const Access& a : path) out.push_back({a.field, a.index, Clone(a.subscripts), a.span});
  return out;
}

std::vector<CondArm> Parser::Clone(const std::vector<CondArm>& arms) {
  std::vector<CondArm> out;
  for (const CondArm& arm : arms) out.push_back({Clone(arm.cond), Clone(arm.body)});
  return out;
}

Binder Parser::Clone(const Binder& b) {
  Binder c;
  c.name = b.name;
  c.lo = Clone(b.lo);
  c.hi = Clone(b.hi);
  c.span = b.span;
  return c;
}

TypeExpr Parser::Clone(const TypeExpr& t) {
  TypeExpr c;
  c.kind = t.kind;
  c.elem = t.elem;
  c.name = t.name;
  c.given = t.given;
  c.span = t.span;
  for (const ExprPtr& d : t.dims) c.dims.push_back(Clone(d));
  for (const TypeExpr& e : t.elements) c.elements.push_back(Clone(e));
  return c;
}

}  // namespace pullback::lang
