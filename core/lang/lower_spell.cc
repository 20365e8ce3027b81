#include "core/lang/lower_spell.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/lang/copy_expr.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_neighbours.h"
#include "core/lang/lower_relation.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_source.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

using Locals = std::set<uint32_t>;
using Reads = std::set<const Expr*>;

constexpr size_t kMostReads = 16;

class Speller {
 public:
  explicit Speller(Context& c) : c_(c) {}
  // nullptr: there is nothing to spell.
  ExprPtr Run(const Expr& e);

 private:
  struct Factor {
    const Expr* read;  // nullptr: a bracket
    Locals indices;
  };

  bool IsKnown(const Expr& e) const;
  bool IsInside(const Expr& sub, const Expr& extent) const;
  bool IsRead(const Expr& e) const;
  ExprPtr SpellRead(const Expr& read) const;
  ExprPtr Spell(const Expr& e, const Reads& reads) const;
  bool MayHold(const Expr& e);
  void AddLets(const Block& block);
  bool VariesWithAll(const Locals& indices) const;
  bool Visit(const Expr& comprehension);
  bool TakeByElements(const Expr& e, const Expr& by_elements);
  void FindIn(const Expr& e);
  void FindInExtremum(const Expr& e);
  void FindInTerms(const Expr& e);
  void CollectFactors(const Expr& e, std::vector<Factor>& factors) const;
  Locals IndicesIn(const Expr& e) const;

  Context& c_;
  std::vector<const Binder*> binders_;                    // of the comprehensions around
  Reads found_;                                           // that are spelled out
  Reads visited_;                                         // comprehensions
  std::unordered_map<const Expr*, ExprPtr> by_elements_;  // reductions of arrays, spelled out
  std::vector<ExprPtr> made_;                             // reductions of elements, for these
  Locals bound_;                                          // that have no values yet
  size_t all_ = 0, comprehensions_ = 0;                   // there are, and something is spelled of
};

// --- reads

// Names of values that blocks define.
bool Speller::IsKnown(const Expr& e) const {
  bool known = true;
  for (const uint32_t local : IndicesIn(e)) {
    const Leaves& leaves = c_.at->locals[local];
    known = known && !bound_.contains(local) && leaves.size() == 1 && leaves[0].value.valid() &&
            c_.OwnerOf(leaves[0].value) == 0;
  }
  return known;
}

// Of a binder around, or of a value that is known here.
bool Speller::IsInside(const Expr& sub, const Expr& extent) const {
  if (sub.kind == Expr::Kind::kName) {
    for (const Binder* b : binders_) {
      if (b->local == sub.local) return !b->lo && AreAlike(*b->hi, extent);
    }
  }
  if (!IsSimple(sub) || !IsKnown(sub)) return false;
  const std::optional<Affine> form = AffineAsIs(c_, sub), end = AffineAsIs(c_, extent);
  return form && end && IsNeverNegative(c_, *form) &&
         IsNeverNegative(c_, *end - *form - Affine::Const(1));
}

// An element of such a matrix that is surely there.
bool Speller::IsRead(const Expr& e) const {
  if (e.kind != Expr::Kind::kIndex) return false;
  const NamedMatrix* const m = MatrixOf(c_, *e.operands[0]);
  if (!m || e.subscripts.size() != m->gen->binders.size()) return false;
  for (size_t k = 0; k < e.subscripts.size(); ++k) {
    const Subscript& s = e.subscripts[k];
    if (s.is_slice || !IsInside(*s.index, *m->gen->binders[k].hi)) return false;
  }
  return true;
}

ExprPtr Speller::SpellRead(const Expr& read) const {
  const NamedMatrix& m = *MatrixOf(c_, *read.operands[0]);
  return CopyWith(*m.element, [&](const Expr& part) -> ExprPtr {
    if (part.kind != Expr::Kind::kName) return nullptr;
    for (size_t k = 0; k < m.gen->binders.size(); ++k) {
      if (m.gen->binders[k].local == part.local) return Copy(*read.subscripts[k].index);
    }
    return nullptr;
  });
}

ExprPtr Speller::Spell(const Expr& e, const Reads& reads) const {
  return CopyWith(e, [&](const Expr& part) -> ExprPtr {
    return reads.contains(&part) ? SpellRead(part) : nullptr;
  });
}

Locals Speller::IndicesIn(const Expr& e) const {
  Locals indices;
  ForEachExpr(e, [&](const Expr& part) {
    if (part.kind == Expr::Kind::kName && part.local != UINT32_MAX) indices.insert(part.local);
  });
  return indices;
}

// --- which are worth it

// What indices around do not change would be made again for each of them, where the matrix is made once.
bool Speller::VariesWithAll(const Locals& indices) const {
  const bool by_all = std::all_of(binders_.begin(), binders_.end(),
                                  [&](const Binder* b) { return indices.contains(b->local); });
  if (!by_all || c_.loops.empty()) return by_all;
  const auto counts = [&](uint32_t local) {
    const Leaves& leaves = c_.at->locals[local];
    return !bound_.contains(local) && leaves.size() == 1 && leaves[0].value.valid() &&
           c_.counters.contains(leaves[0].value.id);
  };
  return c_.loops.size() == 1 && std::any_of(indices.begin(), indices.end(), counts);
}

// A reduction that goes by neighbours where they are spelled out.
void Speller::FindInExtremum(const Expr& e) {
  Locals own;
  for (const Binder& b : e.binders) own.insert(b.local);
  Reads reads;
  ForEachExpr(e.body, [&](const Expr& part) {
    if (Mentions(part, own) && IsRead(part)) reads.insert(&part);
  });
  Locals indices;
  for (const Expr* read : reads) {
    for (const Subscript& s : read->subscripts) indices.merge(IndicesIn(*s.index));
  }
  if (reads.empty() || !VariesWithAll(indices)) return;
  const ExprPtr spelled = Spell(e, reads);
  if (!spelled) return;
  Locals before;
  for (const Binder* b : binders_) before.insert(b->local);
  for (size_t k = 0; k < e.binders.size(); ++k) {
    const std::vector<Teller> tellers = FindTellersAhead(c_, *spelled, k, before);
    const bool related = std::all_of(tellers.begin(), tellers.end(),
                                     [](const Teller& t) { return IsRelated(*t.related[0]); });
    if (!tellers.empty() && related) return found_.insert(reads.begin(), reads.end());
  }
}

void Speller::CollectFactors(const Expr& e, std::vector<Factor>& factors) const {
  if (IsRead(e)) {
    Factor& f = factors.emplace_back(Factor{&e, {}});
    for (const Subscript& s : e.subscripts) f.indices.merge(IndicesIn(*s.index));
    return;
  }
  if (e.kind == Expr::Kind::kIverson) {
    std::vector<const Expr*> conjuncts;
    CollectConjuncts(c_, *e.operands[0], conjuncts);
    for (const Expr* p : conjuncts) {
      if (IsRelated(*p)) factors.push_back({nullptr, IndicesIn(*p)});
    }
    return;
  }
  const bool product = e.kind == Expr::Kind::kBinary && e.binary == BinaryOp::kMul;
  const bool quotient = IsQuotient(e), negated = e.kind == Expr::Kind::kUnary;
  if (product || quotient || negated) CollectFactors(*e.operands[0], factors);
  if (product) CollectFactors(*e.operands[1], factors);
}

// A product whose other brackets speak of the same indices, or such a term: it runs over the tuples of one and asks the
// others.
void Speller::FindInTerms(const Expr& e) {
  const bool sum =
      e.kind == Expr::Kind::kBinary && (e.binary == BinaryOp::kAdd || e.binary == BinaryOp::kSub);
  if (sum) {
    for (const ExprPtr& term : e.operands) FindInTerms(*term);
    return;
  }
  std::vector<Factor> factors;
  CollectFactors(e, factors);
  for (const Factor& f : factors) {
    const bool told =
        f.read && VariesWithAll(f.indices) &&
        std::any_of(factors.begin(), factors.end(), [&](const Factor& other) {
          return &other != &f && std::includes(other.indices.begin(), other.indices.end(),
                                               f.indices.begin(), f.indices.end());
        });
    if (told) found_.insert(f.read);
  }
}

void Speller::FindIn(const Expr& e) {
  if (!AddsUp(e)) return FindInExtremum(e);
  if (e.body.stmts.empty()) FindInTerms(*e.body.result);
}

// The comprehension, and all that are inside. Whether something of it is spelled out.
bool Speller::Visit(const Expr& e) {
  const Expr* made = nullptr;
  if (ExprPtr by_elements = ByElements(c_, e)) {
    made = by_elements.get();
    made_.push_back(std::move(by_elements));
  }
  const Expr& at = made ? *made : e;
  const size_t around = binders_.size(), before = found_.size();
  for (const Binder& b : at.binders) binders_.push_back(&b);
  FindIn(at);
  bool spelled = found_.size() > before;
  if (made) {
    spelled = TakeByElements(e, at);
  } else {
    ForEachExpr(e.body, [&](const Expr& part) {
      if (part.kind == Expr::Kind::kComprehension && visited_.insert(&part).second)
        spelled |= Visit(part);
    });
  }
  binders_.resize(around);
  comprehensions_ += spelled ? 1 : 0;
  return spelled;
}

// If none of its reads is left.
bool Speller::TakeByElements(const Expr& e, const Expr& by_elements) {
  bool all = true;
  ForEachExpr(by_elements.body, [&](const Expr& part) {
    const bool read = part.kind == Expr::Kind::kIndex && MatrixOf(c_, *part.operands[0]);
    all = all && (!read || found_.contains(&part));
  });
  if (all) by_elements_[&e] = Spell(by_elements, found_);
  return all;
}

// Around extrema that go by neighbours there are loops of blocks: not if these would make anything else that statements
// make, and no more often than needed.
bool Speller::MayHold(const Expr& e) {
  size_t reads = 0, comprehensions = 0;
  bool given = false, others = false;
  ForEachExpr(e, [&](const Expr& part) {
    reads += MatrixOf(c_, part) ? 1 : 0;
    comprehensions += part.kind == Expr::Kind::kComprehension ? 1 : 0;
    given = given || c_.IsGiven(part);
    others = others || part.kind == Expr::Kind::kScan || part.kind == Expr::Kind::kBroadcastCall ||
             (part.kind == Expr::Kind::kBinary && part.binary == BinaryOp::kMatMul);
    for (const Binder& b : part.binders) bound_.insert(b.local);
    if (part.kind == Expr::Kind::kComprehension) AddLets(part.body);
    for (const CondArm& arm : part.arms) AddLets(arm.body);
  });
  all_ = comprehensions;
  return reads > 0 && reads <= kMostReads && !given && !others && !c_.nest;
}

void Speller::AddLets(const Block& block) {
  for (const StmtPtr& s : block.stmts) {
    for (const Target& t : s->targets) bound_.insert(t.local);
  }
}

ExprPtr Speller::Run(const Expr& e) {
  if (!MayHold(e) || !Visit(e) || comprehensions_ < all_) return nullptr;
  return CopyWith(e, [&](const Expr& part) -> ExprPtr {
    if (const auto it = by_elements_.find(&part); it != by_elements_.end())
      return std::move(it->second);
    return found_.contains(&part) ? SpellRead(part) : nullptr;
  });
}

}  // namespace

const Expr* Spelled(Context& c, const Expr* e) {
  if (c.at->matrices.empty()) return e;
  ExprPtr spelled = Speller(c).Run(*e);
  if (!spelled) return e;
  c.module.made.push_back(std::move(spelled));
  return c.module.made.back().get();
}

}  // namespace pullback::lang
