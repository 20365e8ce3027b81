#include "core/tensor/question.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/analysis/body_forms.h"
#include "core/tensor/reduced_indices.h"

namespace pullback::tensor {
namespace {

using analysis::Box;
using analysis::Predicate;
using ir::Affine;
using ir::Constraint;
using ir::Inst;
using ir::Op;
using ir::Value;

// Disjunctions multiply.
constexpr size_t kMaxPieces = 8;
// Bools of a formula that are looked at, and guards that are solved.
constexpr size_t kMaxParts = 64;
constexpr size_t kMaxGuards = 16;

// --- formulas

// Constraints, or what has nothing to do with the indices that are reduced.
struct Literal {
  Value value;
  bool negated;
  auto operator<=>(const Literal&) const = default;
};
using Conjunction = std::set<Literal>;
using Disjunction = std::vector<Conjunction>;

bool IsContradiction(const Conjunction& c) {
  return std::any_of(c.begin(), c.end(),
                     [&](Literal l) { return !l.negated && c.contains({l.value, true}); });
}

bool Implies(const Conjunction& a, const Conjunction& b) {
  return std::includes(a.begin(), a.end(), b.begin(), b.end());
}

// d or c, without what implies something else of it.
void Add(Disjunction& d, Conjunction c) {
  if (IsContradiction(c)) return;
  if (std::any_of(d.begin(), d.end(), [&](const Conjunction& e) { return Implies(c, e); })) return;
  std::erase_if(d, [&](const Conjunction& e) { return Implies(e, c); });
  d.push_back(std::move(c));
}

using Formula = std::optional<Disjunction>;

Formula Bounded(Disjunction d) {
  return d.size() <= kMaxPieces ? Formula(std::move(d)) : std::nullopt;
}

Formula Either(const Formula& a, const Formula& b) {
  if (!a || !b) return std::nullopt;
  Disjunction either = *a;
  for (const Conjunction& c : *b) Add(either, c);
  return Bounded(std::move(either));
}

Formula Both(const Formula& a, const Formula& b) {
  if (!a || !b) return std::nullopt;
  Disjunction both;
  for (const Conjunction& c : *a) {
    for (Conjunction d : *b) {
      d.insert(c.begin(), c.end());
      Add(both, std::move(d));
    }
  }
  return Bounded(std::move(both));
}

// --- predicates

// A conjunction, or where it is false.
struct Structural {
  std::vector<Constraint> constraints;
  bool negated = false;
};

std::optional<std::vector<Predicate>> Negated(ir::ConstraintSpan constraints, const Box& box,
                                              TameValues& tame) {
  std::vector<Predicate> pieces;
  for (const Constraint& c : constraints) {
    const auto negated = analysis::Negate(tame.Tame(c).value_or(c), box);
    if (!negated) return std::nullopt;
    for (const Constraint& piece : *negated) pieces.push_back({{piece}, {}});
  }
  return pieces;
}

std::optional<std::vector<Predicate>> PredicatesOf(const Structural& s, const Box& box,
                                                   TameValues& tame) {
  if (s.negated) return Negated(s.constraints, box, tame);
  return std::vector{Predicate{s.constraints, {}}};
}

// a and b, as a disjunction.
std::vector<Piece> Product(const std::vector<Piece>& a, const std::vector<Predicate>& b) {
  std::vector<Piece> product;
  for (const Piece& p : a) {
    for (const Predicate& q : b) {
      product.push_back(p);
      std::vector<Constraint>& both = product.back().predicate.constraints;
      both.insert(both.end(), q.constraints.begin(), q.constraints.end());
    }
  }
  return product;
}

// --- of bodies

// Reads bools of a body as disjunctions. What has a guard is false where that is, so the guard is one of its conditions.
class FormulaReader {
 public:
  FormulaReader(const ir::Each& each, ir::Function& f, Box& box, TameValues& tame)
      : f_(f),
        box_(box),
        tame_(tame),
        quotients_(f, box),
        forms_(each, f, &quotients_),
        reduced_(each) {
    for (const Inst& inst : each.body) forms_.Note(inst);
  }

  // That v, a bool or one as a number, is true (false). nullopt: it is something else.
  std::optional<std::vector<Piece>> PiecesOf(Value v, bool negated) {
    const Formula& formula = Read(v, negated);
    if (!formula) return std::nullopt;
    std::vector<Piece> all;
    for (const Conjunction& c : *formula) {
      auto pieces = PiecesOf(c);
      if (!pieces || all.size() + pieces->size() > kMaxPieces) return std::nullopt;
      std::move(pieces->begin(), pieces->end(), std::back_inserter(all));
    }
    return all;
  }

  // False: one is something else.
  bool ReadGuards(Question& question) {
    NoteConditions(question.pieces);
    while (!conditions_.empty()) {
      const Value v = conditions_.back();
      conditions_.pop_back();
      if (!reduced_.Reach(v) || !seen_.insert(v).second) continue;
      const Inst* def = reduced_.DefinitionOf(v);
      ir::ForEachOperand(*def, [&](const Value& operand) {
        if (&operand != &def->guard) conditions_.push_back(operand);
      });
      if (question.guards.contains(def->guard)) continue;
      auto pieces = PiecesOf(def->guard, false);
      if (!pieces || question.guards.size() == kMaxGuards) return false;
      NoteConditions(*pieces);
      question.guards[def->guard] = *std::move(pieces);
    }
    return true;
  }

 private:
  const Formula& Read(Value v, bool negated) {
    const auto [it, is_new] = read_.try_emplace({v, negated});
    if (is_new && read_.size() <= kMaxParts) it->second = Expand(v, negated);
    return it->second;
  }

  Formula Expand(Value v, bool negated) {
    const bool is_bool = f_.TypeOf(v) == ir::Type::Bool();
    Formula literal = Disjunction{{{v, negated}}};
    if (is_bool && !reduced_.Reach(v)) return literal;
    const Inst* def = reduced_.DefinitionOf(v);
    if (!def) return std::nullopt;
    // What constraints say is known everywhere; what data say, where the guard holds.
    const bool structural = StructuralOf(*def).has_value();
    const bool data = is_bool && !structural && def->op != Op::Not && reduced_.OnlyGuard(*def);
    Formula formula = structural || data ? literal : ExpandOp(*def, negated);
    if (!def->guard.valid()) return formula;
    if (!negated || data) formula = Both(Read(def->guard, false), formula);
    return negated ? Either(Read(def->guard, true), formula) : formula;
  }

  Formula ExpandOp(const Inst& def, bool negated) {
    switch (def.op) {
      case Op::Cast:
        if (f_.TypeOf(def.args[0]) != ir::Type::Bool()) return std::nullopt;
        return Read(def.args[0], negated);
      case Op::Not: return Read(def.args[0], !negated);
      case Op::And:
      case Op::Or: {
        const Formula &a = Read(def.args[0], negated), &b = Read(def.args[1], negated);
        return (def.op == Op::And) != negated ? Both(a, b) : Either(a, b);
      }
      default: return std::nullopt;
    }
  }

  // What it says where its guard holds.
  std::optional<Structural> StructuralOf(const Inst& def) {
    if (def.op == Op::Holds) return InForms(def);
    const bool order = def.op == Op::Lt || def.op == Op::Le || def.op == Op::Gt || def.op == Op::Ge;
    const bool equation = def.op == Op::Eq || def.op == Op::Ne;
    if ((!equation && !order) || f_.TypeOf(def.args[0]) != ir::Type::I64()) return std::nullopt;
    const auto a = forms_.FormOf(def.args[0], def.guard), b = forms_.FormOf(def.args[1], def.guard);
    if (!a || !b) return equation ? MultipleOf(def) : std::nullopt;
    // Exact however the sides wrap.
    if (equation) return Structural{{{*a - *b, true}}, def.op == Op::Ne};
    const bool up = def.op == Op::Lt || def.op == Op::Le;
    const bool strictly = def.op == Op::Lt || def.op == Op::Gt;
    const auto ordered = tame_.Ordered(up ? *a : *b, up ? *b : *a, strictly);
    return ordered ? std::optional<Structural>({{*ordered}, false}) : std::nullopt;
  }

  // Of a predicate, which may name values of the body.
  std::optional<Structural> InForms(const Inst& holds) const {
    Structural s;
    for (const Constraint& c : holds.constraints) {
      Affine e = Affine::Const(c.e.constant);
      for (const Affine::Term& t : c.e.terms) {
        const std::optional<Affine> form = forms_.FormOf(t.value, holds.guard);
        if (!form) return std::nullopt;
        e = e + *form * t.coeff;
      }
      if (!c.equality && e != c.e && !box_.IsTame(e)) return std::nullopt;
      s.constraints.push_back({e, c.equality});
    }
    return s;
  }

  // A remainder that is (is not) 0, of a form of either sign: what the machine gives is 0 where that of the floor is.
  std::optional<Structural> MultipleOf(const Inst& def) {
    const Inst* rest = reduced_.DefinitionOf(def.args[0]);
    const auto zero = forms_.FormOf(def.args[1], def.guard);
    if (!rest || rest->op != Op::Rem || rest->guard != def.guard || zero != Affine::Const(0))
      return std::nullopt;
    const auto e = forms_.FormOf(rest->args[0], def.guard),
               by = forms_.FormOf(rest->args[1], def.guard);
    if (!e || !by || !by->IsConst()) return std::nullopt;
    const std::optional<Affine> q = quotients_.Floor(*e, by->constant);
    if (!q) return std::nullopt;
    return Structural{{{*e - *q * by->constant, true}}, def.op == Op::Ne};
  }

  std::optional<std::vector<Piece>> PiecesOf(const Conjunction& c) {
    std::vector<Piece> pieces = {Piece()};
    for (const Literal& l : c) {
      const Inst* def = reduced_.Reach(l.value) ? reduced_.DefinitionOf(l.value) : nullptr;
      std::optional<Structural> structural = def ? StructuralOf(*def) : std::nullopt;
      if (!structural) {
        for (Piece& p : pieces) p.conditions.push_back({l.value, l.negated});
        continue;
      }
      structural->negated ^= l.negated;
      const auto predicates = PredicatesOf(*structural, box_, tame_);
      if (!predicates) return std::nullopt;
      pieces = Product(pieces, *predicates);
      if (pieces.size() > kMaxPieces) return std::nullopt;
    }
    for (Piece& p : pieces) p.predicate.quotients = quotients_.NamedBy(p.predicate.constraints);
    return pieces;
  }

  void NoteConditions(const std::vector<Piece>& pieces) {
    for (const Piece& p : pieces) {
      for (const Condition& c : p.conditions) conditions_.push_back(c.value);
    }
  }

  const ir::Function& f_;
  const Box& box_;
  TameValues& tame_;
  analysis::Quotients quotients_;
  analysis::BodyForms forms_;
  ReducedIndices reduced_;
  std::map<std::pair<Value, bool>, Formula> read_;
  std::vector<Value> conditions_;  // whose guards are still to be read
  std::set<Value> seen_;
};

}  // namespace

std::optional<Question> QuestionOf(const ir::Each& each, ir::Function& f, Box& box,
                                   TameValues& tame) {
  const ir::EachResult& r = each.results[0];
  Question question{r.monoid == ir::Monoid::kMin, {}, {}};
  if (each.results.size() != 1 || (r.monoid != ir::Monoid::kMax && !question.all))
    return std::nullopt;
  if (r.guard.valid() || r.out.size() == each.indices.size()) return std::nullopt;
  if (f.TypeOf(r.value) != ir::Type::I64()) return std::nullopt;
  FormulaReader reader(each, f, box, tame);
  // All are where p holds: none is where it does not.
  auto pieces = reader.PiecesOf(r.value, question.all);
  if (!pieces) return std::nullopt;
  question.pieces = *std::move(pieces);
  if (!reader.ReadGuards(question)) return std::nullopt;
  return question;
}

}  // namespace pullback::tensor
