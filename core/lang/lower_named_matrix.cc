// Which names stand for matrices of relations, and what reductions of whole ones say of their elements.
#include <algorithm>
#include <optional>
#include <utility>

#include "core/lang/copy_expr.h"
#include "core/lang/function_flow.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_relation.h"
#include "core/lang/lower_source.h"
#include "core/lang/lower_spell.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

ExprPtr Binary(BinaryOp op, const Expr& at, ExprPtr a, ExprPtr b) {
  auto e = std::make_unique<Expr>();
  e->kind = Expr::Kind::kBinary;
  e->binary = op;
  e->span = at.span;
  e->ordinal = at.ordinal;
  e->type = Type::Scalar(at.type.elem);
  e->operands.push_back(std::move(a));
  e->operands.push_back(std::move(b));
  return e;
}

ExprPtr Bracket(const Expr& p, DType elem) {
  auto e = std::make_unique<Expr>();
  e->kind = Expr::Kind::kIverson;
  e->span = p.span;
  e->ordinal = p.ordinal;
  e->type = Type::Scalar(elem);
  e->operands.push_back(Copy(p));
  return e->operands[0] ? std::move(e) : nullptr;
}

// What an element is: a product with brackets, or what an `if` says that is one.
ExprPtr ElementOf(const Expr& gen) {
  const Expr& body = *gen.body.result;
  const Block* const where = OnlyWhere(body);
  if (!where) return IsChain(body) ? Copy(body) : nullptr;
  if (!where->stmts.empty()) return nullptr;
  ExprPtr bracket = Bracket(*body.arms[0].cond, body.type.elem);
  ExprPtr value = Copy(*where->result);
  if (!bracket || !value) return nullptr;
  return Binary(BinaryOp::kMul, body, std::move(bracket), std::move(value));
}

bool IsRelatedElement(const Context& c, const Expr& element) {
  std::vector<const Expr*> predicates;
  CollectBrackets(c, element, predicates);
  return std::any_of(predicates.begin(), predicates.end(),
                     [](const Expr* p) { return IsRelated(*p); });
}

bool IsExtent(const Context& c, const Expr& e) {
  if (e.kind == Expr::Kind::kInt) return true;
  if (e.kind != Expr::Kind::kName || e.local == UINT32_MAX) return false;
  const Local& local = c.at->function->locals[e.local];
  return local.kind != Local::Kind::kVar && local.kind != Local::Kind::kBinder && !local.shared;
}

// The same wherever it is evaluated, but for the binders: no variable's value, no function's that takes work.
bool IsFixedAndLight(const Context& c, const Expr& element) {
  bool good = LetsIn(element).empty();
  ForEachExpr(element, [&](const Expr& part) {
    if (part.kind == Expr::Kind::kName && part.local != UINT32_MAX) {
      const Local& local = c.at->function->locals[part.local];
      good = good && local.kind != Local::Kind::kVar && !local.shared;
    }
    const bool calls = part.kind == Expr::Kind::kCall && part.builtin < 0;
    if (calls) good = good && IsScalarFunction(*c.module.program.functions[part.callee]);
    good = good && part.type.kind != Type::Kind::kFunction && part.kind != Expr::Kind::kDerive &&
           !HoldsBox(part.type) && !HoldsDynamic(part.type);
    if (part.kind == Expr::Kind::kBinary) good = good && part.binary != BinaryOp::kMatMul;
  });
  return good;
}

// Elements that are made of elements double.
constexpr size_t kLargest = 100;  // expressions

bool IsSmall(const Expr& element) {
  size_t size = 0;
  ForEachExpr(element, [&](const Expr&) { ++size; });
  return size <= kLargest;
}

bool HasPlainBinders(const Context& c, const Expr& gen) {
  return std::all_of(gen.binders.begin(), gen.binders.end(),
                     [&](const Binder& b) { return !b.lo && IsExtent(c, *b.hi); });
}

// --- reductions of whole arrays, by their elements

// Of the matrices that the array is made of, one; all of them have its extents. nullptr: it is made of more than these.
const NamedMatrix* WholeOf(const Context& c, const Expr& e) {
  if (const NamedMatrix* m = MatrixOf(c, e)) return m;
  if (e.kind == Expr::Kind::kTranspose) {
    const NamedMatrix* m = WholeOf(c, *e.operands[0]);
    const bool square = m && m->gen->binders.size() == 2 &&
                        AreAlike(*m->gen->binders[0].hi, *m->gen->binders[1].hi);
    return square ? m : nullptr;
  }
  if (e.kind != Expr::Kind::kBinary || e.binary != BinaryOp::kMul) return nullptr;
  const NamedMatrix* const a = WholeOf(c, *e.operands[0]);
  const NamedMatrix* const b = WholeOf(c, *e.operands[1]);
  if (!a || !b || a->gen->binders.size() != b->gen->binders.size()) return nullptr;
  for (size_t k = 0; k < a->gen->binders.size(); ++k) {
    if (!AreAlike(*a->gen->binders[k].hi, *b->gen->binders[k].hi)) return nullptr;
  }
  return a;
}

// The element of an array that WholeOf knows, or of a row of one.
ExprPtr ElementAt(const Expr& array, std::vector<ExprPtr> subs) {
  const auto copy = [](const std::vector<ExprPtr>& of) {
    std::vector<ExprPtr> copies;
    for (const ExprPtr& e : of) copies.push_back(Copy(*e));
    return copies;
  };
  if (array.kind == Expr::Kind::kTranspose) {
    std::reverse(subs.begin(), subs.end());
    return ElementAt(*array.operands[0], std::move(subs));
  }
  if (array.kind == Expr::Kind::kBinary) {
    ExprPtr a = ElementAt(*array.operands[0], copy(subs));
    ExprPtr b = ElementAt(*array.operands[1], std::move(subs));
    return Binary(array.binary, array, std::move(a), std::move(b));
  }
  auto read = std::make_unique<Expr>();
  read->kind = Expr::Kind::kIndex;
  read->span = array.span;
  read->ordinal = array.ordinal;
  read->type = Type::Scalar(array.type.elem);
  if (array.kind == Expr::Kind::kIndex) {
    for (const Subscript& s : array.subscripts) {
      if (s.index) read->subscripts.emplace_back().index = Copy(*s.index);
    }
  }
  read->operands.push_back(Copy(array.kind == Expr::Kind::kIndex ? *array.operands[0] : array));
  for (ExprPtr& sub : subs) read->subscripts.emplace_back().index = std::move(sub);
  return read;
}

// a[p], a[p, :]
bool IsRow(const Expr& e) {
  if (e.kind != Expr::Kind::kIndex) return false;
  bool slices = false;
  for (const Subscript& s : e.subscripts) {
    if (s.is_slice ? s.lo || s.hi || s.step : slices) return false;
    slices = slices || s.is_slice;
  }
  return true;
}

// The first so many subscripts of a row say which; they can be copied.
bool IsGivenBy(const Expr& row, size_t count) {
  return row.subscripts.size() >= count &&
         std::all_of(row.subscripts.begin(),
                     row.subscripts.begin() + static_cast<std::ptrdiff_t>(count),
                     [](const Subscript& s) { return !s.is_slice && Copy(*s.index); });
}

bool IsName(const Expr& e, uint32_t local) {
  return e.kind == Expr::Kind::kName && e.local == local;
}

std::optional<std::vector<ExprPtr>> CopySubscripts(const Expr& read) {
  std::vector<ExprPtr> subs;
  for (const Subscript& s : read.subscripts) {
    if (!s.index) return std::nullopt;
    subs.push_back(Copy(*s.index));
    if (!subs.back()) return std::nullopt;
  }
  return subs;
}

}  // namespace

const NamedMatrix* MatrixOf(const Context& c, const Expr& name) {
  if (name.kind != Expr::Kind::kName) return nullptr;
  const auto it = c.at->matrices.find(name.local);
  return it == c.at->matrices.end() ? nullptr : &it->second;
}

ExprPtr ByElements(const Context& c, const Expr& e) {
  if (e.kind != Expr::Kind::kComprehension || e.operands.empty()) return nullptr;
  const Expr& x = *e.operands[0];
  const NamedMatrix* const m = IsRow(x) ? MatrixOf(c, *x.operands[0]) : WholeOf(c, x);
  if (!m || m->gen->binders.size() < e.binders.size()) return nullptr;
  const size_t given = m->gen->binders.size() - e.binders.size();
  if (IsRow(x) && !IsGivenBy(x, given)) return nullptr;
  ExprPtr copy = CopyWith(e, [&](const Expr& part) -> ExprPtr {
    const bool read = part.kind == Expr::Kind::kIndex && IsName(*part.operands[0], e.local);
    if (!read || part.subscripts.size() != e.binders.size()) return nullptr;
    std::optional<std::vector<ExprPtr>> subs = CopySubscripts(part);
    return subs ? ElementAt(x, *std::move(subs)) : nullptr;
  });
  if (!copy) return nullptr;
  copy->operands.clear();
  copy->local = UINT32_MAX;
  for (size_t k = 0; k < copy->binders.size(); ++k)
    copy->binders[k].hi = Copy(*m->gen->binders[given + k].hi);
  bool left = false;  // the operand is more than its elements to the body
  ForEachExpr(copy->body, [&](const Expr& part) { left = left || IsName(part, e.local); });
  return left ? nullptr : std::move(copy);
}

void NoteMatrix(Context& c, const Stmt& let) {
  if (let.kind != Stmt::Kind::kLet || let.targets.size() != 1) return;
  if (let.value->kind != Expr::Kind::kComprehension) return;
  const Expr& gen = *Spelled(c, let.value.get());
  if (gen.comprehension != Comprehension::kGen) return;
  const bool plain = gen.operands.empty() && gen.body.stmts.empty() && gen.binders.size() >= 2;
  if (!plain || gen.body.result->type.kind != Type::Kind::kScalar) return;
  if (c.at->function->locals[let.targets[0].local].shared || !HasPlainBinders(c, gen)) return;
  ExprPtr element = ElementOf(gen);
  if (!element || !IsSmall(*element) || !IsRelatedElement(c, *element) ||
      !IsFixedAndLight(c, *element))
    return;
  c.at->matrices[let.targets[0].local] = {&gen, element.get()};
  c.module.made.push_back(std::move(element));
}

}  // namespace pullback::lang
