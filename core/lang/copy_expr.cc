#include "core/lang/copy_expr.h"

#include <optional>
#include <utility>

namespace pullback::lang {

namespace {

// Of lets and a value.
std::optional<Block> Copy(const Block& block) {
  Block copy;
  for (const StmtPtr& s : block.stmts) {
    if (s->kind != Stmt::Kind::kLet || s->annotation) return std::nullopt;
    auto let = std::make_unique<Stmt>();
    let->kind = s->kind;
    let->span = s->span;
    let->ordinal = s->ordinal;
    for (const Target& t : s->targets) {
      let->targets.emplace_back();
      let->targets.back().name = t.name;
      let->targets.back().span = t.span;
      let->targets.back().local = t.local;
      let->targets.back().ordinal = t.ordinal;
    }
    let->value = Copy(*s->value);
    if (!let->value) return std::nullopt;
    copy.stmts.push_back(std::move(let));
  }
  copy.result = Copy(*block.result);
  if (!copy.result) return std::nullopt;
  return copy;
}

}  // namespace

ExprPtr Copy(const Expr& e) {
  const bool more = e.kind == Expr::Kind::kComprehension || e.kind == Expr::Kind::kScan ||
                    e.kind == Expr::Kind::kWith || e.lambda;
  if (more) return nullptr;
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
  copy->derive = e.derive;
  copy->local = e.local;
  copy->callee = e.callee;
  copy->builtin = e.builtin;
  copy->applies = e.applies;
  copy->captures = e.captures;
  for (const ExprPtr& part : e.operands) {
    copy->operands.push_back(Copy(*part));
    if (!copy->operands.back()) return nullptr;
  }
  for (const Subscript& s : e.subscripts) {
    Subscript& own = copy->subscripts.emplace_back();
    own.is_slice = s.is_slice;
    own.span = s.span;
    const std::pair<const ExprPtr*, ExprPtr*> parts[] = {
        {&s.index, &own.index}, {&s.lo, &own.lo}, {&s.hi, &own.hi}, {&s.step, &own.step}};
    for (const auto& [from, to] : parts) {
      if (*from && !(*to = Copy(**from))) return nullptr;
    }
  }
  for (const CondArm& arm : e.arms) {
    copy->arms.emplace_back();
    if (arm.cond) {
      copy->arms.back().cond = Copy(*arm.cond);
      if (!copy->arms.back().cond) return nullptr;
    }
    std::optional<Block> body = Copy(arm.body);
    if (!body) return nullptr;
    copy->arms.back().body = *std::move(body);
  }
  return copy;
}

}  // namespace pullback::lang
