#include "core/loops/accesses.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/tensor.h"
#include "core/ir/row_windows.h"

namespace pullback::loops {

using ir::Affine;
using ir::Op;
using ir::Value;

bool Access::IsProven() const {
  return std::all_of(axes.begin(), axes.end(), [](AxisCheck c) {
    return c == AxisCheck::kProven || c == AxisCheck::kChecked;
  });
}

namespace {

// Whether sub takes its least and greatest value over the loops where its terms say, without
// wrapping in between.
bool HasEnds(const AccessContext& c, const Affine& sub) {
  if (!c.space.IsBox() || !c.bounds.HasTameSpread(sub)) return false;
  return std::none_of(sub.terms.begin(), sub.terms.end(),
                      [&](const Affine::Term& t) { return c.body_values.count(t.value) > 0; });
}

// Proofs of what extrema of the body are in, `x[max(0, min(n - 1, i + p - 1))]`: where one of both is enough, or both are.
class ExtremumProofs {
 public:
  ExtremumProofs(const AccessContext& c, const std::vector<Known>& facts) : c_(c), facts_(facts) {}

  // As Bounds::Prove.
  int Prove(const Affine& e, int within = 0) const {
    const int level = c_.bounds.Prove(e, facts_);
    if (level != Bounds::kNever || within == kMostWithin) return level;
    for (const Affine::Term& t : e.terms) {
      const ir::Inst* def = DefinitionOf(t.value);
      if (!def || (def->op != Op::Max && def->op != Op::Min)) continue;
      const auto with = [&](size_t arg) {
        return Prove(e.Substitute(t.value, FormOf(def->args[arg], 0)), within + 1);
      };
      const bool one_is_enough = (def->op == Op::Max) == (t.coeff > 0);
      const int a = with(0), b = with(1);
      return one_is_enough ? std::min(a, b) : std::max(a, b);
    }
    return Bounds::kNever;
  }

 private:
  static constexpr int kMostWithin = 3;

  const ir::Inst* DefinitionOf(Value v) const {
    if (c_.body_values.count(v) == 0) return nullptr;
    const auto& body = c_.each.body;
    const auto def = std::find_if(body.begin(), body.end(), [&](const ir::Inst& inst) {
      return inst.results.size() == 1 && inst.results[0] == v;
    });
    return def == body.end() || def->guard.valid() ? nullptr : &*def;
  }
  // A sum of the body in terms of what it adds; whoever proves something of it knows that nothing wraps.
  Affine FormOf(Value v, int within) const {
    const ir::Inst* def = within < kMostWithin ? DefinitionOf(v) : nullptr;
    const auto arg = [&](size_t k) { return FormOf(def->args[k], within + 1); };
    if (!def) return Affine::Of(v);
    switch (def->op) {
      case Op::Const: return Affine::Const(static_cast<int64_t>(def->bits));
      case Op::AffineOf: return def->subs[0];
      case Op::Add: return arg(0) + arg(1);
      case Op::Sub: return arg(0) - arg(1);
      default: return Affine::Of(v);
    }
  }

  const AccessContext& c_;
  const std::vector<Known>& facts_;
};

}  // namespace

Access PlanAccess(const AccessContext& c, ir::AffineSpan subs, ir::AffineSpan extents,
                  const std::vector<Known>& facts, bool always) {
  Access access;
  const ExtremumProofs proofs(c, facts);
  for (size_t axis = 0; axis < subs.size(); ++axis) {
    const Affine& sub = subs[axis];
    const int low = proofs.Prove(sub);
    const int high = proofs.Prove(extents[axis] - Affine::Const(1) - sub);
    if (low != Bounds::kNever && high != Bounds::kNever) {
      access.axes.push_back(AxisCheck::kProven);
      access.level = std::max({access.level, low, high});
    } else if (always && HasEnds(c, c.space.Resolve(sub))) {
      access.axes.push_back(AxisCheck::kBefore);
    } else {
      access.axes.push_back(AxisCheck::kHere);
    }
  }
  return access;
}

std::optional<Proof> ProofOf(const AccessContext& c, const CheckedAccesses::Axis& axis) {
  std::optional<Proof> found = c.l.checked.Find(axis, c.bounds);
  if (!found) return std::nullopt;
  for (Reg& r : found->turns) r = r.valid() ? c.l.Of(r) : r;
  return found;
}

Proof NewProof(const AccessContext& c) {
  Turns loops;
  for (const SpaceIndex& i : c.space.indices) loops.push_back(i.pinned ? ir::kNoValue : i.var);
  return {c.l.checked.NewToken(), std::move(loops)};
}

void UseEarlierChecks(const AccessContext& c, Access& access, ir::AffineSpan subs,
                      ir::AffineSpan extents, Value guard) {
  if (access.IsProven()) return;
  access.proofs.resize(subs.size());
  for (size_t axis = 0; axis < subs.size(); ++axis) {
    if (access.axes[axis] == AxisCheck::kProven) continue;
    std::optional<Proof> found = ProofOf(c, {&c.each, subs[axis], extents[axis], guard});
    if (!found) {
      access.proofs[axis] = NewProof(c);
      continue;
    }
    access.axes[axis] = AxisCheck::kChecked;
    access.proofs[axis] = *std::move(found);
    access.level = c.space.depth;
  }
}

void LearnChecks(const AccessContext& c, const Access& access, ir::AffineSpan subs,
                 ir::AffineSpan extents, Value guard) {
  for (size_t axis = 0; axis < access.proofs.size(); ++axis) {
    const AxisCheck check = access.axes[axis];
    if (check == AxisCheck::kProven || check == AxisCheck::kChecked) continue;
    c.l.checked.Learn({&c.each, subs[axis], extents[axis], guard}, access.proofs[axis].token);
  }
}

namespace {

// Between constants, as `facts` say of registers.
class Ranges {
 public:
  Ranges(const AccessContext& c, const std::vector<Known>& facts) {
    for (const Known& known : facts) {
      if (!known.given) Note(c.l.Of(known.c.e));
    }
  }
  std::optional<std::pair<int64_t, int64_t>> Of(Reg r) const {
    const auto least = least_.find(r), most = most_.find(r);
    if (least == least_.end() || most == most_.end() || most->second < least->second)
      return std::nullopt;
    return std::pair(least->second, most->second);
  }

 private:
  void Note(const Affine& not_negative) {
    if (not_negative.terms.size() != 1) return;
    const auto& [r, coeff] = not_negative.terms[0];
    const int64_t constant = not_negative.constant;
    if (constant < -kMaxExtent || constant > kMaxExtent) return;
    if (coeff == 1) least_.try_emplace(r, -constant);
    if (coeff == -1) most_.try_emplace(r, constant);
  }
  std::map<Reg, int64_t> least_, most_;
};

Subscript RowOf(const AccessContext& c, const Affine& sub, const Ranges& ranges) {
  const auto constant = [&](Value extent) { return c.l.e.AsI64(c.l.Of(extent)); };
  const auto is_extent = [&](Value extent) { return c.l.IsExtent(extent); };
  const auto range = [&](Value v) { return ranges.Of(c.l.Of(v)); };
  const auto of = [&](Value v) { return v.valid() ? c.l.Of(v) : v; };
  Subscript row{of(sub.AsValue()), {}, {}, {}};
  int level = 0;
  for (const SpaceIndex& i : c.space.indices) {
    if (i.pinned || (row.near.valid() && i.level >= level)) continue;
    const auto window = ir::FindRowWindow(c.each, sub, i.var, {constant, is_extent, range});
    if (!window) continue;
    row = {row.is,        i.var,        of(window->behind), of(window->ahead),
           window->first, window->last, window->step,       window->period};
    level = i.level;
  }
  return row;
}

}  // namespace

Emitter::About AboutAccess(const AccessContext& c, const Access& access, ir::AffineSpan subs,
                           Value guard) {
  Emitter::About about;
  about.proofs = c.remainders;
  const Ranges ranges(c, c.l.sizes.FactsOf(guard));
  for (const Affine& sub : subs) about.rows.push_back(RowOf(c, sub, ranges));
  for (size_t axis = 0; axis < access.proofs.size(); ++axis) {
    if (access.axes[axis] != AxisCheck::kProven) about.proofs.push_back(access.proofs[axis]);
  }
  return about;
}

namespace {

std::vector<Proof> MadeBy(const Access& access, size_t axis) {
  if (access.proofs.empty()) return {};
  return {access.proofs[axis]};
}

class BeforeCheck {
 public:
  BeforeCheck(const AccessContext& c, Affine sub, Reg extent, uint32_t loc,
              std::vector<Proof> proofs)
      : c_(c),
        e_(c.l.e),
        sub_(std::move(sub)),
        extent_(extent),
        loc_(loc),
        proofs_(std::move(proofs)) {}

  void Emit() {
    const Reg least = End(/*greatest=*/false), greatest = End(/*greatest=*/true);
    Reg good = e_.Compare(Op::Ge, least, e_.I64(0));
    good = e_.And(good, e_.Compare(Op::Lt, greatest, extent_));
    // Where the end might have wrapped, it comes out below the start.
    if (!c_.bounds.IsTame(sub_)) good = e_.And(good, e_.Compare(Op::Le, least, greatest));
    if (e_.AsI64(good).value_or(0) != 0) return;
    if (StepsByOne()) {
      e_.Check(good, ir::TrapKind::kIndex, loc_, {FirstBad(least), extent_}, proofs_);
    } else {
      SearchUnless(good);
    }
  }

 private:
  // The subscript with every index where it makes it least or greatest.
  Reg End(bool greatest) {
    Affine end = c_.l.Of(sub_);
    for (const SpaceIndex& i : c_.space.indices) {
      const int64_t coeff = sub_.Coeff(i.var);
      if (coeff == 0) continue;
      const bool last = (coeff > 0) == greatest;
      const Affine at = Affine::Of(c_.l.Of(i.extent)) - Affine::Const(1);
      end = end.Substitute(i.var, last ? at : Affine{});
    }
    return e_.Linear(end);
  }

  // With all coefficients 1 the points in order never skip a value upwards.
  bool StepsByOne() const {
    return std::all_of(sub_.terms.begin(), sub_.terms.end(), [&](const Affine::Term& t) {
      return t.coeff == 1 || !c_.space.Find(t.value);
    });
  }

  // The subscript of the first point that is out of range.
  Reg FirstBad(Reg least) {
    const Reg above = e_.Max(least, extent_);
    if (const auto k = e_.AsI64(least)) return *k < 0 ? least : above;
    const Reg below = e_.Compare(Op::Lt, least, e_.I64(0));
    return e_.Select(below, least, above);
  }

  // Once it is known that some point fails, finds the first one in order.
  void SearchUnless(Reg good) {
    e_.OpenIf(e_.Scalar(Op::Not, {good}, ir::Type::Bool()));
    Affine sub = c_.l.Of(sub_);
    int loops = 0;
    for (const SpaceIndex& i : c_.space.indices) {
      if (sub_.Coeff(i.var) == 0) continue;
      const Reg at = e_.function().NewReg(ir::Type::I64(), e_.function().regs[i.var.id].name);
      e_.OpenFor(e_.I64(0), c_.l.Of(i.extent), at);
      sub = sub.Substitute(i.var, Affine::Of(at));
      ++loops;
    }
    c_.l.CheckIndex(e_.Linear(sub), extent_, loc_, proofs_);
    while (loops-- > 0) e_.CloseFor();
    e_.CloseIf();
  }

  const AccessContext& c_;
  Emitter& e_;
  const Affine sub_;
  const Reg extent_;
  const uint32_t loc_;
  const std::vector<Proof> proofs_;
};

}  // namespace

void CheckBefore(const AccessContext& c, const Access& access, ir::AffineSpan subs,
                 const std::vector<Reg>& extents, uint32_t loc) {
  for (size_t axis = 0; axis < subs.size(); ++axis) {
    if (access.axes[axis] != AxisCheck::kBefore) continue;
    BeforeCheck(c, c.space.Resolve(subs[axis]), extents[axis], loc, MadeBy(access, axis)).Emit();
  }
}

void CheckAxis(const AccessContext& c, const Access& access, size_t axis, ir::AffineSpan subs,
               const std::vector<Reg>& extents, uint32_t loc) {
  c.l.CheckIndex(c.l.e.Linear(c.l.Of(subs[axis])), extents[axis], loc, MadeBy(access, axis));
}

void CheckHere(const AccessContext& c, const Access& access, ir::AffineSpan subs,
               const std::vector<Reg>& extents, uint32_t loc) {
  for (size_t axis = 0; axis < subs.size(); ++axis) {
    if (access.axes[axis] == AxisCheck::kHere) CheckAxis(c, access, axis, subs, extents, loc);
  }
}

}  // namespace pullback::loops
