#include "core/ad/later_stores.h"

#include <algorithm>

namespace pullback::ad {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

constexpr int kMostSubstitutions = 32;  // of one form
constexpr int64_t kFar = int64_t{1} << 31;
constexpr int64_t kMostStep = int64_t{1} << 20;

bool IsNear(int64_t constant) { return constant < kFar && constant > -kFar; }

}  // namespace

Counters WithSmallSteps(Counters counters) {
  std::erase_if(counters, [](const auto& c) {
    return c.second.step > kMostStep || c.second.step < -kMostStep;
  });
  return counters;
}

LaterStores::LaterStores(const ir::Function& f, const ReverseFlow& flow, const Definitions& defs,
                         const Counters& counters, uint32_t header)
    : f_(f), flow_(flow), defs_(defs), counters_(counters), header_(header) {}

bool LaterStores::AreElsewhere(const Access& store, const Access& read) const {
  const std::vector<Axis> axes = AxesOf(store.inst, read.inst);
  Loops same;  // in other turns of these it is elsewhere
  for (uint32_t loop : LoopsAround(store.block, read.block)) {
    if (IsApart(axes, read.block, same)) return true;
    const std::optional<int64_t> least = LeastAhead(axes, read.block, loop);
    if (!least || *least < 0) return false;
    if (*least > 0) return true;
    same.insert(loop);
  }
  return IsApart(axes, read.block, same);
}

// And their differences.
std::vector<LaterStores::Axis> LaterStores::AxesOf(const Inst& store, const Inst& read) const {
  std::vector<Axis> axes;
  for (size_t axis = 0; axis < store.subs.size(); ++axis) {
    const std::optional<Affine> to = Expanded(store.subs[axis]), from = Expanded(read.subs[axis]);
    if (to && from && IsExact(*to) && IsExact(*from)) axes.push_back({*to, *from});
  }
  const size_t single = axes.size();
  for (size_t a = 0; a < single; ++a) {
    for (size_t b = 0; b < single; ++b) {
      if (a != b) axes.push_back({axes[a].store - axes[b].store, axes[a].read - axes[b].read});
    }
  }
  return axes;
}

// Headers of loops that both blocks are in the bodies of, outermost first.
std::vector<uint32_t> LaterStores::LoopsAround(uint32_t a, uint32_t b) const {
  std::vector<uint32_t> around;
  for (uint32_t h = 0; h < f_.blocks.size(); ++h) {
    const bool both = h != a && h != b && flow_.IsLoopBodyOf(a, h) && flow_.IsLoopBodyOf(b, h);
    if (both && flow_.IsLoopBodyOf(h, header_)) around.push_back(h);
  }
  std::sort(around.begin(), around.end(),
            [&](uint32_t x, uint32_t y) { return x != y && flow_.IsLoopBodyOf(y, x); });
  return around;
}

// Whether some axis, which turns of these loops alone change, tells them apart.
bool LaterStores::IsApart(const std::vector<Axis>& axes, uint32_t block, const Loops& same) const {
  const auto changes = [&](const Affine::Term& t) {
    const auto counter = counters_.find(t.value);
    return counter == counters_.end() ? !IsConstantHere(t.value)
                                      : !same.contains(counter->second.header);
  };
  return std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) {
    if (std::any_of(axis.store.terms.begin(), axis.store.terms.end(), changes)) return false;
    const Affine ahead = axis.store - axis.read;
    return LeastOf(ahead, block).value_or(0) > 0 || LeastOf(ahead * -1, block).value_or(0) > 0;
  });
}

// How far the store is ahead of the read at least, along an axis that the loop counts.
std::optional<int64_t> LaterStores::LeastAhead(const std::vector<Axis>& axes, uint32_t block,
                                               uint32_t loop) const {
  std::optional<int64_t> most;
  for (const Axis& axis : axes) {
    const Affine::Terms& terms = axis.store.terms;
    const auto counter =
        terms.size() == 1 && terms[0].coeff == 1 ? counters_.find(terms[0].value) : counters_.end();
    if (counter == counters_.end() || counter->second.header != loop || counter->second.step == 0)
      continue;
    const Affine ahead = (axis.store - axis.read) * (counter->second.step > 0 ? 1 : -1);
    const std::optional<int64_t> least = LeastOf(ahead, block);
    if (least && (!most || *most < *least)) most = least;
  }
  return most;
}

// In terms of counters and of what does not change.
std::optional<Affine> LaterStores::Expanded(Affine a) const {
  for (int step = 0; step < kMostSubstitutions; ++step) {
    const auto is_constant = [&](Value v) {
      return defs_[v.id] != nullptr && defs_[v.id]->op == Op::Const;
    };
    const auto term = std::find_if(a.terms.begin(), a.terms.end(), [&](const auto& t) {
      return is_constant(t.value) || (!counters_.contains(t.value) && !IsConstantHere(t.value));
    });
    if (term == a.terms.end()) return a;
    const Inst* def = defs_[term->value.id];
    if (def == nullptr) return std::nullopt;
    const std::optional<Affine> form = is_constant(term->value)
                                           ? Affine::Const(static_cast<int64_t>(def->bits))
                                           : FormOf(*def, f_, defs_);
    if (!form) return std::nullopt;
    a = a.Substitute(term->value, *form);
    ir::Canonicalise(a);
  }
  return std::nullopt;
}

bool LaterStores::IsNotNegative(Value v) const {
  const Inst* def = defs_[v.id];
  if (def != nullptr && def->op == Op::Dim) return true;
  const auto counter = counters_.find(v);
  if (counter == counters_.end() || counter->second.step < 0) return false;
  const std::optional<Affine> start = Expanded(Affine::Of(counter->second.start));
  return start && start->IsConst() && start->constant >= 0 && IsNear(start->constant);
}

bool LaterStores::IsExact(const Affine& a) const {
  if (!IsNear(a.constant) || a.terms.size() > 2) return false;
  if (a.terms.empty()) return true;
  if (a.terms.size() == 1) return a.terms[0].coeff == 1;
  const bool units = std::all_of(a.terms.begin(), a.terms.end(), [&](const Affine::Term& t) {
    return (t.coeff == 1 || t.coeff == -1) && IsNotNegative(t.value);
  });
  return units && (a.terms[0].coeff == 1 || a.terms[1].coeff == 1) && a.constant <= 1;
}

// What it is at least in that block, by the ranges of counters, from the innermost.
std::optional<int64_t> LaterStores::LeastOf(Affine a, uint32_t block) const {
  for (int step = 0; step < kMostSubstitutions && !a.IsConst(); ++step) {
    const Affine::Term* inner = nullptr;
    for (const Affine::Term& t : a.terms) {
      const auto it = counters_.find(t.value);
      if (it == counters_.end()) continue;
      const uint32_t h = it->second.header;
      if (!inner || flow_.IsLoopBodyOf(h, counters_.at(inner->value).header)) inner = &t;
    }
    if (inner == nullptr) return std::nullopt;
    const Counter& counter = counters_.at(inner->value);
    if (block == counter.header || !flow_.IsLoopBodyOf(block, counter.header)) return std::nullopt;
    const std::optional<Affine> limit =
        inner->coeff > 0 ? LowerBound(counter) : UpperBound(inner->value, counter);
    if (!limit) return std::nullopt;
    a = a.Substitute(inner->value, *limit);
    ir::Canonicalise(a);
  }
  return a.IsConst() ? std::optional(a.constant) : std::nullopt;
}

// A start that wraps only bounds the counter further: something taken away, or one more than what stays below an end.
std::optional<Affine> LaterStores::LowerBound(const Counter& counter) const {
  if (counter.step < 0) return std::nullopt;
  std::optional<Affine> start = Expanded(Affine::Of(counter.start));
  if (!start || !IsExact(*start)) return std::nullopt;
  if (start->IsConst()) return start;
  if (start->terms.size() == 2)
    return start->terms[0].coeff != start->terms[1].coeff && start->constant <= 0 ? start
                                                                                  : std::nullopt;
  const auto of = counters_.find(start->terms[0].value);
  const bool below = of != counters_.end() && EndOf(of->first, of->second.header).valid() &&
                     flow_.IsLoopBodyOf(counter.header, of->second.header);
  return start->constant <= (below ? 1 : 0) ? start : std::nullopt;
}

// An end that wraps does, too: something added.
std::optional<Affine> LaterStores::UpperBound(Value v, const Counter& counter) const {
  const bool down = counter.step < 0;
  const Value last = down ? counter.start : EndOf(v, counter.header);
  const std::optional<Affine> bound = last.valid() ? Expanded(Affine::Of(last)) : std::nullopt;
  if (!bound || !IsExact(*bound) || (!bound->IsConst() && bound->constant < 0)) return std::nullopt;
  return *bound - Affine::Const(down ? 0 : 1);
}

// What the counter stays below.
Value LaterStores::EndOf(Value counter, uint32_t header) const {
  const Inst* test = TestOf(f_, flow_, defs_, header);
  return test != nullptr && test->args[0] == counter ? test->args[1] : Value();
}

}  // namespace pullback::ad
