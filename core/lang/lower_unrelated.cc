// What a comprehension's body is at the points of a binder that no teller relates.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <unordered_map>

#include "core/lang/lower_expr.h"
#include "core/lang/lower_neighbours.h"
#include "core/lang/lower_relation.h"
#include "core/lang/lower_source.h"

namespace pullback::lang {
namespace {

class Unrelated {
 public:
  Unrelated(Context& c, const Expr& e, uint32_t local, const std::vector<const Teller*>& told)
      : c_(c), e_(e), told_(told), varying_({local}) {}
  bool Suffices();

 private:
  bool Varies(const Expr& e) const { return Mentions(e, varying_); }
  bool IsSame(const Expr& e);
  bool IsNumberThere(const Expr& e, bool one);
  bool IsChosen(const Expr& e, const std::function<bool(const Expr&)>& is_good);
  bool AddLets(const Block& block);
  bool IsTold(const Expr& e) const;
  bool IsFalse(const Expr& e);
  bool IsTrue(const Expr& e);
  bool IsZeroChain(const Expr& e);
  std::optional<bool> Compared(const Expr& e);
  std::optional<double> NumberThere(const Expr& e);
  std::optional<double> FindNumber(const Expr& e);

  Context& c_;
  const Expr& e_;
  const std::vector<const Teller*>& told_;
  std::set<uint32_t> varying_;                      // what differs between the points
  std::unordered_map<uint32_t, const Expr*> lets_;  // what names stand for
  std::unordered_map<const Expr*, std::optional<double>> numbers_;  // found, or that there is none
};

bool Unrelated::IsTold(const Expr& e) const {
  return std::any_of(told_.begin(), told_.end(), [&](const Teller* t) {
    return std::find(t->related.begin(), t->related.end(), &e) != t->related.end();
  });
}

// At every point that is not related.
bool Unrelated::IsFalse(const Expr& e) {
  if (IsTold(e)) return true;
  if (IsNot(e)) return IsTrue(*e.operands[0]);
  if (e.kind != Expr::Kind::kBinary) return false;
  if (e.binary == BinaryOp::kAnd) return IsFalse(*e.operands[0]) || IsFalse(*e.operands[1]);
  if (e.binary == BinaryOp::kOr) return IsFalse(*e.operands[0]) && IsFalse(*e.operands[1]);
  return Compared(e) == false;
}

bool Unrelated::IsTrue(const Expr& e) {
  if (IsNot(e)) return IsFalse(*e.operands[0]);
  if (e.kind != Expr::Kind::kBinary) return false;
  if (e.binary == BinaryOp::kOr) return IsTrue(*e.operands[0]) || IsTrue(*e.operands[1]);
  if (e.binary == BinaryOp::kAnd) return IsTrue(*e.operands[0]) && IsTrue(*e.operands[1]);
  return Compared(e) == true;
}

bool Unrelated::IsZeroChain(const Expr& e) {
  if (!IsChain(e)) return false;
  std::vector<const Expr*> predicates;
  CollectBrackets(c_, e, predicates);
  return std::any_of(predicates.begin(), predicates.end(),
                     [&](const Expr* p) { return IsFalse(*p); });
}

// Of two numbers.
std::optional<bool> Unrelated::Compared(const Expr& e) {
  if (e.kind != Expr::Kind::kBinary || e.binary < BinaryOp::kEq || e.binary > BinaryOp::kGe)
    return std::nullopt;
  const std::optional<double> a = NumberThere(*e.operands[0]), b = NumberThere(*e.operands[1]);
  if (!a || !b) return std::nullopt;
  switch (e.binary) {
    case BinaryOp::kEq: return *a == *b;
    case BinaryOp::kNe: return *a != *b;
    case BinaryOp::kLt: return *a < *b;
    case BinaryOp::kLe: return *a <= *b;
    case BinaryOp::kGt: return *a > *b;
    default: return *a >= *b;
  }
}

// A sum, difference or product of small integers, which all types have, and of brackets; which it is there.
std::optional<double> Unrelated::NumberThere(const Expr& e) {
  if (const auto known = numbers_.find(&e); known != numbers_.end()) return known->second;
  const std::optional<double> v = FindNumber(e);
  numbers_[&e] = v;
  return v;
}

std::optional<double> Unrelated::FindNumber(const Expr& e) {
  constexpr double kLargest = 1 << 20;
  if (e.kind == Expr::Kind::kName) {
    const auto let = lets_.find(e.local);
    return let == lets_.end() ? std::nullopt : NumberThere(*let->second);
  }
  if (e.type.kind != Type::Kind::kScalar || e.type.elem == DType::kBool) return std::nullopt;
  if (IsZeroChain(e)) return 0.0;
  const auto part = [&](size_t k) { return NumberThere(*e.operands[k]); };
  std::optional<double> v;
  switch (e.kind) {
    case Expr::Kind::kInt: v = static_cast<double>(e.int_value); break;
    case Expr::Kind::kFloat: v = e.float_value; break;
    case Expr::Kind::kCast: v = part(0); break;
    case Expr::Kind::kIverson:
      if (IsTrue(*e.operands[0])) v = 1.0;
      break;
    case Expr::Kind::kUnary:
      v = part(0);
      if (v) v = -*v;
      break;
    case Expr::Kind::kBinary: {
      const std::optional<double> a = part(0), b = a ? part(1) : std::nullopt;
      if (!b) break;
      if (e.binary == BinaryOp::kAdd) v = *a + *b;
      if (e.binary == BinaryOp::kSub) v = *a - *b;
      if (e.binary == BinaryOp::kMul) v = *a * *b;
      break;
    }
    default: break;
  }
  const bool small = v && std::trunc(*v) == *v && std::abs(*v) <= kLargest;
  return small && !(*v == 0 && std::signbit(*v)) ? v : std::nullopt;
}

// Those whose values differ vary. False: the block does more than bind names.
bool Unrelated::AddLets(const Block& block) {
  for (const StmtPtr& s : block.stmts) {
    if (s->kind != Stmt::Kind::kLet || s->annotation) return false;
    if (s->targets.size() == 1) lets_[s->targets[0].local] = s->value.get();
    if (IsSame(*s->value)) continue;
    for (const Target& t : s->targets) varying_.insert(t.local);
  }
  return block.result != nullptr;
}

// One arm of an `if` is taken at all points that are not related, and whichever it is, its value is as asked.
bool Unrelated::IsChosen(const Expr& e, const std::function<bool(const Expr&)>& is_good) {
  for (const CondArm& arm : e.arms) {
    if (arm.cond && IsFalse(*arm.cond)) continue;
    const bool taken = !arm.cond || IsTrue(*arm.cond);
    if (!taken && !IsSame(*arm.cond)) return false;
    if (!AddLets(arm.body) || !is_good(*arm.body.result)) return false;
    if (taken) return true;
  }
  return false;
}

// It has one value at all points that are not related.
bool Unrelated::IsSame(const Expr& e) {
  if (!Varies(e) || IsFalse(e) || IsTrue(e) || IsZeroChain(e)) return true;
  switch (e.kind) {
    case Expr::Kind::kIf: return IsChosen(e, [&](const Expr& v) { return IsSame(v); });
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
bool Unrelated::IsNumberThere(const Expr& e, bool one) {
  if (IsZeroChain(e)) return true;
  if (const std::optional<double> v = NumberThere(e)) return *v == 0 || (one && *v == 1);
  if (e.kind == Expr::Kind::kIf) {
    return IsChosen(e, [&](const Expr& v) { return IsNumberThere(v, one); });
  }
  if (e.kind == Expr::Kind::kName) {
    const auto let = lets_.find(e.local);
    return let != lets_.end() && IsNumberThere(*let->second, one);  // of several parts
  }
  const bool parts = e.kind == Expr::Kind::kTuple || e.kind == Expr::Kind::kConstruct;
  return parts && std::all_of(e.operands.begin(), e.operands.end(),
                              [&](const ExprPtr& part) { return IsNumberThere(*part, one); });
}

bool Unrelated::Suffices() {
  if (!AddLets(e_.body)) return false;
  const Expr& result = *e_.body.result;
  switch (e_.comprehension) {
    case Comprehension::kGen:  // the others stay 0
    case Comprehension::kSum: return IsNumberThere(result, false);
    case Comprehension::kProd: return IsNumberThere(result, true);
    default: return IsSame(result);
  }
}

}  // namespace

bool OneStandsForAll(Context& c, const Expr& e, uint32_t local,
                     const std::vector<const Teller*>& told) {
  return Unrelated(c, e, local, told).Suffices();
}

}  // namespace pullback::lang
