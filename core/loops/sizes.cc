#include "core/loops/sizes.h"

#include <algorithm>

#include "core/ir/comparisons.h"

namespace pullback::loops {

using ir::Affine;
using ir::Op;
using ir::Value;

namespace {

// Beyond these something is not looked at: nothing may take long because of what a client sent.
constexpr size_t kMaxTerms = 8;
constexpr size_t kMaxImplied = 64;
constexpr size_t kMaxPassed = 128;

}  // namespace

Sizes::Sizes(const ir::Function& f)
    : f_(f), forms_(f.values.size()), definitions_(f.values.size()), arrays_(f.values.size()) {}

// --- forms

Affine Sizes::Describe(const ir::Inst& inst) {
  const auto arg = [&](size_t i) { return Form(inst.args[i]); };
  switch (inst.op) {
    case Op::Const: return Affine::Const(static_cast<int64_t>(inst.bits));
    case Op::AffineOf: return Form(inst.subs[0]);
    case Op::Add: return arg(0) + arg(1);
    case Op::Sub: return arg(0) - arg(1);
    case Op::Neg: return arg(0) * -1;
    case Op::Mul: {
      const Affine x = arg(0), y = arg(1);
      if (x.IsConst()) return y * x.constant;
      if (y.IsConst()) return x * y.constant;
      break;
    }
    case Op::Dim: return Extent(inst.args[0], static_cast<int>(inst.bits));
    default: break;
  }
  return Affine::Of(inst.results[0]);
}

void Sizes::Define(const ir::Inst& inst) {
  for (Value v : inst.results) definitions_[v.id] = &inst;
  if (inst.results.size() != 1 || inst.guard.valid()) return;
  const Value v = inst.results[0];
  if (f_.TypeOf(v) != ir::Type::I64()) return;
  if (inst.op == Op::Div || inst.op == Op::Rem) DefineQuotient(inst);
  Affine form = Describe(inst);
  if (form.terms.size() <= kMaxTerms) forms_[v.id] = {true, std::move(form)};
}

// m / k and m % k for a constant k > 0, of m >= 0: k * q <= m < k * q + k.
void Sizes::DefineQuotient(const ir::Inst& inst) {
  const Affine m = Form(inst.args[0]), by = Form(inst.args[1]);
  const analysis::Interval range = RangeOf(m);
  if (!by.IsConst() || by.constant <= 0 || range.lo < 0 || range.hi > 2 * kMaxExtent) return;
  const Value v = inst.results[0];
  const Affine &k = by, result = Affine::Of(v), one = Affine::Const(1);
  if (inst.op == Op::Div) {
    ranges_[v] = {0, range.hi / by.constant};
    Learn({{m - result * by.constant, false}, true});
    Learn({{result * by.constant + k - one - m, false}, true});
  } else {
    ranges_[v] = {0, std::min(range.hi, by.constant - 1)};
    Learn({{m - result, false}, true});
  }
}

analysis::Interval Sizes::RangeOf(Value atom) const {
  if (IsExtent(atom)) return {0, kMaxExtent};
  const auto it = ranges_.find(atom);
  return it == ranges_.end() ? analysis::Interval{} : it->second;
}

analysis::Interval Sizes::RangeOf(const Affine& form) const {
  analysis::Box box;
  for (const Affine::Term& t : form.terms) box.AddValue(t.value, RangeOf(t.value));
  const std::optional<analysis::Interval> range = box.RangeOf(form);
  if (range) return *range;
  const Value atom = form.AsValue();
  return atom.valid() ? RangeOf(atom) : analysis::Interval{};
}

const ir::Inst* Sizes::Definition(Value v) const {
  return v.id < definitions_.size() ? definitions_[v.id] : nullptr;
}

Affine Sizes::Reduce(Affine form) const {
  if (equal_.empty()) return form;
  for (const Affine::Term& t : Affine::Terms(form.terms)) {
    const auto it = equal_.find(t.value);
    if (it != equal_.end()) form = form.Substitute(t.value, it->second);
  }
  return form;
}

Affine Sizes::Form(const Affine& a) const {
  Affine form = Affine::Const(a.constant);
  for (const Affine::Term& t : a.terms) {
    const bool known = t.value.id < forms_.size() && forms_[t.value.id].known;
    form = form + (known ? forms_[t.value.id].form : Affine::Of(t.value)) * t.coeff;
  }
  return Reduce(std::move(form));
}

// --- arrays

Value Sizes::Root(Value array) const {
  const Value root = arrays_[array.id].root;
  return root.valid() ? root : array;
}

Affine Sizes::Extent(Value array, int axis) {
  const std::vector<Value>& shape = Shape(array);
  if (!shape.empty()) return Form(shape[static_cast<size_t>(axis)]);
  const Value next{kFirstExtent + static_cast<uint32_t>(extents_.size())};
  return Reduce(Affine::Of(extents_.try_emplace({Root(array), axis}, next).first->second));
}

// --- conditions

// The condition and everything that it is a conjunction of. A guarded bool is false where its guard
// is.
const std::vector<Value>& Sizes::Implied(Value condition) const {
  std::vector<Value>& all = implied_[condition];
  if (!all.empty()) return all;
  all.push_back(condition);
  const auto add = [&](Value v) {
    const bool seen = std::find(all.begin(), all.end(), v) != all.end();
    if (v.valid() && !seen && all.size() < kMaxImplied) all.push_back(v);
  };
  for (size_t i = 0; i < all.size(); ++i) {
    const ir::Inst* inst = Definition(all[i]);
    if (!inst) continue;
    add(inst->guard);
    if (inst->op == Op::And) add(inst->args[0]), add(inst->args[1]);
  }
  return all;
}

bool Sizes::Implies(Value strong, Value weak) const {
  if (strong == weak || !weak.valid()) return true;
  if (!strong.valid()) return false;
  const std::vector<Value>& all = Implied(strong);
  return std::find(all.begin(), all.end(), weak) != all.end();
}

namespace {

Affine Difference(Value a, Value b, int64_t less) {
  return Affine::Of(a) - Affine::Of(b) - Affine::Const(less);
}

void AddComparison(Op op, Value a, Value b, std::vector<Known>& facts) {
  switch (op) {
    case Op::Eq: facts.push_back({{Difference(a, b, 0), true}, false}); break;
    case Op::Ge: facts.push_back({{Difference(a, b, 0), false}, true}); break;
    case Op::Le: facts.push_back({{Difference(b, a, 0), false}, true}); break;
    case Op::Gt: facts.push_back({{Difference(a, b, 1), false}, true}); break;
    case Op::Lt: facts.push_back({{Difference(b, a, 1), false}, true}); break;
    default: break;
  }
}

}  // namespace

std::vector<Known> Sizes::FactsOf(Value condition) const {
  std::vector<Known> facts;
  if (!condition.valid()) return facts;
  for (Value v : Implied(condition)) {
    const ir::Inst* inst = Definition(v);
    if (!inst) continue;
    if (inst->op == Op::Holds) {
      for (const ir::Constraint& c : inst->constraints) facts.push_back({c, false});
    }
    const bool compares = ir::Info(inst->op).rule == ir::TypeRule::Cmp;
    if (!compares || f_.TypeOf(inst->args[0]) != ir::Type::I64()) continue;
    AddComparison(inst->op, inst->args[0], inst->args[1], facts);
  }
  return facts;
}

// --- checks

void Sizes::EnterBlock(uint32_t block, const Dominates& dominates) {
  block_ = block;
  ++version_;
  passed_.clear();
  equal_.clear();
  for (const CheckIn& check : checks_) {
    if (dominates(check.block, block)) Use(check.known);
  }
}

void Sizes::Passed(Value condition) {
  for (Known& known : FactsOf(condition)) Learn(std::move(known));
}

void Sizes::Failed(Value condition) {
  const ir::Inst* inst = condition.valid() ? Definition(condition) : nullptr;
  if (!inst || ir::Info(inst->op).rule != ir::TypeRule::Cmp) return;
  if (f_.TypeOf(inst->args[0]) != ir::Type::I64()) return;
  std::vector<Known> facts;
  AddComparison(*ir::Negated(inst->op), inst->args[0], inst->args[1], facts);
  for (Known& known : facts) Learn(std::move(known));
}

void Sizes::Learn(Known known) {
  if (checks_.size() >= kMaxPassed) return;
  Use(known);
  checks_.push_back({block_, std::move(known)});
}

void Sizes::Use(const Known& known) {
  ++version_;
  passed_.push_back(known);
  if (known.c.equality && !known.given) Equate(Form(known.c.e));
}

// One atom of the form becomes a form of the others; better a value of unknown size than an extent.
void Sizes::Equate(const Affine& zero) {
  Value atom = ir::kNoValue;
  int64_t coeff = 0;
  for (const Affine::Term& t : zero.terms) {
    if (t.coeff != 1 && t.coeff != -1) continue;
    if (atom.valid() && IsExtent(t.value) && !IsExtent(atom)) continue;
    atom = t.value;
    coeff = t.coeff;
  }
  if (!atom.valid()) return;
  const Affine form = zero.Substitute(atom, Affine{}) * -coeff;
  for (auto& [other, is] : equal_) is = is.Substitute(atom, form);
  equal_.emplace(atom, form);
}

}  // namespace pullback::loops
