// Which relation tells the points of a binder: what the source says of it.
#include <algorithm>
#include <set>

#include "core/lang/lower_expr.h"
#include "core/lang/lower_neighbours.h"
#include "core/lang/lower_relation.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

using Locals = std::set<uint32_t>;

bool Mentions(const Expr& e, const Locals& locals) {
  bool found = false;
  ForEachExpr(e, [&](const Expr& part) {
    found = found || (part.kind == Expr::Kind::kName && locals.count(part.local) != 0);
  });
  return found;
}

// Names and numbers, added and subtracted: cheap wherever it is evaluated, and cannot trap.
bool IsSimple(const Expr& e) {
  const bool linear =
      (e.kind == Expr::Kind::kUnary && e.unary == UnaryOp::kNeg) ||
      (e.kind == Expr::Kind::kBinary && (e.binary == BinaryOp::kAdd || e.binary == BinaryOp::kSub));
  if (!linear) return e.kind == Expr::Kind::kInt || e.kind == Expr::Kind::kName;
  return std::all_of(e.operands.begin(), e.operands.end(),
                     [](const ExprPtr& part) { return IsSimple(*part); });
}

// A simple form is this often the local, beside what has nothing to do with it.
int64_t Coefficient(const Expr& e, uint32_t local) {
  if (e.kind == Expr::Kind::kName) return e.local == local ? 1 : 0;
  if (e.kind == Expr::Kind::kInt) return 0;
  const int64_t first = Coefficient(*e.operands[0], local);
  if (e.kind == Expr::Kind::kUnary) return -first;
  const int64_t second = Coefficient(*e.operands[1], local);
  return e.binary == BinaryOp::kAdd ? first + second : first - second;
}

bool AreAlike(const Expr& a, const Expr& b) {
  if (a.kind != b.kind || a.operands.size() != b.operands.size()) return false;
  if (a.local != b.local || a.int_value != b.int_value || a.builtin != b.builtin) return false;
  if (a.kind == Expr::Kind::kUnary && a.unary != b.unary) return false;
  if (a.kind == Expr::Kind::kBinary && a.binary != b.binary) return false;
  for (size_t i = 0; i < a.operands.size(); ++i) {
    if (!AreAlike(*a.operands[i], *b.operands[i])) return false;
  }
  for (size_t i = 0; i < a.subscripts.size(); ++i) {
    if (!AreAlike(*a.subscripts[i].index, *b.subscripts[i].index)) return false;
  }
  return true;
}

bool IsNot(const Expr& e) { return e.kind == Expr::Kind::kUnary && e.unary == UnaryOp::kNot; }

bool IsNumber(const Expr& e, int64_t v) {
  if (e.kind == Expr::Kind::kCast) return IsNumber(*e.operands[0], v);
  if (e.kind == Expr::Kind::kInt) return e.int_value == v;
  return e.kind == Expr::Kind::kFloat && e.float_value == static_cast<double>(v);
}

bool HoldsBox(const Type& t) {
  return t.kind == Type::Kind::kBox || std::any_of(t.elements.begin(), t.elements.end(),
                                                   [](const Type& e) { return HoldsBox(e); });
}

class Reading {
 public:
  Reading(Context& c, const Expr& e, size_t binder, bool ahead)
      : c_(c), e_(e), binder_(binder), local_(e.binders[binder].local) {
    for (size_t i = 0; ahead && i < binder; ++i) before_.insert(e.binders[i].local);
  }
  std::optional<Teller> Run();

 private:
  bool IsPlain();
  void Collect(const Expr& e);
  void Try(const Expr& call);
  bool MayBeKey(const Expr& argument);
  bool Varies(const Expr& e) const { return Mentions(e, varying_); }
  bool Suffices();
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
  uint32_t local_;
  Locals before_;   // binders that have no value yet
  Locals inner_;    // not known in front of the body
  Locals varying_;  // what differs between points that are not related
  std::vector<Teller> tellers_;
  const Teller* told_ = nullptr;
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
  const bool stops = e.kind == Expr::Kind::kComprehension || e.kind == Expr::Kind::kScan ||
                     e.kind == Expr::Kind::kLambda;
  if (stops) return;
  for (const ExprPtr& part : e.operands) Collect(*part);
  for (const CondArm& arm : e.arms) {
    if (arm.cond) Collect(*arm.cond);
  }
}

// Ahead of the loops over the binders before this one, these have no value yet.
bool Reading::MayBeKey(const Expr& argument) {
  return Mentions(argument, before_) ? LooksLikeKey(c_, argument) : IsKey(c_, argument);
}

void Reading::Try(const Expr& call) {
  for (Teller& t : tellers_) {
    if (AreAlike(*t.related[0], call)) return t.related.push_back(&call);
  }
  const Expr& relation = *call.operands[0];
  if (relation.kind != Expr::Kind::kName || inner_.count(relation.local) != 0) return;
  for (const Leaf& leaf : c_.at->locals[relation.local]) {
    if (!leaf.value.valid() || c_.OwnerOf(leaf.value) != 0) return;
  }
  Teller teller{0, 0, {&call}};
  for (size_t i = 1; i < call.operands.size(); ++i) {
    const Expr& argument = *call.operands[i];
    if (!IsSimple(argument)) {
      if (Mentions(argument, inner_) || !MayBeKey(argument)) return;
      continue;
    }
    const int64_t coefficient = Coefficient(argument, local_);
    Locals others = inner_;
    others.erase(local_);
    if (Mentions(argument, others)) return;
    if (coefficient == 0) {
      if (Mentions(argument, {local_})) return;
      continue;
    }
    if (teller.sign != 0 || (coefficient != 1 && coefficient != -1)) return;
    teller.axis = i - 1;
    teller.sign = coefficient;
  }
  if (teller.sign != 0) tellers_.push_back(std::move(teller));
}

bool Reading::IsTold(const Expr& e) const {
  return std::find(told_->related.begin(), told_->related.end(), &e) != told_->related.end();
}

// At every point that is not related.
bool Reading::IsFalse(const Expr& e) const {
  if (IsNot(e)) return IsTrue(*e.operands[0]);
  if (e.kind != Expr::Kind::kBinary) return IsTold(e);
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
  CollectBrackets(e, predicates);
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

std::optional<Teller> Reading::Run() {
  varying_ = {local_};
  if (!e_.body.result || !IsPlain()) return std::nullopt;
  for (size_t i = binder_; i < e_.binders.size(); ++i) inner_.insert(e_.binders[i].local);
  for (const StmtPtr& s : e_.body.stmts) {
    for (const Target& t : s->targets) inner_.insert(t.local);
  }
  Collect(*e_.body.result);
  for (const Teller& t : tellers_) {
    told_ = &t;
    if (Suffices()) return t;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Teller> FindTeller(Context& c, const Expr& e, size_t binder) {
  return Reading(c, e, binder, /*ahead=*/false).Run();
}

bool ReducesNeighbours(Context& c, const Expr& e) {
  switch (e.comprehension) {
    case Comprehension::kGen:
    case Comprehension::kSum:
    case Comprehension::kOr:
    case Comprehension::kExists: return false;
    default: break;
  }
  for (size_t i = 0; i < e.binders.size(); ++i) {
    if (Reading(c, e, i, /*ahead=*/true).Run()) return true;
  }
  return false;
}

}  // namespace pullback::lang
