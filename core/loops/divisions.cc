#include "core/loops/divisions.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace pullback::loops {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

bool DividesIntegers(const Inst& inst, const ir::Function& f) {
  return (inst.op == Op::Div || inst.op == Op::Rem) && ir::MayTrap(inst, f);
}

}  // namespace

// --- planning

// The least number of open loops at which it is not 0 for sure, as the size of an axis that one of them runs along; kNever.
int Divisions::LevelNotZero(Value divisor, const Bounds& bounds) const {
  const Inst* def = c_.l.sizes.Definition(divisor);
  if (def && def->guard.valid()) return Bounds::kNever;  // 0 where that does not hold
  if (def && def->op == Op::Const) return def->bits != 0 ? 0 : Bounds::kNever;
  return bounds.Prove(Affine::Of(divisor) - Affine::Const(1));
}

void Divisions::Plan(Bounds& bounds, std::vector<Proof>& remainders) {
  for (const Inst& inst : c_.each.body) {
    if (!DividesIntegers(inst, c_.l.f)) continue;
    const int level = LevelNotZero(inst.args[1], bounds);
    if (level == 0) continue;
    const Division made = level == Bounds::kNever ? PlanOf(inst) : Division{Check::kProven, {}};
    const Division& plan = plans_.emplace(&inst, made).first->second;
    order_.push_back(&inst);
    const auto is_never_negative = [&](Value v) {
      return bounds.Prove(Affine::Of(v)) != Bounds::kNever;
    };
    // Checks at the point come behind what is read in front of them.
    const bool known = inst.op == Op::Rem && !inst.guard.valid() && plan.check != Check::kHere &&
                       IsOutside(inst.args[1]);
    if (!known || !is_never_negative(inst.args[0]) || !is_never_negative(inst.args[1])) continue;
    bounds.AddIndex(inst.results[0], inst.args[1], c_.space.depth);
    if (plan.check != Check::kProven) remainders.push_back(plan.proof);
  }
}

bool Divisions::IsOutside(Value divisor) const {
  return c_.body_values.count(divisor) == 0 && !c_.space.Find(divisor);
}

Divisions::Division Divisions::PlanOf(const Inst& inst) const {
  const Value divisor = inst.args[1];
  if (IsOutside(divisor) && !inst.guard.valid() && c_.space.IsBox())
    return {Check::kBefore, NewProof(c_)};
  if (std::optional<Proof> found = ProofOf(c_, AxisOf(inst)))
    return {Check::kEarlier, *std::move(found)};
  return {Check::kHere, NewProof(c_)};
}

CheckedAccesses::Axis Divisions::AxisOf(const Inst& inst) const {
  return {&c_.each, Affine::Of(inst.args[1]), std::nullopt, inst.guard};
}

bool Divisions::HasChecksBefore() const {
  return std::any_of(plans_.begin(), plans_.end(),
                     [](const auto& p) { return p.second.check == Check::kBefore; });
}

bool Divisions::ChecksAt(const Inst& inst) const {
  const auto plan = plans_.find(&inst);
  return plan != plans_.end() && plan->second.check == Check::kHere;
}

// --- emission

void Divisions::CheckBefore(const Inst& inst) const {
  const auto plan = plans_.find(&inst);
  if (plan == plans_.end() || plan->second.check != Check::kBefore) return;
  c_.l.CheckDivisor(c_.l.Of(inst.args[1]), inst.loc, {plan->second.proof});
}

void Divisions::Emit(const Inst& inst, Reg into) const {
  Node node;
  node.op = inst.op;
  node.args = c_.l.Of(inst.args);
  node.results = {into};
  node.proofs = c_.remainders;
  if (const auto plan = plans_.find(&inst); plan != plans_.end()) {
    const auto& [check, proof] = plan->second;
    if (check == Check::kHere) c_.l.CheckDivisor(node.args[1], inst.loc, {proof});
    if (check != Check::kProven) node.proofs.push_back(proof);
  }
  c_.l.e.Append(std::move(node));
}

void Divisions::LearnChecks() const {
  for (const Inst* inst : order_) {
    const auto& [check, proof] = plans_.at(inst);
    if (check == Check::kBefore || check == Check::kHere)
      c_.l.checked.Learn(AxisOf(*inst), proof.token);
  }
}

}  // namespace pullback::loops
