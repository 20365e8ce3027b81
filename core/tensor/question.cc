#include "core/tensor/question.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/tensor/body_forms.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using analysis::Box;
using analysis::Predicate;
using ir::Constraint;
using ir::Inst;
using ir::Op;
using ir::Value;

// Disjunctions multiply.
constexpr size_t kMaxPieces = 8;
// Of a conjunction; each is looked up in the body.
constexpr size_t kMaxParts = 64;

// A conjunction, or where it is false.
struct Structural {
  std::vector<Constraint> constraints;
  bool negated = false;
};

std::optional<std::vector<Predicate>> Negated(ir::ConstraintSpan constraints, const Box& box) {
  std::vector<Predicate> pieces;
  for (const Constraint& c : constraints) {
    const auto negated = analysis::Negate(c, box);
    if (!negated) return std::nullopt;
    for (const Constraint& piece : *negated) pieces.push_back({{piece}, {}});
  }
  return pieces;
}

std::optional<std::vector<Predicate>> PiecesOf(const Structural& s, const Box& box) {
  if (s.negated) return Negated(s.constraints, box);
  return std::vector{Predicate{s.constraints, {}}};
}

// Reads a predicate as a conjunction of conditions and of what speaks of the indices that are reduced. What has a
// guard is false where that is, so the guard is one of its conditions.
class ConjunctionReader {
 public:
  ConjunctionReader(const ir::Each& each, const ir::Function& f) : each_(each), forms_(each, f) {
    for (size_t k = each.results[0].out.size(); k < each.indices.size(); ++k)
      reduced_.insert(each.indices[k].var);
    for (const Inst& inst : each.body) {
      forms_.Note(inst);
      bool reduced = false;
      ir::ForEachOperand(inst, [&](Value v) { reduced |= reduced_.contains(v); });
      if (reduced) reduced_.insert(inst.results.begin(), inst.results.end());
    }
  }

  // False: it is something else.
  bool Read(Value v) {
    if (!seen_.insert(v).second) return true;
    if (seen_.size() > kMaxParts) return false;
    if (!reduced_.contains(v)) {
      conditions.push_back(v);
      return true;
    }
    const Inst* def = FindDef(each_, v);
    if (!def || (def->guard.valid() && !Read(def->guard))) return false;
    if (def->op == Op::And) return Read(def->args[0]) && Read(def->args[1]);
    return ReadStructural(def);
  }

  std::vector<Value> conditions;
  std::vector<Structural> structural;

 private:
  bool ReadStructural(const Inst* def) {
    const Value guard = def->guard;
    bool negated = false;
    while (def && def->op == Op::Not) {
      def = FindDef(each_, def->args[0]);
      if (def && def->guard.valid() && def->guard != guard) return false;
      negated = !negated;
    }
    if (!def) return false;
    if (def->op == Op::Holds) {
      structural.push_back({def->constraints.ToVector(), negated});
      return true;
    }
    return def->op == Op::Ne && ReadInequality(*def, negated);
  }

  // Exact however the sides wrap.
  bool ReadInequality(const Inst& ne, bool negated) {
    const auto a = forms_.FormOf(ne.args[0], ne.guard), b = forms_.FormOf(ne.args[1], ne.guard);
    if (!a || !b) return false;
    structural.push_back({{{*a - *b, true}}, !negated});
    return true;
  }

  const ir::Each& each_;
  BodyForms forms_;
  std::set<Value> reduced_, seen_;
};

// a and b, as a disjunction.
std::vector<Predicate> Product(const std::vector<Predicate>& a, const std::vector<Predicate>& b) {
  std::vector<Predicate> product;
  for (const Predicate& p : a) {
    for (const Predicate& q : b) {
      product.push_back(p);
      product.back().constraints.insert(product.back().constraints.end(), q.constraints.begin(),
                                        q.constraints.end());
    }
  }
  return product;
}

}  // namespace

std::optional<Question> QuestionOf(const ir::Each& each, const ir::Function& f, const Box& box) {
  const ir::EachResult& r = each.results[0];
  Question question{r.monoid == ir::Monoid::kMin, {}, {}};
  if (each.results.size() != 1 || (r.monoid != ir::Monoid::kMax && !question.all))
    return std::nullopt;
  if (r.guard.valid() || r.out.size() == each.indices.size()) return std::nullopt;
  const Inst* number = FindDef(each, r.value);
  if (!number || number->op != Op::Cast || f.TypeOf(r.value) != ir::Type::I64() ||
      f.TypeOf(number->args[0]) != ir::Type::Bool())
    return std::nullopt;
  ConjunctionReader reader(each, f);
  if (number->guard.valid() && !reader.Read(number->guard)) return std::nullopt;
  if (!reader.Read(number->args[0])) return std::nullopt;
  question.conditions = std::move(reader.conditions);
  if (!question.all) question.pieces = {Predicate()};
  for (Structural& s : reader.structural) {
    // All are where p holds: none is where it does not.
    s.negated ^= question.all;
    auto pieces = PiecesOf(s, box);
    if (!pieces) return std::nullopt;
    if (question.all) {
      std::move(pieces->begin(), pieces->end(), std::back_inserter(question.pieces));
    } else {
      question.pieces = Product(question.pieces, *pieces);
    }
    if (question.pieces.size() > kMaxPieces) return std::nullopt;
  }
  return question;
}

}  // namespace pullback::tensor
