// The instructions that make a key, and what is done about those that may trap.
#include <algorithm>

#include "core/lang/lower_expr.h"
#include "core/lang/lower_keys.h"
#include "core/lang/lower_sizes.h"

namespace pullback::lang {
namespace {

using ir::Inst;
using ValueSet = std::unordered_set<uint32_t>;

bool Defines(const Inst& inst, const ValueSet& values) {
  return std::any_of(inst.results.begin(), inst.results.end(),
                     [&](Value v) { return values.count(v.id) != 0; });
}

bool IsDivision(const Context& c, const Inst& inst) {
  return (inst.op == Op::Div || inst.op == Op::Rem) &&
         c.b.TypeOf(inst.results[0]) == ir::Type::I64();
}

enum class Hazard : uint8_t {
  kNone,    // it cannot trap, wherever it is evaluated
  kBeyond,  // it cannot where the indices that are read are in their ranges
  kTraps,   // it may
};

Hazard HazardOf(Context& c, const Inst& inst) {
  if (IsDivision(c, inst)) {
    const Affine divisor = c.AffineFor(inst.args[1]);
    return divisor.IsConst() && divisor.constant != 0 ? Hazard::kNone : Hazard::kTraps;
  }
  if (inst.op == Op::Call) {
    return SurelyReturns(c.module, c.module.sources.at(inst.callee)) ? Hazard::kNone
                                                                     : Hazard::kTraps;
  }
  if (inst.op != Op::Index) return Hazard::kNone;
  const std::vector<Affine>& dims = c.DimsOf(inst.args[0]);
  Hazard hazard = Hazard::kNone;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const Affine& sub = inst.subs[axis];
    const Affine behind = dims[axis] - sub - Affine::Const(1);
    if (!IsNonNegative(c, Least(c, sub)) || !IsNonNegative(c, Least(c, behind))) {
      return Hazard::kTraps;
    }
    const bool read = std::any_of(sub.terms.begin(), sub.terms.end(), [&](const Affine::Term& t) {
      return c.FindBound(t.value) != nullptr;
    });
    if (read) hazard = Hazard::kBeyond;
  }
  return hazard;
}

// It may be evaluated once more. (A key is, once for each point of its sources.)
bool MayRepeat(const Context& c, const Inst& inst) {
  if (inst.op == Op::Index || IsDivision(c, inst)) return true;
  if (inst.op == Op::Call) return c.module.sources.count(inst.callee) != 0;
  return (ir::Info(inst.op).flags & ir::kPure) != 0;
}

// Where the instruction does not trap.
Value InsideOf(Context& c, const Inst& inst) {
  if (IsDivision(c, inst)) return c.b.Make(Op::Ne, {inst.args[1], c.b.I64(0)});
  const std::vector<Affine>& dims = c.DimsOf(inst.args[0]);
  std::vector<Constraint> inside;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    inside.push_back({inst.subs[axis], false});
    inside.push_back({dims[axis] - inst.subs[axis] - Affine::Const(1), false});
  }
  return c.b.Holds(std::move(inside));
}

// Gives what may trap the guard that `guard_of` makes in front of it.
void GuardHazards(Context& c, KeyChain& chain, const std::function<Value(const Inst&)>& guard_of) {
  std::vector<Inst> insts = std::exchange(chain.insts, {});
  c.b.RedirectTo(&chain.insts);
  for (Inst& inst : insts) {
    if (HazardOf(c, inst) != Hazard::kNone) inst.guard = guard_of(inst);
    chain.insts.push_back(std::move(inst));
  }
  c.b.RedirectTo(&c.frame().body);
}

// a, and b; `a` may be none.
Value Both(Context& c, Value a, Value b) { return a.valid() ? c.b.Make(Op::And, {a, b}) : b; }

// Makes the key another one where `good` is false.
void KeepWhere(Context& c, KeyChain& chain, Value good, int64_t other = -1) {
  c.b.RedirectTo(&chain.insts);
  chain.value = c.b.Make(Op::Select, {good, chain.value, c.b.I64(other)});
  c.b.RedirectTo(&c.frame().body);
}

}  // namespace

std::optional<KeyChain> ChainOf(Context& c, Value v, bool guarded) {
  KeyChain chain{{}, v};
  ValueSet needed = {v.id};
  for (size_t f = c.frames.size(); f-- > 0;) {
    const std::vector<Inst>& body = c.frames[f]->body;
    for (size_t i = body.size(); i-- > 0;) {
      if (!Defines(body[i], needed)) continue;
      if (!MayRepeat(c, body[i])) return std::nullopt;
      chain.insts.push_back(body[i]);
      Inst& inst = chain.insts.back();
      const bool keeps = guarded && (chain.insts.size() == 1 || HazardOf(c, inst) != Hazard::kNone);
      if (!keeps) inst.guard = Value();
      ir::ForEachOperand(inst, [&](Value operand) { needed.insert(operand.id); });
    }
  }
  std::reverse(chain.insts.begin(), chain.insts.end());
  return chain;
}

bool MayTrap(Context& c, const KeyChain& chain) {
  return std::any_of(chain.insts.begin(), chain.insts.end(),
                     [&](const Inst& i) { return HazardOf(c, i) == Hazard::kTraps; });
}

bool IsBeyond(Context& c, const KeyChain& chain) {
  return std::any_of(chain.insts.begin(), chain.insts.end(),
                     [&](const Inst& i) { return HazardOf(c, i) == Hazard::kBeyond; });
}

namespace {

// Guards what may trap, so that nothing does. Gives where nothing would; kNoValue: everywhere.
Value GuardAll(Context& c, KeyChain& chain) {
  Value all;
  GuardHazards(c, chain, [&](const Inst& inst) {
    const Value inside = InsideOf(c, inst);
    Value good = inside;
    if (inst.guard.valid()) {
      good = c.b.Make(Op::Or, {c.b.Make(Op::Not, {inst.guard}), inside});
    }
    all = Both(c, all, good);
    return Both(c, inst.guard, inside);
  });
  return all;
}

// What may trap tells whether it does.
bool IsAsked(Context& c, const KeyChain& chain) {
  return std::none_of(chain.insts.begin(), chain.insts.end(), [&](const Inst& i) {
    return i.op == Op::Call && HazardOf(c, i) != Hazard::kNone;
  });
}

}  // namespace

Value KeepInside(Context& c, KeyChain& chain) {
  Value all = GuardAll(c, chain);
  if (!all.valid()) {
    c.b.RedirectTo(&chain.insts);
    all = c.b.Bool(true);
    c.b.RedirectTo(&c.frame().body);
  }
  KeepWhere(c, chain, all);
  return all;
}

bool KeepOpen(Context& c, KeyChain& chain) {
  if (!IsAsked(c, chain)) return false;
  const Value there = std::exchange(chain.insts.back().guard, Value());
  const Value all = GuardAll(c, chain);
  if (there.valid()) KeepWhere(c, chain, there);
  if (all.valid()) KeepWhere(c, chain, all, kOpenKey);
  return true;
}

bool OpenWhere(Context& c, KeyChain& chain) {
  if (!IsAsked(c, chain)) return false;
  const Value all = GuardAll(c, chain);
  c.b.RedirectTo(&chain.insts);
  Value holds = chain.value;
  if (all.valid()) holds = c.b.Make(Op::Or, {holds, c.b.Make(Op::Not, {all})});
  chain.value = c.b.Make(Op::Select, {holds, c.b.I64(kOpenKey), c.b.I64(0)});
  c.b.RedirectTo(&c.frame().body);
  return true;
}

void TrapOnlyWhere(Context& c, KeyChain& chain, const std::vector<Constraint>& reached) {
  const Value there = std::exchange(chain.insts.back().guard, Value());
  std::vector<Inst> insts = std::exchange(chain.insts, {});
  c.b.RedirectTo(&chain.insts);
  const Value here = c.b.Holds(reached);
  std::move(insts.begin(), insts.end(), std::back_inserter(chain.insts));
  GuardHazards(c, chain, [&](const Inst& inst) { return Both(c, inst.guard, here); });
  c.b.RedirectTo(&chain.insts);
  const Value evaluated = Both(c, there, here);
  KeepWhere(c, chain, evaluated);
}

void Rename(Context& c, KeyChain& chain) {
  std::unordered_map<uint32_t, Value> renaming;
  for (Inst& inst : chain.insts) {
    ir::ForEachOperand(inst, [&](Value& operand) {
      const auto it = renaming.find(operand.id);
      if (it != renaming.end()) operand = it->second;
    });
    ir::CanonicaliseAffines(inst);
    for (Value& result : inst.results) {
      const Value fresh = c.function.NewValue(c.b.TypeOf(result));
      renaming[result.id] = fresh;
      result = fresh;
    }
  }
  chain.value = renaming.at(chain.value.id);
}

std::vector<Value> AtOnePoint(Context& c, const std::vector<Inst>& insts,
                              const std::vector<Value>& values) {
  AtBlock block(c);
  c.b.BeginEach({c.b.I64(1)});
  for (const Inst& inst : insts) {
    Inst copy = inst;
    c.b.Append(std::move(copy));
  }
  std::vector<ir::EachResult> results;
  for (Value v : values) {
    results.emplace_back();
    results.back().monoid = ir::Monoid::kSum;
    results.back().value = v;
  }
  return c.b.EndEach(std::move(results));
}

CheckedKey LowerCheckedKey(Context& c, const Expr& e) {
  if (IsKey(c, e)) return {*LowerInt(c, e), Value()};
  c.OpenFrame();
  KeyChain chain = *ChainOf(c, *LowerScalar(c, e), /*guarded=*/true);
  const Value good = KeepInside(c, chain);
  c.b.RedirectTo(&chain.insts);
  const Value number = c.b.Cast(good, DType::kI64);
  c.CloseFrame();
  const std::vector<Value> made = AtOnePoint(c, chain.insts, {chain.value, number});
  return {Affine::Of(made[0]), c.b.Make(Op::Ne, {made[1], c.b.I64(0)})};
}

}  // namespace pullback::lang
