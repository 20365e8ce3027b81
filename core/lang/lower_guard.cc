// Guards of bodies: what is evaluated only at some points of a statement.
#include <algorithm>

#include "core/lang/lower_expr.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_tuples.h"

namespace pullback::lang {
namespace {

constexpr int64_t kFar = int64_t{1} << 61;  // beyond all small forms

// A side of a comparison that may be anything: brought near, where it compares the same with every
// small form.
std::optional<Affine> Near(Context& c, const Affine& a) {
  if (IsSmall(c, a)) return a;
  const Value v = a.AsValue();
  if (!v.valid() || c.OwnerOf(v) != 0) return std::nullopt;
  AtBlock block(c);
  const Value low = c.b.Make(Op::Max, {v, c.b.I64(-kFar)});
  return Affine::Of(c.b.Make(Op::Min, {low, c.b.I64(kFar)}));
}

// Forms over values of blocks and index variables can stand in `where`; not those over an index for which a
// body has what it read from a relation.
bool IsClosed(Context& c, const Affine& a) {
  return std::all_of(a.terms.begin(), a.terms.end(), [&](const Affine::Term& t) {
    return c.OwnerOf(t.value) == 0 || (c.IsIndex(t.value) && !IsAdopted(c, t.value));
  });
}

std::optional<Constraint> Comparison(Context& c, BinaryOp op, const Affine& a, const Affine& b) {
  if (op == BinaryOp::kEq) return Constraint{a - b, true};  // exact: both sides wrap alike
  const bool far = !IsSmall(c, a) && !IsSmall(c, b);
  if (far) return std::nullopt;
  PB_TRY(const Affine x, Near(c, a));
  PB_TRY(const Affine y, Near(c, b));
  const Affine one = Affine::Const(1);
  switch (op) {
    case BinaryOp::kLt: return Constraint{y - x - one, false};
    case BinaryOp::kLe: return Constraint{y - x, false};
    case BinaryOp::kGt: return Constraint{x - y - one, false};
    case BinaryOp::kGe: return Constraint{x - y, false};
    default: return std::nullopt;
  }
}

void Apply(Context& c, const Region& region) {
  std::vector<ir::Inst>& body = c.frames[region.frame]->body;
  for (size_t i = region.begin; i < body.size(); ++i) {
    const Op op = body[i].op;
    const bool anywhere = op == Op::Const || op == Op::AffineOf || op == Op::Holds || op == Op::Dim;
    if (!anywhere && !body[i].guard.valid()) body[i].guard = region.guard;
  }
}

}  // namespace

std::optional<std::vector<Constraint>> AffinePredicate(Context& c, const Expr& e) {
  if (e.kind == Expr::Kind::kBool && e.int_value != 0) return std::vector<Constraint>();
  if (e.kind != Expr::Kind::kBinary || e.type.kind != Type::Kind::kScalar) return std::nullopt;
  if (e.binary == BinaryOp::kAnd) {
    PB_TRY(std::vector<Constraint> all, AffinePredicate(c, *e.operands[0]));
    PB_TRY(const std::vector<Constraint> more, AffinePredicate(c, *e.operands[1]));
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  if (e.operands[0]->type != Type::Scalar(DType::kI64)) return std::nullopt;
  PB_TRY(const Affine a, AffineAsIs(c, *e.operands[0]));
  PB_TRY(const Affine b, AffineAsIs(c, *e.operands[1]));
  if (!IsClosed(c, a) || !IsClosed(c, b)) return std::nullopt;
  PB_TRY(const Constraint constraint, Comparison(c, e.binary, a, b));
  return std::vector<Constraint>{constraint};
}

MaybeValue PredicateValue(Context& c, const Expr& predicate) {
  if (const auto constraints = AffinePredicate(c, predicate)) return c.b.Holds(*constraints);
  return LowerScalar(c, predicate);
}

bool AddGuard(Context& c, const Expr& predicate) {
  const auto told = AffinePredicate(c, predicate);
  const bool affine = told && (!c.guard.any || c.guard.affine);
  if (!affine && !AddGuardOf(c, [&] { return LowerScalar(c, predicate); })) return false;
  Guard& g = c.guard;
  if (affine) {
    g.any = g.affine = true;
    g.value = Value();
  }
  if (told) g.constraints.insert(g.constraints.end(), told->begin(), told->end());
  return true;
}

bool AddGuardOf(Context& c, const std::function<MaybeValue()>& lower) {
  MaybeValue v;
  if (c.guard.any) {
    GuardValue(c);
    GuardedRegion region(c, c.guard);
    v = lower();
  } else {
    v = lower();
  }
  if (v) AddGuard(c, *v);
  return v.has_value();
}

void AddGuard(Context& c, Value predicate) {
  Guard g;
  g.any = true;
  g.value = predicate;
  g.constraints = c.guard.constraints;
  if (c.guard.any) {
    g.value = c.b.Make(Op::And, {GuardValue(c), predicate});
  } else if (c.OwnerOf(predicate) != c.frame().id) {
    g.value = c.b.Make(Op::And, {predicate, predicate});  // a guard is a value of its body
  }
  c.guard = std::move(g);
}

Value GuardValue(Context& c) {
  PB_CHECK(c.guard.any);
  if (!c.guard.value.valid()) c.guard.value = c.b.Holds(c.guard.constraints);
  return c.guard.value;
}

GuardedRegion::GuardedRegion(Context& c, Guard outer) : c_(c), outer_(std::move(outer)) {
  PB_CHECK(c.guard.value.valid());
  c.regions.push_back({c.frames.size() - 1, c.frame().body.size(), c.guard.value});
}

GuardedRegion::~GuardedRegion() {
  Apply(c_, c_.regions.back());
  c_.regions.pop_back();
  c_.guard = std::move(outer_);
}

void ApplyGuards(Context& c) {
  for (auto region = c.regions.rbegin(); region != c.regions.rend(); ++region) Apply(c, *region);
}

Value ZeroElsewhere(Context& c, Value v, Value guard) {
  const std::vector<ir::Inst>& body = c.frame().body;
  const bool here = c.OwnerOf(v) == c.frame().id;
  for (auto inst = body.rbegin(); here && inst != body.rend(); ++inst) {
    if (std::find(inst->results.begin(), inst->results.end(), v) == inst->results.end()) continue;
    if (inst->guard == guard) return v;
    break;
  }
  // Under the guard itself, so that passes see an element that is absent and not a 0 that was computed.
  const Value outer = c.b.guard();
  c.b.SetGuard(guard);
  const Value there = c.b.Make(Op::Select, {guard, v, v});
  c.b.SetGuard(outer);
  return there;
}

}  // namespace pullback::lang
