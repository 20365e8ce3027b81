#include "core/loops/checked_accesses.h"

#include <algorithm>
#include <utility>

namespace pullback::loops {
namespace {

using ir::Affine;
using ir::Each;
using ir::Inst;
using ir::Value;

constexpr size_t kMostOfOneKey = 16;
constexpr int kMostSteps = 200;  // of one match, and of one key

// Indices that run as far as no constant says.
int64_t CountSizes(const Each& each, const Sizes& sizes) {
  return std::count_if(each.indices.begin(), each.indices.end(), [&](const ir::IndexVar& i) {
    const Inst* def = sizes.Definition(i.extent);
    return !def || def->op != ir::Op::Const;
  });
}

bool IsIndex(const Each& each, Value v) {
  return std::any_of(each.indices.begin(), each.indices.end(),
                     [&](const ir::IndexVar& i) { return i.var == v; });
}

// Where the body of `each` defines `v`.
const Inst* DefinitionIn(const Each& each, Value v, const Sizes& sizes) {
  const Inst* def = sizes.Definition(v);
  const bool inside = !each.body.empty() && def >= &each.body.front() && def <= &each.body.back();
  return inside ? def : nullptr;
}

// Equal for accesses that may match: which instructions, on which values from outside.
class Key {
 public:
  Key(const Each& each, const Sizes& sizes) : each_(each), sizes_(sizes) {}

  std::string Of(const Affine& a) {
    std::vector<std::string> parts;
    for (const Affine::Term& t : a.terms) {
      if (const Inst* def = DefinitionIn(each_, t.value, sizes_)) parts.push_back(Of(*def));
    }
    std::sort(parts.begin(), parts.end());
    std::string all;
    for (const std::string& part : parts) all += part + ",";
    return all;
  }

 private:
  std::string Of(const Inst& inst) {
    if (++steps_ > kMostSteps) return "?";
    std::string text = std::to_string(static_cast<int>(inst.op)) + "(";
    for (Value v : inst.args) {
      const Inst* def = DefinitionIn(each_, v, sizes_);
      const bool outside = !def && !IsIndex(each_, v);
      text += def ? Of(*def) : outside ? "v" + std::to_string(v.id) : "i";
      text += ",";
    }
    for (const Affine& sub : inst.subs) text += Of(sub) + ";";
    return text + ")";
  }

  const Each& each_;
  const Sizes& sizes_;
  int steps_ = 0;
};

// Indices of `a`, in terms of what the points of `b` know.
class Matching {
 public:
  Matching(const ir::Function& f, const Each& a, const Each& b, const Sizes& sizes,
           const Bounds& bounds)
      : f_(f), a_(a), b_(b), sizes_(sizes), bounds_(bounds) {}

  bool MatchGuards(Value a, Value b) {
    if (!a.valid() || a == b) return true;  // made at every point, or a guard from outside
    return b.valid() && Match(a, b);
  }
  bool Match(const Affine& a, const Affine& b);
  // The indices that nothing tells are free: any point of them will do.
  bool PlaceTheRest();
  Turns Places() const {
    Turns turns;
    for (const ir::IndexVar& i : a_.indices) turns.push_back(places_.at(i.var).AsValue());
    return turns;
  }

 private:
  bool Match(Value a, Value b);
  bool Match(const Inst& a, const Inst& b);
  bool TakeTerm(Value a, int64_t coeff, const Affine& b, Affine& rest);
  bool IsNever(const Affine& e) const { return bounds_.Prove(e) == Bounds::kNever; }
  Affine Placed(Affine e) const {
    for (const auto& [var, place] : places_) e = e.Substitute(var, place);
    return e;
  }
  Affine AnyPlace(size_t index) const;

  const ir::Function& f_;
  const Each &a_, &b_;
  const Sizes& sizes_;
  const Bounds& bounds_;
  std::map<Value, Affine> places_;
  int steps_ = 0;
};

bool Matching::Match(Value a, Value b) {
  if (++steps_ > kMostSteps) return false;
  const Inst *in_a = DefinitionIn(a_, a, sizes_), *in_b = DefinitionIn(b_, b, sizes_);
  if (in_a && in_b) return Match(*in_a, *in_b);
  if (in_a || in_b) return false;
  return a == b ? !IsIndex(a_, a) : Match(Affine::Of(a), Affine::Of(b));
}

bool Matching::Match(const Inst& a, const Inst& b) {
  const bool alike = a.op == b.op && a.bits == b.bits && a.args.size() == b.args.size() &&
                     a.subs.size() == b.subs.size() && a.results.size() == 1 &&
                     b.results.size() == 1 && a.constraints.empty() && b.constraints.empty() &&
                     a.guard.valid() == b.guard.valid() && !ir::HasCallee(a.op) &&
                     f_.TypeOf(a.results[0]) == f_.TypeOf(b.results[0]);  // which a cast goes by
  if (!alike || !MatchGuards(a.guard, b.guard)) return false;
  for (size_t k = 0; k < a.args.size(); ++k) {
    if (!Match(a.args[k], b.args[k])) return false;
  }
  for (size_t k = 0; k < a.subs.size(); ++k) {
    if (!Match(a.subs[k], b.subs[k])) return false;
  }
  return true;
}

// A term of b for this one of a, a value of the body.
bool Matching::TakeTerm(Value a, int64_t coeff, const Affine& b, Affine& rest) {
  for (const Affine::Term& t : b.terms) {
    if (t.coeff != coeff || rest.Coeff(t.value) != coeff || !DefinitionIn(b_, t.value, sizes_))
      continue;
    const std::map<Value, Affine> before = places_;
    if (Match(a, t.value)) {
      rest = rest - Affine::Of(t.value) * coeff;
      return true;
    }
    places_ = before;
  }
  return false;
}

// One index without a place may be left; it gets the one that makes both equal.
bool Matching::Match(const Affine& a, const Affine& b) {
  Affine rest = b - Affine::Const(a.constant);
  Value open;
  int64_t coeff = 0;
  for (const Affine::Term& t : a.terms) {
    if (DefinitionIn(a_, t.value, sizes_)) {
      if (!TakeTerm(t.value, t.coeff, b, rest)) return false;
    } else if (!IsIndex(a_, t.value)) {
      rest = rest - Affine::Of(t.value) * t.coeff;
    } else if (const auto place = places_.find(t.value); place != places_.end()) {
      rest = rest - place->second * t.coeff;
    } else if (open.valid()) {
      return false;
    } else {
      open = t.value;
      coeff = t.coeff;
    }
  }
  if (!open.valid()) {
    const Affine form = bounds_.Form(rest);
    return form.IsConst() && form.constant == 0;
  }
  if (coeff != 1 && coeff != -1) return false;
  places_[open] = rest * coeff;
  return true;
}

// The index of b at the same position, or another one, that runs as far; else the first point, where there is one.
Affine Matching::AnyPlace(size_t index) const {
  const Affine extent = bounds_.Form(Affine::Of(a_.indices[index].extent));
  const auto fits = [&](const ir::IndexVar& i) {
    return bounds_.Form(Affine::Of(i.extent)) == extent;
  };
  if (index < b_.indices.size() && fits(b_.indices[index]))
    return Affine::Of(b_.indices[index].var);
  const auto other = std::find_if(b_.indices.begin(), b_.indices.end(), fits);
  return other == b_.indices.end() ? Affine{} : Affine::Of(other->var);
}

bool Matching::PlaceTheRest() {
  for (size_t k = 0; k < a_.indices.size(); ++k) {
    const auto [place, fresh] = places_.try_emplace(a_.indices[k].var);
    if (fresh) place->second = AnyPlace(k);
    const Affine last = Affine::Of(a_.indices[k].extent) - Affine::Const(1);
    if (IsNever(place->second) || IsNever(last - place->second)) return false;
  }
  return std::all_of(a_.where.begin(), a_.where.end(), [&](const ir::Constraint& c) {
    const Affine e = Placed(c.e);
    return !IsNever(e) && (!c.equality || !IsNever(e * -1));
  });
}

}  // namespace

void CheckedAccesses::EnterBlock(uint32_t block, Sizes::Dominates dominates) {
  block_ = block;
  dominates_ = std::move(dominates);
}

std::string CheckedAccesses::KeyOf(const Axis& axis) const {
  return (axis.extent ? "[" : "/") + Key(*axis.each, sizes_).Of(axis.sub);
}

void CheckedAccesses::Learn(const Axis& axis, Reg token) {
  std::vector<Entry>& entries = entries_[KeyOf(axis)];
  if (entries.size() == kMostOfOneKey) entries.erase(entries.begin());
  entries.push_back({axis, token, block_});
}

std::optional<Proof> CheckedAccesses::Find(const Axis& axis, const Bounds& bounds) const {
  if (entries_.empty()) return std::nullopt;
  const auto entries = entries_.find(KeyOf(axis));
  if (entries == entries_.end()) return std::nullopt;
  const bool of_indices = std::none_of(
      axis.sub.terms.begin(), axis.sub.terms.end(),
      [&](const Affine::Term& t) { return DefinitionIn(*axis.each, t.value, sizes_); });
  const int64_t sizes = CountSizes(*axis.each, sizes_);
  std::optional<Proof> found;
  for (const Entry& entry : entries->second) {
    if (!dominates_(entry.block, block_)) continue;
    if (axis.extent && bounds.Prove(*axis.extent - *entry.axis.extent) == Bounds::kNever) continue;
    Matching matching(f_, *entry.axis.each, *axis.each, sizes_, bounds);
    if (!matching.Match(entry.axis.sub, axis.sub) ||
        !matching.MatchGuards(entry.axis.guard, axis.guard) || !matching.PlaceTheRest())
      continue;
    Proof proof{entry.token, matching.Places()};
    // Best the turn of the outermost loop that checks is the one that relies on it: these loops may be one.
    const bool by_turn = !proof.turns.empty() && !axis.each->indices.empty() &&
                         proof.turns[0] == axis.each->indices[0].var;
    if (by_turn) return proof;
    // Fewer points check for themselves rather than wait for all of the others, but for what data say.
    const bool waits = of_indices && CountSizes(*entry.axis.each, sizes_) > sizes;
    if (!found && !waits) found = std::move(proof);
  }
  return found;
}

}  // namespace pullback::loops
