// Which relation tells the points of a binder: what the source says of it.
#include <algorithm>
#include <set>

#include "core/lang/lower_expr.h"
#include "core/lang/lower_keys.h"
#include "core/lang/lower_neighbours.h"
#include "core/lang/lower_relation.h"
#include "core/lang/lower_source.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

using Locals = std::set<uint32_t>;

class Reading {
 public:
  // `before`: locals that have no value yet. `ahead`: what is gathered will be made in front of the loops.
  Reading(Context& c, const Expr& e, size_t binder, Locals before, bool ahead)
      : c_(c),
        e_(e),
        binder_(binder),
        ahead_(ahead),
        local_(e.binders[binder].local),
        before_(std::move(before)) {}
  std::vector<Teller> Run();

 private:
  bool IsPlain();
  void Collect(const Expr& e);
  void Try(const Expr& call);
  void TryEquation(const Expr& e);
  void Add(Teller teller);
  bool MayBeKey(const Expr& argument);
  bool MayGather(const Expr& call, const Expr& argument);
  bool IsKnown(const Expr& e) const;
  bool Varies(const Expr& e) const { return Mentions(e, varying_); }
  bool Suffices();
  bool Suffice(const std::vector<const Teller*>& told);
  bool IsSame(const Expr& e) const;
  bool IsNumberThere(const Expr& e, bool one) const;
  const Expr* ChosenThere(const Expr& e) const;
  bool IsTold(const Expr& e) const;
  bool IsFalse(const Expr& e) const;
  bool IsTrue(const Expr& e) const;
  bool IsZeroChain(const Expr& e) const;

  Context& c_;
  const Expr& e_;
  size_t binder_;
  bool ahead_;
  uint32_t local_;
  Locals before_;
  Locals inner_;    // not known in front of the body
  Locals varying_;  // what differs between points that are not related
  std::vector<Teller> tellers_;
  std::vector<const Teller*> told_;
};

// Nothing but lets and a value, which changes nothing.
bool Reading::IsPlain() {
  const Block& body = e_.body;
  bool plain = std::all_of(body.stmts.begin(), body.stmts.end(), [](const StmtPtr& s) {
    return s->kind == Stmt::Kind::kLet && !s->annotation;
  });
  ForEachExpr(body, [&](const Expr& part) { plain = plain && !HoldsBox(part.type); });
  for (size_t i = binder_ + 1; plain && i < e_.binders.size(); ++i) {
    const Binder& later = e_.binders[i];
    plain = (!later.lo || !Varies(*later.lo)) && !Varies(*later.hi);
  }
  return plain;
}

// Brackets, conditions and what they stand in.
void Reading::Collect(const Expr& e) {
  if (IsRelated(e)) return Try(e);
  if (e.kind == Expr::Kind::kBinary && e.binary == BinaryOp::kEq) TryEquation(e);
  const bool stops = e.kind == Expr::Kind::kComprehension || e.kind == Expr::Kind::kScan ||
                     e.kind == Expr::Kind::kLambda;
  if (stops) return;
  for (const ExprPtr& part : e.operands) Collect(*part);
  for (const CondArm& arm : e.arms) {
    if (arm.cond) Collect(*arm.cond);
  }
}

// Names of values that blocks define, in front of all loops.
bool Reading::IsKnown(const Expr& e) const {
  bool known = true;
  ForEachExpr(e, [&](const Expr& part) {
    if (part.kind != Expr::Kind::kName || part.local == local_) return;
    if (part.local == UINT32_MAX) return;
    if (before_.count(part.local) != 0 || inner_.count(part.local) != 0) return void(known = false);
    for (const Leaf& leaf : c_.at->locals[part.local]) {
      known = known && leaf.value.valid() && c_.OwnerOf(leaf.value) == 0;
    }
  });
  return known;
}

// An argument that is known in front of the body.
bool Reading::MayBeKey(const Expr& argument) {
  return !Mentions(argument, inner_) && LooksLikeKey(c_, argument);
}

// An argument that is made from the binder alone.
bool Reading::MayGather(const Expr& call, const Expr& argument) {
  if (c_.gathered.count(&call) != 0) return true;
  const Binder& b = e_.binders[binder_];
  const bool range =
      (!b.lo || (IsSimple(*b.lo) && IsKnown(*b.lo))) && IsSimple(*b.hi) && IsKnown(*b.hi);
  return ahead_ && range && IsKnown(argument) && LooksLikeKey(c_, argument);
}

void Reading::Add(Teller teller) {
  for (Teller& t : tellers_) {
    if (AreAlike(*t.related[0], *teller.related[0])) return t.related.push_back(teller.related[0]);
  }
  tellers_.push_back(std::move(teller));
}

void Reading::Try(const Expr& call) {
  const Expr& relation = *call.operands[0];
  if (relation.kind != Expr::Kind::kName || !IsKnown(relation)) return;
  Teller teller{0, 0, {&call}};
  bool told = false;
  for (size_t i = 1; i < call.operands.size(); ++i) {
    const Expr& argument = *call.operands[i];
    if (!Mentions(argument, {local_})) {
      if (!MayBeKey(argument)) return;
      continue;
    }
    if (std::exchange(told, true)) return;
    const int64_t coefficient = IsSimple(argument) ? Coefficient(argument, local_) : 0;
    Locals others = inner_;
    others.erase(local_);
    if (Mentions(argument, others)) return;
    teller.axis = i - 1;
    teller.sign = coefficient == 1 || coefficient == -1 ? coefficient : 0;
    if (teller.sign == 0 && !MayGather(call, argument)) return;
  }
  if (told) Add(std::move(teller));
}

// binder = what is known
void Reading::TryEquation(const Expr& e) {
  for (size_t side : {size_t{0}, size_t{1}}) {
    const Expr& that = *e.operands[1 - side];
    if (e.operands[side]->kind != Expr::Kind::kName || e.operands[side]->local != local_) continue;
    if (IsSimple(that) && !Mentions(that, inner_)) return Add({side, 1, {&e}});
  }
}

bool Reading::IsTold(const Expr& e) const {
  return std::any_of(told_.begin(), told_.end(), [&](const Teller* t) {
    return std::find(t->related.begin(), t->related.end(), &e) != t->related.end();
  });
}

// At every point that is not related.
bool Reading::IsFalse(const Expr& e) const {
  if (IsNot(e)) return IsTrue(*e.operands[0]);
  if (e.kind != Expr::Kind::kBinary || IsTold(e)) return IsTold(e);
  if (e.binary == BinaryOp::kAnd) return IsFalse(*e.operands[0]) || IsFalse(*e.operands[1]);
  return e.binary == BinaryOp::kOr && IsFalse(*e.operands[0]) && IsFalse(*e.operands[1]);
}

bool Reading::IsTrue(const Expr& e) const {
  if (IsNot(e)) return IsFalse(*e.operands[0]);
  if (e.kind != Expr::Kind::kBinary) return false;
  if (e.binary == BinaryOp::kOr) return IsTrue(*e.operands[0]) || IsTrue(*e.operands[1]);
  return e.binary == BinaryOp::kAnd && IsTrue(*e.operands[0]) && IsTrue(*e.operands[1]);
}

bool Reading::IsZeroChain(const Expr& e) const {
  if (!IsChain(e)) return false;
  std::vector<const Expr*> predicates;
  CollectBrackets(c_, e, predicates);
  return std::any_of(predicates.begin(), predicates.end(),
                     [&](const Expr* p) { return IsFalse(*p); });
}

// The arm of an `if` that is taken at every point that is not related, where that is one expression.
const Expr* Reading::ChosenThere(const Expr& e) const {
  for (const CondArm& arm : e.arms) {
    if (arm.cond && IsFalse(*arm.cond)) continue;
    const bool taken = !arm.cond || IsTrue(*arm.cond);
    return taken && arm.body.stmts.empty() ? arm.body.result.get() : nullptr;
  }
  return nullptr;
}

// It has one value at all points that are not related.
bool Reading::IsSame(const Expr& e) const {
  if (!Varies(e) || IsFalse(e) || IsTrue(e) || IsZeroChain(e)) return true;
  switch (e.kind) {
    case Expr::Kind::kIf: {
      const Expr* chosen = ChosenThere(e);
      return chosen && IsSame(*chosen);
    }
    case Expr::Kind::kUnary:
    case Expr::Kind::kBinary:
    case Expr::Kind::kCast:
    case Expr::Kind::kIverson:
    case Expr::Kind::kTuple:
    case Expr::Kind::kConstruct:
    case Expr::Kind::kField: break;
    case Expr::Kind::kCall:
      if (IsRelated(e)) return false;
      break;
    default: return false;
  }
  return std::all_of(e.operands.begin(), e.operands.end(),
                     [&](const ExprPtr& part) { return IsSame(*part); });
}

// It is 0 (or, if that may be, 1) there.
bool Reading::IsNumberThere(const Expr& e, bool one) const {
  if (IsZeroChain(e) || IsNumber(e, 0) || (one && IsNumber(e, 1))) return true;
  if (e.kind == Expr::Kind::kIf) {
    const Expr* chosen = ChosenThere(e);
    return chosen && IsNumberThere(*chosen, one);
  }
  const bool parts = e.kind == Expr::Kind::kTuple || e.kind == Expr::Kind::kConstruct;
  return parts && std::all_of(e.operands.begin(), e.operands.end(),
                              [&](const ExprPtr& part) { return IsNumberThere(*part, one); });
}

// One of the points that are not related stands for all.
bool Reading::Suffices() {
  varying_ = {local_};
  for (const StmtPtr& s : e_.body.stmts) {
    if (IsSame(*s->value)) continue;
    for (const Target& t : s->targets) varying_.insert(t.local);
  }
  const Expr& result = *e_.body.result;
  switch (e_.comprehension) {
    case Comprehension::kGen:  // the others stay 0
    case Comprehension::kSum: return IsNumberThere(result, false);
    case Comprehension::kProd: return IsNumberThere(result, true);
    default: return IsSame(result);
  }
}

bool Reading::Suffice(const std::vector<const Teller*>& told) {
  told_ = told;
  return Suffices();
}

std::vector<Teller> Reading::Run() {
  constexpr size_t kMost = 4;
  varying_ = {local_};
  if (!e_.body.result || !IsPlain()) return {};
  for (size_t i = binder_; i < e_.binders.size(); ++i) inner_.insert(e_.binders[i].local);
  for (const StmtPtr& s : e_.body.stmts) {
    for (const Target& t : s->targets) inner_.insert(t.local);
  }
  Collect(*e_.body.result);
  std::vector<const Teller*> all;
  for (const Teller& t : tellers_) {
    const bool relation = IsRelated(*t.related[0]);
    if (relation && Suffice({&t})) return {t};
    all.push_back(&t);
  }
  const auto relates = [](const std::vector<const Teller*>& some) {
    return std::any_of(some.begin(), some.end(),
                       [](const Teller* t) { return IsRelated(*t->related[0]); });
  };
  if (all.size() > kMost || !relates(all) || !Suffice(all)) return {};
  // Without those that are not needed.
  for (size_t i = all.size(); i-- > 0;) {
    std::vector<const Teller*> fewer = all;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (relates(fewer) && Suffice(fewer)) all = std::move(fewer);
  }
  std::vector<Teller> tellers;
  for (const Teller* t : all) tellers.push_back(*t);
  return tellers;
}

Locals BindersBefore(const Expr& e, size_t binder) {
  Locals before;
  for (size_t i = 0; i < binder; ++i) before.insert(e.binders[i].local);
  return before;
}

}  // namespace

std::vector<Teller> FindTellers(Context& c, const Expr& e, size_t binder) {
  return Reading(c, e, binder, {}, /*ahead=*/false).Run();
}

std::vector<Teller> FindTellersAhead(Context& c, const Expr& e, size_t binder,
                                     const std::set<uint32_t>& before) {
  Locals all = BindersBefore(e, binder);
  all.insert(before.begin(), before.end());
  return Reading(c, e, binder, std::move(all), /*ahead=*/true).Run();
}

bool ReducesNeighbours(Context& c, const Expr& e) {
  if (AddsUp(e)) return false;
  for (size_t i = 0; i < e.binders.size(); ++i) {
    if (!Reading(c, e, i, BindersBefore(e, i), c.InBody() && !c.nest).Run().empty()) return true;
  }
  return false;
}

}  // namespace pullback::lang
