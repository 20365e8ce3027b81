// Sums of terms under conditions of their own, of which some tell indices:
//
//   sum i < n, j < n { [i == j] * d[i] * x[j] - [r(i, j)] * w[i] * x[j] }
//
// are sums of each term, along the diagonal and over tuples. While one of them is lowered, the body stands for its term
// (Context::terms). A factor is taken in first: ([r(i, j)] + [i == j]) * x[j].
#include <algorithm>
#include <set>

#include "core/lang/copy_expr.h"
#include "core/lang/lower_cases.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_relation.h"
#include "core/lang/lower_source.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

constexpr size_t kMostTerms = 4;
// Of products that are made on the way; more are of sums in sums, of which too many terms come.
constexpr size_t kMostProducts = 24;

using Term = Context::Term;
using Terms = std::vector<Term>;
using Locals = std::set<uint32_t>;

class Distributor {
 public:
  explicit Distributor(Context& c) : c_(c) {}

  // The terms of e; e itself where it is no sum of a few terms, some with brackets.
  Terms Of(const Expr& e) {
    Terms terms = Split(e);
    const bool brackets =
        std::any_of(terms.begin(), terms.end(), [](const Term& t) { return IsChain(*t.e); });
    if (!brackets || terms.size() > kMostTerms || made_ > kMostProducts) return {{&e, false}};
    return terms;
  }

 private:
  Terms Split(const Expr& e) {
    if (c_.IsGiven(e)) return {{&e, false}};
    if (e.kind == Expr::Kind::kUnary && e.unary == UnaryOp::kNeg) {
      Terms terms = Of(*e.operands[0]);
      if (terms.size() < 2) return {{&e, false}};
      return Negative(std::move(terms));
    }
    if (e.kind != Expr::Kind::kBinary) return {{&e, false}};
    switch (e.binary) {
      case BinaryOp::kAdd:
      case BinaryOp::kSub: {
        Terms terms = Split(*e.operands[0]), others = Split(*e.operands[1]);
        if (e.binary == BinaryOp::kSub) others = Negative(std::move(others));
        terms.insert(terms.end(), others.begin(), others.end());
        return terms;
      }
      case BinaryOp::kMul: return Product(e);
      case BinaryOp::kDiv:  // of integers, a sum of quotients is another number
        return e.type.elem == DType::kI64 ? Terms{{&e, false}} : Product(e);
      default: return {{&e, false}};
    }
  }

  static Terms Negative(Terms terms) {
    for (Term& t : terms) t.negative = !t.negative;
    return terms;
  }

  // Each term of one operand with the other one.
  Terms Product(const Expr& e) {
    for (size_t side = 0; side < (e.binary == BinaryOp::kMul ? 2 : 1); ++side) {
      Terms terms = Of(*e.operands[side]);
      if (terms.size() < 2) continue;
      for (Term& t : terms) {
        t.e = With(e, side, *t.e);
        if (!t.e) return {{&e, false}};
      }
      return Again(terms);
    }
    return {{&e, false}};
  }

  // Of products, the other factor may be a sum, too.
  Terms Again(const Terms& terms) {
    Terms all;
    for (const Term& t : terms) {
      Terms parts = Split(*t.e);
      if (t.negative) parts = Negative(std::move(parts));
      all.insert(all.end(), parts.begin(), parts.end());
    }
    return all;
  }

  // A product like e with `operand` on that side; nullptr: it cannot be copied.
  const Expr* With(const Expr& e, size_t side, const Expr& operand) {
    if (++made_ > kMostProducts) return nullptr;
    bool given = false;
    ForEachExpr(e, [&](const Expr& part) { given = given || c_.IsGiven(part); });
    if (given) return nullptr;
    auto product = std::make_unique<Expr>();
    product->kind = e.kind;
    product->binary = e.binary;
    product->span = e.span;
    product->type = e.type;
    product->ordinal = e.ordinal;
    for (size_t k = 0; k < e.operands.size(); ++k) {
      product->operands.push_back(Copy(k == side ? operand : *e.operands[k]));
      if (!product->operands.back()) return nullptr;
    }
    c_.module.made.push_back(std::move(product));
    return c_.module.made.back().get();
  }

  Context& c_;
  size_t made_ = 0;  // products
};

// What its brackets say of the indices: that tuples have them, or what one of them is.
struct Restricted {
  bool by_relation = false;
  bool by_equation = false;
};

// Of an `or`, each case does.
bool IsByRelation(const Expr& p) {
  if (p.kind != Expr::Kind::kBinary) return IsRelated(p);
  const auto by = [](const ExprPtr& part) { return IsByRelation(*part); };
  if (p.binary == BinaryOp::kOr) return std::all_of(p.operands.begin(), p.operands.end(), by);
  return p.binary == BinaryOp::kAnd && std::any_of(p.operands.begin(), p.operands.end(), by);
}

Restricted HowRestricted(const Context& c, const Expr& chain, const Locals& indices) {
  std::vector<const Expr*> predicates;
  CollectBrackets(c, chain, predicates);
  Restricted how;
  for (const Expr* p : predicates) {
    if (!Mentions(*p, indices)) continue;
    how.by_relation = how.by_relation || IsByRelation(*p);
    how.by_equation =
        how.by_equation || (p->kind == Expr::Kind::kBinary && p->binary == BinaryOp::kEq &&
                            p->operands[0]->type == Type::Scalar(DType::kI64));
  }
  return how;
}

// Whether some bracket in it restricts them so.
bool HoldsTelling(const Context& c, const Expr& e, const Locals& indices) {
  bool tells = false;
  ForEachExpr(e, [&](const Expr& part) {
    if (tells || part.kind != Expr::Kind::kIverson) return;
    const Restricted how = HowRestricted(c, part, indices);
    tells = how.by_relation || how.by_equation;
  });
  return tells;
}

// Terms that a relation restricts are worth a sum of their own, or equations do all of them, of what is added up. (An array
// of both would be two arrays.)
bool AreWorthIt(const Context& c, const Terms& terms, const Locals& indices, bool adds_up) {
  bool related = false, all = true;
  for (const Term& t : terms) {
    if (t.negative && t.e->kind == Expr::Kind::kComprehension) return false;  // -(max …) is no max
    const Restricted how = HowRestricted(c, *t.e, indices);
    related = related || how.by_relation;
    all = all && (how.by_relation || how.by_equation);
  }
  return related || (all && adds_up);
}

// Or an array of numbers.
bool IsNumber(const Type& t) {
  const bool is = t.kind == Type::Kind::kScalar || t.kind == Type::Kind::kArray;
  return is && t.elem != DType::kBool;
}

}  // namespace

BodyTerms FindTerms(Context& c, const Expr& e) {
  if (c.dims_only || !IsLinear(e)) return {};
  const Innermost in = InnermostOf(c, e);
  if (!in.body || !IsNumber(in.body->type) || c.terms.contains(in.body)) return {};
  if (c.module.no_terms.contains(in.body)) return {};
  if (!HoldsTelling(c, *in.body, in.indices)) return {};
  Terms terms = Distributor(c).Of(*in.body);
  if (terms.size() < 2 || terms.size() * CasesAround(c) > kMostTerms) return {};
  const bool alike = std::all_of(terms.begin(), terms.end(),
                                 [&](const Term& t) { return t.e->type == in.body->type; });
  if (!alike || !AreWorthIt(c, terms, in.indices, in.adds_up)) return {};
  for (Term& t : terms) t.of = terms.size();
  return {in.body, std::move(terms)};
}

}  // namespace pullback::lang
