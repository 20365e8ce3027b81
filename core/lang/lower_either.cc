// Sums over the points at which one of several conditions holds, of which some relate indices:
//
//   sum i < n, j < n { [r(i, j) or s(i, j)] * e }
//
// is two sums, each over tuples: [r(i, j)] * e, and [not r(i, j) and s(i, j)] * e. While one of them is lowered, the
// `or` stands for its case (Context::chosen). Whether there is a point at all is asked alike. Bodies that are sums go term
// by term (lower_terms.cc).
#include <algorithm>
#include <set>

#include "core/lang/copy_expr.h"
#include "core/lang/lower_cases.h"
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

// An equation with what is read from an array, which tells an index.
bool IsByData(const Expr& p) {
  if (!IsComparison(p) || p.binary != BinaryOp::kEq) return false;
  bool reads = false;
  ForEachExpr(p, [&](const Expr& part) { reads = reads || part.kind == Expr::Kind::kIndex; });
  return reads;
}

// Each of the cases restricts an index, and one of them does by a relation, or all of what is added up by data.
bool MaySplit(Context& c, const Expr& comprehension, const Expr& e, const Locals& indices) {
  std::vector<const Expr*> cases;
  CollectCases(e, cases);
  if (cases.size() < 2 || !AreFew(c, comprehension, cases.size())) return false;
  bool related = false, by_data = InnermostOf(c, comprehension).adds_up;
  for (const Expr* one : cases) {
    std::vector<const Expr*> conjuncts;
    CollectConjuncts(c, *one, conjuncts);
    bool restricts = false, data = false;
    for (const Expr* p : conjuncts) {
      restricts = restricts || IsFilter(c, *p, indices);
      if (!Mentions(*p, indices)) continue;
      related = related || IsRelated(*p);
      restricts = restricts || IsRelated(*p) || IsComparison(*p);
      data = data || IsByData(*p);
    }
    by_data = by_data && data;
    if (!restricts || !Copy(*one)) return false;
  }
  bool replaced = false;
  ForEachExpr(e, [&](const Expr& part) { replaced = replaced || c.IsGiven(part); });
  return (related || by_data) && !replaced;
}

bool AsksWhether(const Expr& e) {
  return e.comprehension == Comprehension::kExists || e.comprehension == Comprehension::kOr;
}

// Elements are added where they are read. Nothing: they are not surely of one shape.
std::optional<Leaf> SumInBody(Context& c, const Leaf& a, const Leaf& b) {
  if (ExtentsOf(c, a) != ExtentsOf(c, b)) return std::nullopt;
  PB_TRY(const ArrayRef sum, MapElements(c, ArrayOf(c, a)->elem, {a, b}, [&c](const auto& x) {
           return MaybeValue(c.b.Make(Op::Add, {x[0], x[1]}));
         }));
  return LeafOf(c, sum);
}

// Of elements that are not added up, a statement that reads both: its readers can take the parts from where they are made.
Value SumOfElements(Context& c, Value a, Value b) {
  const auto add = [&c](const std::vector<Value>& x) { return MaybeValue(c.b.Make(Op::Add, x)); };
  Leaf sum{Value(), *MapElements(c, c.b.TypeOf(a).elem, {{a, nullptr}, {b, nullptr}}, add)};
  Store(c, sum);
  return sum.value;
}

// Nothing: they are not surely of one shape, which nobody would ask where there is no point.
MaybeValue SumOf(Context& c, Value a, Value b, bool adds_up) {
  if (!c.b.TypeOf(a).IsArray()) return c.b.Make(Op::Add, {a, b});
  if (c.DimsOf(a) != c.DimsOf(b)) return std::nullopt;
  if (!adds_up) return SumOfElements(c, a, b);
  const Value sum = c.b.AddArrays(a, b);
  c.SetDims(sum, c.DimsOf(a));
  return sum;
}

std::optional<Leaves> Joined(Context& c, const Expr& e, const Leaves& a, const Leaves& b) {
  const bool adds_up = InnermostOf(c, e).adds_up;
  Leaves out;
  for (size_t i = 0; i < a.size(); ++i) {
    if (c.InBody() && IsArrayLeaf(c, a[i])) {
      PB_TRY(const Leaf sum, SumInBody(c, a[i], b[i]));
      out.push_back(sum);
      continue;
    }
    const Value x = a[i].value, y = b[i].value;
    PB_TRY(const Value v,
           AsksWhether(e) ? MaybeValue(c.b.Make(Op::Or, {x, y})) : SumOf(c, x, y, adds_up));
    out.push_back({v, nullptr});
  }
  return out;
}

}  // namespace

size_t CasesAround(const Context& c) {
  size_t times = 1;
  for (const auto& [either, conjuncts] : c.chosen) times *= CountCases(*either);
  for (const auto& [body, term] : c.terms) times *= term.of;
  return times;
}

bool IsLinear(const Expr& e) {
  return e.comprehension == Comprehension::kSum || e.comprehension == Comprehension::kGen;
}

Innermost InnermostOf(const Context& c, const Expr& e) {
  Innermost in;
  const Expr* at = &e;
  while (at->kind == Expr::Kind::kComprehension) {
    const bool alike = IsLinear(e) ? IsLinear(*at) : AsksWhether(e) && AsksWhether(*at);
    if (!alike || !at->operands.empty() || !at->body.result) return {};
    in.adds_up = at->comprehension == Comprehension::kSum;
    for (const Binder& b : at->binders) in.indices.insert(b.local);
    for (const StmtPtr& s : at->body.stmts) {
      if (s->kind != Stmt::Kind::kLet) return {};
      for (const Target& t : s->targets) in.indices.insert(t.local);
    }
    at = at->body.result.get();
    if (const auto term = c.terms.find(at); term != c.terms.end()) at = term->second.e;
  }
  if (at != &e) in.body = at;
  return in;
}

const Expr* FindEither(Context& c, const Expr& e) {
  if (c.dims_only) return nullptr;
  const auto [body, indices, adds_up] = InnermostOf(c, e);
  if (!body) return nullptr;
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

namespace {

// So many parts of a comprehension, joined; nothing: one of them cannot be lowered.
std::optional<Leaves> JoinParts(Context& c, const Expr& e, size_t count,
                                const std::function<std::optional<Leaves>(size_t)>& lower) {
  std::optional<Leaves> all;
  for (size_t k = 0; k < count; ++k) {
    const std::optional<Leaves> part = lower(k);
    if (!part) return std::nullopt;
    c.SetLoc(e.ordinal);
    all = all ? Joined(c, e, *all, *part) : part;
    if (!all) return std::nullopt;
  }
  return all;
}

}  // namespace

std::optional<Leaves> InCases(Context& c, const Expr& e,
                              const std::function<std::optional<Leaves>()>& lower) {
  if (const BodyTerms by = FindTerms(c, e); by.body) {
    Mark mark(c);
    const std::optional<Leaves> all = JoinParts(c, e, by.terms.size(), [&](size_t k) {
      c.terms[by.body] = by.terms[k];
      return InCases(c, e, lower);
    });
    c.terms.erase(by.body);
    if (all || by.body->type.kind != Type::Kind::kArray) return all;
    mark.Rollback();
    c.module.no_terms.insert(by.body);  // or attempts inside attempts would multiply
  }
  const Expr* const either = FindEither(c, e);
  if (!either) return lower();
  std::vector<const Expr*> cases, before;
  CollectCases(*either, cases);
  const std::optional<Leaves> all = JoinParts(c, e, cases.size(), [&](size_t k) {
    c.chosen[either] = before;
    c.chosen[either].push_back(cases[k]);
    std::optional<Leaves> part = InCases(c, e, lower);
    c.module.made.push_back(Negation(*cases[k]));
    before.push_back(c.module.made.back().get());
    return part;
  });
  c.chosen.erase(either);
  return all;
}

}  // namespace pullback::lang
