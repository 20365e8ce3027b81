#include "core/loops/bounds.h"

#include <algorithm>
#include <set>

#include "core/analysis/predicate.h"

namespace pullback::loops {

using ir::Affine;
using ir::Value;

namespace {

// Up to here the sum of two, and of one and a coefficient, does not wrap.
constexpr __int128 kSmall = __int128{1} << 61;

__int128 Magnitude(__int128 v) { return v < 0 ? -v : v; }

}  // namespace

bool Bounds::IsSmall(const Interval& i) {
  return Magnitude(i.lo) <= kSmall && Magnitude(i.hi) <= kSmall;
}

// --- what is known

void Bounds::AddExtent(const Affine& form) {
  if (IsExtent(form)) return;
  extents_.push_back(form);
  facts_.push_back({form, 0, false});
}

void Bounds::DeclareIndex(Value var, Value extent) { indices_[var] = sizes_.Form(extent); }

void Bounds::AddIndex(Value var, Value extent, int level) {
  DeclareIndex(var, extent);
  facts_.push_back({Affine::Of(var), level, false});
  facts_.push_back({indices_[var] - Affine::Const(1) - Affine::Of(var), level, false});
  const ir::Inst* def = sizes_.Definition(extent);
  if (def == nullptr || def->op != ir::Op::Min || def->guard.valid()) return;
  for (Value most : def->args)  // blocks of rows: min(16, n - 16 b)
    facts_.push_back({sizes_.Form(most) - Affine::Const(1) - Affine::Of(var), level, false});
}

void Bounds::Substitute(Value var, const Affine& e) { names_[var] = Form(e); }

void Bounds::Normalise(const Fact& fact, std::vector<Fact>& facts) const {
  if (!fact.exact || IsTame(fact.e)) facts.push_back({Form(fact.e), fact.level, fact.exact});
}

void Bounds::AddFact(const Fact& fact) { Normalise(fact, facts_); }

void Bounds::AddKnown(const std::vector<Known>& known, int level) {
  for (const bool given : {false, true}) {
    for (const Known& k : known) {
      if (k.given.has_value() != given || (given && Prove(*k.given) == kNever)) continue;
      AddFact({k.c.e, level, k.exact});
      if (k.c.equality) AddFact({k.c.e * -1, level, k.exact});
    }
  }
}

// --- ranges

Affine Bounds::Form(const Affine& e) const {
  Affine form = sizes_.Form(e);
  for (const auto& [var, name] : names_) {
    if (form.Coeff(var) != 0) form = form.Substitute(var, name);
  }
  return form;
}

bool Bounds::IsExtent(const Affine& form) const {
  return std::find(extents_.begin(), extents_.end(), form) != extents_.end();
}

Bounds::Interval Bounds::RangeOfAtom(Value atom, int deep) const {
  if (const auto it = indices_.find(atom); it != indices_.end()) {
    return {0, std::max<__int128>(RangeOfForm(it->second, deep).hi - 1, 0)};
  }
  const ir::Inst* def = sizes_.Definition(atom);
  const bool extremum = def && (def->op == ir::Op::Min || def->op == ir::Op::Max);
  if (extremum && deep > 0 && !def->guard.valid()) return RangeOfExtremum(*def, deep - 1);
  const analysis::Interval range = sizes_.RangeOf(atom);
  return {range.lo, range.hi};
}

Bounds::Interval Bounds::RangeOfExtremum(const ir::Inst& inst, int deep) const {
  const Interval a = RangeOfForm(Form(Affine::Of(inst.args[0])), deep);
  const Interval b = RangeOfForm(Form(Affine::Of(inst.args[1])), deep);
  if (inst.op == ir::Op::Min) return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
  return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
}

Bounds::Interval Bounds::RangeOfForm(const Affine& form, int deep) const {
  if (IsExtent(form)) return {0, kMaxExtent};
  Interval sum{form.constant, form.constant};
  for (const Affine::Term& t : form.terms) {
    const Interval range =
        IsExtent(Affine::Of(t.value)) ? Interval{0, kMaxExtent} : RangeOfAtom(t.value, deep);
    const __int128 c = t.coeff;
    sum.lo += c * (c > 0 ? range.lo : range.hi);
    sum.hi += c * (c > 0 ? range.hi : range.lo);
    if (!IsSmall(sum)) break;
  }
  const bool plain = form.AsValue().valid();
  return IsSmall(sum) || plain ? sum : Interval{INT64_MIN, INT64_MAX};
}

bool Bounds::IsTame(const Affine& e) const {
  __int128 most = Magnitude(e.constant);
  for (const Affine::Term& t : e.terms) {
    const Interval range = RangeOfForm(Form(Affine::Of(t.value)));
    if (!IsSmall(range) || Magnitude(t.coeff) > kSmall) return false;
    most += Magnitude(t.coeff) * std::max(Magnitude(range.lo), Magnitude(range.hi));
    if (most > kSmall) return false;
  }
  return true;
}

bool Bounds::HasTameSpread(const Affine& e) const {
  __int128 spread = 0;
  for (const Affine::Term& t : e.terms) {
    if (indices_.count(t.value) == 0) continue;
    spread += Magnitude(t.coeff) * RangeOfAtom(t.value).hi;
    if (spread > INT64_MAX) return false;
  }
  return true;
}

// --- proofs

// Every index at the end of its range where that makes the form least; then the least value of the
// atoms that are left. An extent may name indices: what they count for then is what is left of them.
bool Bounds::FollowsFromBox(const Affine& form) const {
  Affine least = form;
  for (const Affine::Term& t : form.terms) {
    const auto it = indices_.find(t.value);
    const int64_t coeff = least.Coeff(t.value);
    if (it == indices_.end() || coeff == 0) continue;
    const Affine end = coeff > 0 ? Affine{} : it->second - Affine::Const(1);
    if (!IsTame(end)) return false;
    least = least.Substitute(t.value, end);
  }
  if (!IsTame(least)) return false;
  __int128 low = least.constant;
  for (const Affine::Term& t : least.terms) {
    const Interval range = RangeOfAtom(t.value);
    low += __int128{t.coeff} * (t.coeff > 0 ? range.lo : range.hi);
  }
  return low >= 0;
}

// e is the integer that its form says where both are small: they agree modulo 2^64.
int Bounds::Prove(const Affine& e, const std::vector<Known>& more) const {
  const Affine form = Form(e);
  if (form.IsConst()) return form.constant >= 0 ? 0 : kNever;
  std::vector<Fact> facts = facts_;
  for (const Known& k : more) {
    Normalise({k.c.e, 0, k.exact}, facts);
    if (k.c.equality) Normalise({k.c.e * -1, 0, k.exact}, facts);
  }
  int level = kNever;
  for (const Fact& fact : facts) {
    if (!fact.exact && fact.e == form) level = std::min(level, fact.level);
  }
  if (level == 0 || !IsTame(e) || !IsTame(form)) return level;
  if (FollowsFromBox(form)) return 0;
  for (const Fact& fact : facts) {
    if (fact.level >= level || !IsTame(fact.e)) continue;
    if (FollowsFromBox(form - fact.e)) level = fact.level;
  }
  return std::min(level, ProveTogether(form, facts, level));
}

namespace {

// Of a question: facts that share values with it, directly or through others.
constexpr size_t kMaxRelevant = 24;
constexpr int64_t kMaxWork = 200;

}  // namespace

// The least level below `below` whose facts, together, leave no point where form < 0.
int Bounds::ProveTogether(const Affine& form, const std::vector<Fact>& facts, int below) const {
  std::vector<const Fact*> relevant;
  std::set<Value> values;
  const auto meet = [&](const Affine& e) {
    for (const Affine::Term& t : e.terms) values.insert(t.value);
  };
  const auto shares = [&](const Affine& e) {
    return std::any_of(e.terms.begin(), e.terms.end(),
                       [&](const Affine::Term& t) { return values.count(t.value) > 0; });
  };
  meet(form);
  for (bool more = true; more && relevant.size() < kMaxRelevant;) {
    more = false;
    for (const Fact& fact : facts) {
      if (fact.level >= below || relevant.size() == kMaxRelevant || !shares(fact.e)) continue;
      if (std::find(relevant.begin(), relevant.end(), &fact) != relevant.end()) continue;
      if (!IsTame(fact.e)) continue;
      relevant.push_back(&fact);
      meet(fact.e);
      more = true;
    }
  }
  if (relevant.size() < 2) return kNever;
  analysis::Box box;
  for (Value v : values) {
    const Interval range = RangeOfAtom(v);
    box.AddValue(v, {static_cast<int64_t>(range.lo), static_cast<int64_t>(range.hi)});
  }
  std::set<int> levels;
  for (const Fact* fact : relevant) levels.insert(fact->level);
  analysis::Work work{kMaxWork};
  for (int level : levels) {
    std::vector<ir::Constraint> constraints{{form * -1 - Affine::Const(1), false}};
    for (const Fact* fact : relevant) {
      if (fact->level <= level) constraints.push_back({fact->e, false});
    }
    if (analysis::ProvesEmpty(constraints, box, work)) return level;
  }
  return kNever;
}

}  // namespace pullback::loops
