// Sums over the points at which one of several conditions holds, of which some relate indices:
//
//   sum i < n, j < n { [r(i, j) or s(i, j)] * e }
//
// is two sums, each over tuples: [r(i, j)] * e, and [not r(i, j) and s(i, j)] * e. While one of them is lowered, the
// `or` stands for its case (Context::chosen). Whether there is a point at all is asked alike.
#include <algorithm>
#include <set>

#include "core/lang/lower_expr.h"
#include "core/lang/lower_keys.h"
#include "core/lang/lower_relation.h"
#include "core/lang/lower_source.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

using Locals = std::set<uint32_t>;

// Of all ors around that are in cases together: what is in the innermost is compiled so many times.
constexpr size_t kMostCases = 4;
// Of an or that no other is around, where what is compiled so often is small. (And a case looks at all before it.)
constexpr size_t kMostSmallCases = 8;
constexpr size_t kSmall = 800;  // expressions, of all cases together

ExprPtr Copy(const Expr& e);

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

// A copy of a condition after the checker; null: of more than operators, elements, branches and calls.
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
    ExprPtr index = s.index ? Copy(*s.index) : nullptr;
    if (!index) return nullptr;
    copy->subscripts.emplace_back();
    copy->subscripts.back().index = std::move(index);
    copy->subscripts.back().span = s.span;
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

ExprPtr Negation(const Expr& e) {
  auto negation = std::make_unique<Expr>();
  negation->kind = Expr::Kind::kUnary;
  negation->unary = UnaryOp::kNot;
  negation->span = e.span;
  negation->type = e.type;
  negation->ordinal = e.ordinal;
  negation->operands.push_back(Copy(e));
  return negation->operands[0] ? std::move(negation) : nullptr;
}

void CollectCases(const Expr& e, std::vector<const Expr*>& cases) {
  if (e.kind != Expr::Kind::kBinary || e.binary != BinaryOp::kOr) return cases.push_back(&e);
  for (const ExprPtr& part : e.operands) CollectCases(*part, cases);
}

size_t CountCases(const Expr& either) {
  std::vector<const Expr*> cases;
  CollectCases(either, cases);
  return cases.size();
}

// How often what is lowered now is compiled already.
size_t CasesAround(const Context& c) {
  size_t times = 1;
  for (const auto& [either, conjuncts] : c.chosen) times *= CountCases(*either);
  return times;
}

// Of a comprehension with so many cases.
bool AreFew(const Context& c, const Expr& e, size_t cases) {
  const size_t around = CasesAround(c);
  if (cases * around <= kMostCases) return true;
  size_t size = 0;
  ForEachExpr(e, [&](const Expr&) { ++size; });
  return around == 1 && cases <= kMostSmallCases && cases * size <= kSmall;
}

// A comparison that may be solved for an index.
bool IsComparison(const Expr& e) {
  return e.kind == Expr::Kind::kBinary && e.binary >= BinaryOp::kEq && e.binary <= BinaryOp::kGe &&
         e.binary != BinaryOp::kNe && e.operands[0]->type == Type::Scalar(DType::kI64);
}

// It speaks of one index at most, so that the points where it holds can be listed (lower_filter.cc).
bool IsFilter(Context& c, const Expr& p, const Locals& indices) {
  const auto many = std::count_if(indices.begin(), indices.end(),
                                  [&](uint32_t local) { return Mentions(p, {local}); });
  return many <= 1 && IsCheckable(c, p);
}

// Each of the cases restricts an index, and one of them does by a relation.
bool MaySplit(Context& c, const Expr& comprehension, const Expr& e, const Locals& indices) {
  std::vector<const Expr*> cases;
  CollectCases(e, cases);
  if (cases.size() < 2 || !AreFew(c, comprehension, cases.size())) return false;
  bool related = false;
  for (const Expr* one : cases) {
    std::vector<const Expr*> conjuncts;
    CollectConjuncts(c, *one, conjuncts);
    bool restricts = false;
    for (const Expr* p : conjuncts) {
      restricts = restricts || IsFilter(c, *p, indices);
      if (!Mentions(*p, indices)) continue;
      related = related || IsRelated(*p);
      restricts = restricts || IsRelated(*p) || IsComparison(*p);
    }
    if (!restricts || !Copy(*one)) return false;
  }
  bool replaced = false;
  ForEachExpr(e, [&](const Expr& part) { replaced = replaced || c.IsGiven(part); });
  return related && !replaced;
}

bool IsLinear(const Expr& e) {
  return e.comprehension == Comprehension::kSum || e.comprehension == Comprehension::kGen;
}

bool AsksWhether(const Expr& e) {
  return e.comprehension == Comprehension::kExists || e.comprehension == Comprehension::kOr;
}

// The comprehensions whose bodies are each the next one: gives the last one's body.
const Expr* InnermostBody(const Expr& e, Locals& indices) {
  const Expr* at = &e;
  while (at->kind == Expr::Kind::kComprehension) {
    const bool alike = IsLinear(e) ? IsLinear(*at) : AsksWhether(e) && AsksWhether(*at);
    if (!alike || !at->operands.empty() || !at->body.result) return nullptr;
    for (const Binder& b : at->binders) indices.insert(b.local);
    for (const StmtPtr& s : at->body.stmts) {
      if (s->kind != Stmt::Kind::kLet) return nullptr;
      for (const Target& t : s->targets) indices.insert(t.local);
    }
    at = at->body.result.get();
  }
  return at;
}

Leaves Joined(Context& c, const Expr& e, const Leaves& a, const Leaves& b) {
  Leaves out;
  for (size_t i = 0; i < a.size(); ++i) {
    const Op op = AsksWhether(e) ? Op::Or : Op::Add;
    const bool array = c.b.TypeOf(a[i].value).IsArray();
    out.push_back(
        {array ? c.b.AddArrays(a[i].value, b[i].value) : c.b.Make(op, {a[i].value, b[i].value}),
         nullptr});
    if (array) c.SetDims(out.back().value, c.DimsOf(a[i].value));
  }
  return out;
}

}  // namespace

const Expr* FindEither(Context& c, const Expr& e) {
  if (c.dims_only) return nullptr;
  Locals indices;
  const Expr* body = InnermostBody(e, indices);
  if (!body || body == &e) return nullptr;
  std::vector<const Expr*> predicates;
  if (AsksWhether(e)) {
    CollectConjuncts(c, *body, predicates);
  } else if (IsChain(*body)) {
    CollectBrackets(c, *body, predicates);
  }
  for (const Expr* p : predicates) {
    if (MaySplit(c, e, *p, indices)) return p;
  }
  return nullptr;
}

bool IsOfCase(const Context& c, const Expr& condition) {
  for (const auto& [either, predicates] : c.chosen) {
    std::vector<const Expr*> conjuncts;
    for (const Expr* p : predicates) CollectConjuncts(c, *p, conjuncts);
    if (std::find(conjuncts.begin(), conjuncts.end(), &condition) != conjuncts.end()) return true;
  }
  return false;
}

std::optional<Leaves> InCases(Context& c, const Expr& e,
                              const std::function<std::optional<Leaves>()>& lower) {
  const Expr* const either = FindEither(c, e);
  if (!either) return lower();
  std::vector<const Expr*> cases, before;
  CollectCases(*either, cases);
  std::optional<Leaves> all;
  for (const Expr* one : cases) {
    c.chosen[either] = before;
    c.chosen[either].push_back(one);
    const std::optional<Leaves> part = InCases(c, e, lower);
    if (!part) {
      all.reset();
      break;
    }
    c.SetLoc(e.ordinal);
    all = all ? Joined(c, e, *all, *part) : part;
    c.module.made.push_back(Negation(*one));
    before.push_back(c.module.made.back().get());
  }
  c.chosen.erase(either);
  return all;
}

}  // namespace pullback::lang
