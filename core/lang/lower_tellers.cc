// Which relation tells the points of a binder: what the source says of it.
#include <algorithm>
#include <set>

#include "core/lang/function_flow.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_keys.h"
#include "core/lang/lower_neighbours.h"
#include "core/lang/lower_relation.h"
#include "core/lang/lower_source.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

using Locals = std::set<uint32_t>;

bool Relates(const std::vector<const Teller*>& some) {
  return std::any_of(some.begin(), some.end(),
                     [](const Teller* t) { return IsRelated(*t->related[0]); });
}

// The index of the innermost loop that the open frames stand for; kNoValue: there is none.
Value InnermostIndex(const Context& c) {
  for (size_t f = c.frames.size(); f-- > 0;) {
    if (!c.frames[f]->indices.empty()) return c.frames[f]->indices.back().var;
  }
  return {};
}

class Reading {
 public:
  // `before`: locals that have no value yet. `ahead`: what is gathered will be made in front of the loops, of which
  // `around` is the innermost (kNoValue: it is none of the open frames').
  Reading(Context& c, const Expr& e, size_t binder, Locals before, bool ahead, Value around = {})
      : c_(c),
        e_(e),
        binder_(binder),
        ahead_(ahead),
        around_(around),
        local_(e.binders[binder].local),
        before_(std::move(before)) {}
  std::vector<Teller> Run();

 private:
  bool IsPlain();
  void Collect(const Block& block);
  void Collect(const Expr& e);
  void Try(const Expr& call);
  void TryCondition(const Expr& e);
  void TryEquation(const Expr& e);
  void Add(Teller teller);
  bool MayBeKey(const Expr& argument);
  bool MayGather(const Expr& call, const Expr& argument);
  bool IsKnown(const Expr& e) const;
  bool IsThere(Value v) const;
  std::vector<Teller> Fewest(std::vector<const Teller*> all) const;
  bool Suffice(const std::vector<const Teller*>& told) const {
    return OneStandsForAll(c_, e_, local_, told);
  }

  Context& c_;
  const Expr& e_;
  size_t binder_;
  bool ahead_;
  Value around_;
  uint32_t local_;
  Locals before_;
  Locals inner_;  // not known in front of the body
  std::vector<Teller> tellers_;
  std::vector<Teller> conditions_;
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
    plain = (!later.lo || !Mentions(*later.lo, {local_})) && !Mentions(*later.hi, {local_});
  }
  return plain;
}

void Reading::Collect(const Block& block) {
  for (const StmtPtr& s : block.stmts) {
    for (const Target& t : s->targets) inner_.insert(t.local);
    if (s->kind == Stmt::Kind::kLet) Collect(*s->value);
  }
  if (block.result) Collect(*block.result);
}

// Brackets, conditions and what they stand in.
void Reading::Collect(const Expr& e) {
  if (IsRelated(e)) return Try(e);
  if (e.type == Type::Scalar(DType::kBool)) TryCondition(e);
  if (e.kind == Expr::Kind::kBinary && e.binary == BinaryOp::kEq) TryEquation(e);
  const bool stops = e.kind == Expr::Kind::kComprehension || e.kind == Expr::Kind::kScan ||
                     e.kind == Expr::Kind::kLambda;
  if (stops) return;
  for (const ExprPtr& part : e.operands) Collect(*part);
  for (const CondArm& arm : e.arms) {
    if (arm.cond) Collect(*arm.cond);
    Collect(arm.body);
  }
}

// Names of values that blocks define, in front of all loops.
bool Reading::IsKnown(const Expr& e) const {
  bool known = true;
  const Locals own = LetsIn(e);
  ForEachExpr(e, [&](const Expr& part) {
    if (part.kind != Expr::Kind::kName || part.local == local_) return;
    if (part.local == UINT32_MAX || own.count(part.local) != 0) return;
    if (before_.count(part.local) != 0 || inner_.count(part.local) != 0) return void(known = false);
    for (const Leaf& leaf : c_.at->locals[part.local]) {
      known = known && leaf.value.valid() && IsThere(leaf.value);
    }
  });
  return known;
}

// In front of the innermost loop, where what is gathered is made.
bool Reading::IsThere(Value v) const {
  const bool integer = c_.b.TypeOf(v) == ir::Type::I64();
  const Affine form = integer ? c_.AffineFor(v) : Affine::Of(v);
  return std::all_of(form.terms.begin(), form.terms.end(), [&](const Affine::Term& t) {
    const bool loop = ahead_ && c_.IsIndex(t.value) && !(t.value == around_);
    return c_.OwnerOf(t.value) == 0 || loop;
  });
}

// An argument that is known in front of the body.
bool Reading::MayBeKey(const Expr& argument) {
  return !Mentions(argument, inner_) && IsCheckable(c_, argument);
}

// An argument that is made from the binder alone.
bool Reading::MayGather(const Expr& call, const Expr& argument) {
  if (c_.gathered.count(&call) != 0) return true;
  const Binder& b = e_.binders[binder_];
  const bool range =
      (!b.lo || (IsSimple(*b.lo) && IsKnown(*b.lo))) && IsSimple(*b.hi) && IsKnown(*b.hi);
  return ahead_ && range && IsKnown(argument) && IsCheckable(c_, argument);
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

// What says of the binder alone at which points it holds.
void Reading::TryCondition(const Expr& e) {
  const bool compares =
      e.kind == Expr::Kind::kBinary && e.binary >= BinaryOp::kEq && e.binary <= BinaryOp::kGe;
  if (!compares && !IsNot(e) && e.kind != Expr::Kind::kIndex) return;
  if (Mentions(e, {local_}) && MayGather(e, e)) conditions_.push_back({0, 0, {&e}});
}

// binder = what is known
void Reading::TryEquation(const Expr& e) {
  for (size_t side : {size_t{0}, size_t{1}}) {
    const Expr& that = *e.operands[1 - side];
    if (e.operands[side]->kind != Expr::Kind::kName || e.operands[side]->local != local_) continue;
    if (IsSimple(that) && !Mentions(that, inner_)) return Add({side, 1, {&e}});
  }
}

std::vector<Teller> Reading::Run() {
  constexpr size_t kMost = 16;
  if (!e_.body.result || !IsPlain()) return {};
  for (size_t i = binder_; i < e_.binders.size(); ++i) inner_.insert(e_.binders[i].local);
  Collect(e_.body);
  std::vector<const Teller*> all;
  for (const Teller& t : tellers_) {
    const bool relation = IsRelated(*t.related[0]);
    if (relation && Suffice({&t})) return {t};
    all.push_back(&t);
  }
  if (all.size() > kMost || !Relates(all)) return {};
  if (Suffice(all)) return Fewest(std::move(all));
  for (const Teller& t : conditions_) all.push_back(&t);
  return all.size() <= kMost && Suffice(all) ? Fewest(std::move(all)) : std::vector<Teller>();
}

// Without those that are not needed.
std::vector<Teller> Reading::Fewest(std::vector<const Teller*> all) const {
  for (size_t i = all.size(); i-- > 0;) {
    std::vector<const Teller*> fewer = all;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (Relates(fewer) && Suffice(fewer)) all = std::move(fewer);
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
  const Value around = InnermostIndex(c);
  for (size_t i = 0; i < e.binders.size(); ++i) {
    // There is a loop in front of which it can be gathered.
    const bool ahead = c.InBody() && (!c.nest || i > 0 || around.valid());
    Reading reading(c, e, i, BindersBefore(e, i), ahead, i > 0 ? Value() : around);
    if (!reading.Run().empty()) return true;
  }
  return false;
}

}  // namespace pullback::lang
