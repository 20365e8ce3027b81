#include "core/lang/copy_expr.h"

#include <optional>
#include <utility>

namespace pullback::lang {

namespace {

class Copier {
 public:
  explicit Copier(const Replace* replace) : replace_(replace) {}
  ExprPtr Of(const Expr& e);

 private:
  std::optional<Block> Of(const Block& block);
  bool Parts(const Expr& e, Expr& copy);
  bool Optional(const ExprPtr& from, ExprPtr& to) { return !from || (to = Of(*from)); }

  const Replace* replace_;
};

Target Copy(const Target& t) {
  Target copy;
  copy.name = t.name;
  copy.span = t.span;
  copy.local = t.local;
  copy.ordinal = t.ordinal;
  return copy;
}

// Of lets and a value.
std::optional<Block> Copier::Of(const Block& block) {
  Block copy;
  for (const StmtPtr& s : block.stmts) {
    if (s->kind != Stmt::Kind::kLet || s->annotation) return std::nullopt;
    auto let = std::make_unique<Stmt>();
    let->kind = s->kind;
    let->span = s->span;
    let->ordinal = s->ordinal;
    for (const Target& t : s->targets) let->targets.push_back(Copy(t));
    let->value = Of(*s->value);
    if (!let->value) return std::nullopt;
    copy.stmts.push_back(std::move(let));
  }
  if (!Optional(block.result, copy.result)) return std::nullopt;
  return copy;
}

ExprPtr Copier::Of(const Expr& e) {
  if (replace_) {
    if (ExprPtr other = (*replace_)(e)) return other;
  }
  const bool comprehension = e.kind == Expr::Kind::kComprehension;
  const bool more = e.kind == Expr::Kind::kScan || e.kind == Expr::Kind::kWith || e.lambda;
  if (more || (comprehension && !replace_)) return nullptr;
  auto copy = std::make_unique<Expr>();
  copy->kind = e.kind;
  copy->span = e.span;
  copy->type = e.type;
  copy->ordinal = e.ordinal;
  copy->name = e.name;
  copy->int_value = e.int_value;
  copy->float_value = e.float_value;
  copy->elem = e.elem;
  copy->chained = e.chained;
  copy->binary = e.binary;
  copy->unary = e.unary;
  copy->comprehension = e.comprehension;
  copy->derive = e.derive;
  copy->local = e.local;
  copy->callee = e.callee;
  copy->builtin = e.builtin;
  copy->applies = e.applies;
  copy->captures = e.captures;
  return Parts(e, *copy) ? std::move(copy) : nullptr;
}

bool Copier::Parts(const Expr& e, Expr& copy) {
  for (const ExprPtr& part : e.operands) {
    if (!Optional(part, copy.operands.emplace_back())) return false;
  }
  for (const Subscript& s : e.subscripts) {
    Subscript& own = copy.subscripts.emplace_back();
    own.is_slice = s.is_slice;
    own.span = s.span;
    if (!Optional(s.index, own.index) || !Optional(s.lo, own.lo) || !Optional(s.hi, own.hi) ||
        !Optional(s.step, own.step))
      return false;
  }
  for (const Binder& b : e.binders) {
    Binder& own = copy.binders.emplace_back();
    own.name = b.name;
    own.span = b.span;
    own.local = b.local;
    if (!Optional(b.lo, own.lo) || !Optional(b.hi, own.hi)) return false;
  }
  for (const CondArm& arm : e.arms) {
    CondArm& own = copy.arms.emplace_back();
    if (!Optional(arm.cond, own.cond)) return false;
    std::optional<Block> body = Of(arm.body);
    if (!body) return false;
    own.body = *std::move(body);
  }
  std::optional<Block> body = Of(e.body);
  if (!body) return false;
  copy.body = *std::move(body);
  return true;
}

}  // namespace

ExprPtr Copy(const Expr& e) { return Copier(nullptr).Of(e); }
ExprPtr CopyWith(const Expr& e, const Replace& replace) { return Copier(&replace).Of(e); }

}  // namespace pullback::lang
