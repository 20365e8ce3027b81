#include "core/tensor/implied_bounds.h"

#include <algorithm>
#include <utility>

#include "core/analysis/predicate.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Constraint;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int kMostConditions = 8;  // of conditions
constexpr int kMostSums =
    2;  // of what is not affine: three such terms, which are tame, wrap nowhere
constexpr int64_t kMostWork = 200;

void AddHalves(const Constraint& c, std::vector<Constraint>& to) {
  to.push_back({c.e, false});
  if (c.equality) to.push_back({c.e * -1, false});
}

// What holds where the one or the other do: of two bounds of the same terms the wider one.
std::vector<Constraint> Hull(const std::vector<Constraint>& one,
                             const std::vector<Constraint>& other) {
  std::vector<Constraint> hull;
  for (const Constraint& a : one) {
    for (const Constraint& b : other) {
      if (a.e.terms == b.e.terms) hull.push_back(a.e.constant >= b.e.constant ? a : b);
    }
  }
  return hull;
}

}  // namespace

ImpliedBounds::ImpliedBounds(const ir::Each& each, const ir::Function& f, analysis::Box box)
    : each_(each), f_(f), box_(std::move(box)), forms_(each, f) {
  for (const Inst& inst : each.body) {
    forms_.Note(inst);
    for (Value v : inst.results) definitions_[v.id] = &inst;
  }
}

std::vector<Constraint> ImpliedBounds::Of(Value condition) const {
  Constraints all = Find(condition, kMostConditions);
  analysis::Work work{kMostWork};
  std::erase_if(all, [&](const Constraint& c) {
    return !box_.IsTame(c.e) || analysis::ProvesImplied(each_.where, c, box_, work);
  });
  return all;
}

ImpliedBounds::Constraints ImpliedBounds::Find(Value condition, int depth) const {
  const Inst* def = DefinitionOf(condition);
  if (!def || depth == 0) return {};
  Constraints all;
  if (def->op == Op::Holds) {
    for (const Constraint& c : def->constraints) AddHalves(c, all);
  } else if (def->op == Op::And) {
    all = Find(def->args[0], depth - 1);
    const Constraints more = Find(def->args[1], depth - 1);
    all.insert(all.end(), more.begin(), more.end());
  } else if (def->op == Op::Or) {
    all = Hull(Find(def->args[0], depth - 1), Find(def->args[1], depth - 1));
  } else if (def->op == Op::Eq) {
    all = OfOrder(*def, 0, 1, 0);
    const Constraints more = OfOrder(*def, 1, 0, 0);
    all.insert(all.end(), more.begin(), more.end());
  } else if (const auto order = analysis::OrderOf(def->op)) {
    all = OfOrder(*def, order->less, order->more, order->apart);
  } else if (def->op == Op::Not) {
    all = OfNegation(*def, depth);
  }
  return all;
}

// Not a < b is b <= a.
ImpliedBounds::Constraints ImpliedBounds::OfNegation(const Inst& inst, int depth) const {
  const Inst* def = DefinitionOf(inst.args[0]);
  if (!def || (def->guard.valid() && def->guard != inst.guard)) return {};
  if (def->op == Op::Not) return Find(def->args[0], depth - 1);
  const auto order = analysis::OrderOf(def->op);
  return order ? OfOrder(*def, order->more, order->less, 1 - order->apart) : Constraints();
}

// Where args[less] + apart <= args[more].
ImpliedBounds::Constraints ImpliedBounds::OfOrder(const Inst& at, size_t less, size_t more,
                                                  int64_t apart) const {
  if (f_.TypeOf(at.args[0]) != ir::Type::I64()) return {};
  Constraints all;
  const std::vector<Affine> above = Bounds(at.args[more], at.guard, Side::kAbove, kMostSums);
  for (const Affine& a : Bounds(at.args[less], at.guard, Side::kBelow, kMostSums)) {
    for (const Affine& b : above) all.push_back({b - a - Affine::Const(apart), false});
  }
  return all;
}

// Tame forms that v, as read under the guard, is never below, or above.
std::vector<Affine> ImpliedBounds::Bounds(Value v, Value guard, Side side, int sums) const {
  if (const auto form = forms_.FormOf(v, guard))
    return box_.IsTame(*form) ? std::vector{*form} : std::vector<Affine>();
  const Inst* def = DefinitionOf(v);
  if (!def || (def->guard.valid() && def->guard != guard)) return {};
  const bool below = side == Side::kBelow;
  if (def->op == Op::Add) return BoundsOfSum(*def, side, sums);
  if (def->op != (below ? Op::Max : Op::Min) && !(below && def->op == Op::Abs)) return {};
  std::vector<Affine> bounds;
  for (Value arg : def->args) {
    const auto form = forms_.FormOf(arg, guard);
    if (!form || !box_.IsTame(*form)) return {};
    bounds.push_back(*form);
    if (def->op == Op::Abs) bounds.push_back(*form * -1);
  }
  if (def->op == Op::Abs) bounds.push_back(Affine::Const(0));
  return bounds;
}

// Of two extrema that of the one and a number of the other.
std::vector<Affine> ImpliedBounds::BoundsOfSum(const Inst& sum, Side side, int sums) const {
  if (sums == 0) return {};
  const std::vector<Affine> first = Bounds(sum.args[0], sum.guard, side, sums - 1),
                            second = Bounds(sum.args[1], sum.guard, side, 0);
  const bool is_exact = first.size() == 1 || second.size() == 1;
  std::vector<Affine> bounds;
  for (const Affine& a : first) {
    for (const Affine& b : second) {
      if (is_exact || a.IsConst() || b.IsConst()) bounds.push_back(a + b);
    }
  }
  return bounds;
}

const Inst* ImpliedBounds::DefinitionOf(Value v) const {
  const auto it = definitions_.find(v.id);
  return it == definitions_.end() ? nullptr : it->second;
}

}  // namespace pullback::tensor
