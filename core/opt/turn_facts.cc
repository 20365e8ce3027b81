#include "core/opt/turn_facts.h"

#include <algorithm>

namespace pullback::opt {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int kMostSums = 8;  // from a value to what it is a sum of
constexpr size_t kMostFacts = 64;
constexpr int kMostFactsInSum = 3;
constexpr int kMostTries = 2'000;

// So that nothing wraps where the values are indices or extents.
bool IsSmall(int64_t number) {
  constexpr int64_t kMost = 1 << 20;
  return -kMost <= number && number <= kMost;
}
bool IsSum(const Affine& a) {
  return IsSmall(a.constant) && std::all_of(a.terms.begin(), a.terms.end(),
                                            [](const Affine::Term& t) { return IsSmall(t.coeff); });
}
// What is less than this many times an extent wraps nowhere. (What such a form was made of may have: it is the same again.)
bool HasFewOfEach(const Affine& form) {
  constexpr int64_t kMost = 1 << 10;
  return std::all_of(form.terms.begin(), form.terms.end(),
                     [](const Affine::Term& t) { return -kMost <= t.coeff && t.coeff <= kMost; });
}

Affine Expand(Value v, const DefinitionBlocks& defs, int steps);

Affine Expand(const Affine& a, const DefinitionBlocks& defs, int steps) {
  Affine sum = Affine::Const(a.constant);
  for (const Affine::Term& t : a.terms) sum = sum + Expand(t.value, defs, steps) * t.coeff;
  return sum;
}

Affine Expand(Value v, const DefinitionBlocks& defs, int steps) {
  const Inst* inst = defs.Inst(v);
  if (inst == nullptr || steps == 0) return Affine::Of(v);
  switch (inst->op) {
    case Op::Const: {
      const auto number = static_cast<int64_t>(inst->bits);
      return IsSmall(number) ? Affine::Const(number) : Affine::Of(v);
    }
    case Op::AffineOf:
      return IsSum(inst->subs[0]) ? Expand(inst->subs[0], defs, steps - 1) : Affine::Of(v);
    case Op::Add:
      return Expand(inst->args[0], defs, steps - 1) + Expand(inst->args[1], defs, steps - 1);
    case Op::Sub:
      return Expand(inst->args[0], defs, steps - 1) - Expand(inst->args[1], defs, steps - 1);
    case Op::Mul: {
      const Affine a = Expand(inst->args[0], defs, steps - 1);
      const Affine b = Expand(inst->args[1], defs, steps - 1);
      if (a.IsConst() && IsSmall(a.constant)) return b * a.constant;
      return b.IsConst() && IsSmall(b.constant) ? a * b.constant : Affine::Of(v);
    }
    default: return Affine::Of(v);
  }
}

class Learner {
 public:
  Learner(const ir::Function& f, IsTame is_tame, const DefinitionBlocks& defs, TurnFacts& facts)
      : f_(f), is_tame_(is_tame), defs_(defs), facts_(facts) {}

  void Learn(Value condition, bool holds) {
    const Inst* inst = defs_.Inst(condition);
    if (inst == nullptr || facts_.at_least_0.size() + facts_.not_0.size() >= kMostFacts) return;
    if (inst->op == Op::Not) return Learn(inst->args[0], !holds);
    if (holds ? inst->op == Op::And : inst->op == Op::Or) {
      Learn(inst->args[0], holds);
      return Learn(inst->args[1], holds);
    }
    if (inst->args.size() != 2 || f_.TypeOf(inst->args[0]) != ir::Type::I64()) return;
    const Affine a = FormOf(inst->args[0], defs_), b = FormOf(inst->args[1], defs_);
    if (!WrapsNowhere(a) || !WrapsNowhere(b)) return;  // what the caller gives may wrap
    switch (inst->op) {
      case Op::Lt: return holds ? Less(a, b) : NoMore(b, a);
      case Op::Le: return holds ? NoMore(a, b) : Less(b, a);
      case Op::Gt: return holds ? Less(b, a) : NoMore(a, b);
      case Op::Ge: return holds ? NoMore(b, a) : Less(a, b);
      case Op::Eq: return holds ? Same(a, b) : Differ(a, b);
      case Op::Ne: return holds ? Differ(a, b) : Same(a, b);
      default: return;
    }
  }

 private:
  bool WrapsNowhere(const Affine& form) const {
    if (form.AsValue().valid()) return true;
    return HasFewOfEach(form) &&
           std::all_of(form.terms.begin(), form.terms.end(), [&](const Affine::Term& t) {
             return IsOfDims(Affine::Of(t.value), defs_) || is_tame_(t.value);
           });
  }
  void NoMore(const Affine& a, const Affine& b) { facts_.at_least_0.push_back(b - a); }
  void Less(const Affine& a, const Affine& b) { NoMore(a + Affine::Const(1), b); }
  void Same(const Affine& a, const Affine& b) {
    NoMore(a, b);
    NoMore(b, a);
  }
  void Differ(const Affine& a, const Affine& b) { facts_.not_0.push_back(b - a); }

  const ir::Function& f_;
  const IsTame is_tame_;
  const DefinitionBlocks& defs_;
  TurnFacts& facts_;
};

// By what is taken from the form so often that its first term goes.
std::optional<int64_t> LeastOf(const Affine& form, const std::vector<Affine>& at_least_0, int sums,
                               int& tries) {
  if (form.IsConst()) return form.constant;
  std::optional<int64_t> most;
  if (sums == 0) return most;
  const Affine::Term& first = form.terms.front();
  for (const Affine& fact : at_least_0) {
    const int64_t coeff = fact.Coeff(first.value);
    if (coeff == 0 || first.coeff % coeff != 0 || first.coeff / coeff < 0 || --tries < 0) continue;
    const std::optional<int64_t> least =
        LeastOf(form - fact * (first.coeff / coeff), at_least_0, sums - 1, tries);
    if (least && (!most || *least > *most)) most = least;
  }
  return most;
}

}  // namespace

Affine FormOf(Value v, const DefinitionBlocks& defs) { return Expand(v, defs, kMostSums); }
Affine FormOf(const Affine& a, const DefinitionBlocks& defs) { return Expand(a, defs, kMostSums); }

bool IsOfDims(const Affine& form, const DefinitionBlocks& defs) {
  return std::all_of(form.terms.begin(), form.terms.end(), [&](const Affine::Term& t) {
    const Inst* inst = defs.Inst(t.value);
    return inst != nullptr && inst->op == Op::Dim;
  });
}

namespace {

bool IsNotNegative(const Affine& form, const DefinitionBlocks& defs, int depth);

bool IsValueNotNegative(Value v, const DefinitionBlocks& defs, int depth) {
  const Inst* inst = defs.Inst(v);
  if (inst == nullptr || depth == 0) return false;
  const auto of = [&](size_t k) { return FormOf(inst->args[k], defs); };
  switch (inst->op) {
    case Op::Dim: return true;
    case Op::Div:
      return of(1).IsConst() && of(1).constant > 0 && IsNotNegative(of(0), defs, depth - 1);
    case Op::Max:
      return std::any_of(inst->args.begin(), inst->args.end(), [&](Value arm) {
        const Affine form = FormOf(arm, defs);
        return form.IsConst() && form.constant >= 0;
      });
    default: return false;
  }
}

// A sum of what may be any large number may wrap.
bool IsNotNegative(const Affine& form, const DefinitionBlocks& defs, int depth) {
  const Value alone = form.AsValue();
  if (alone.valid()) return IsValueNotNegative(alone, defs, depth);
  return form.constant >= 0 && IsSum(form) && HasFewOfEach(form) &&
         std::all_of(form.terms.begin(), form.terms.end(), [&](const Affine::Term& t) {
           return t.coeff > 0 && TimesBound(t.value, 1, defs) &&
                  IsValueNotNegative(t.value, defs, depth);
         });
}

}  // namespace

bool IsNotNegative(const Affine& form, const DefinitionBlocks& defs) {
  constexpr int kMostQuotients = 8;  // of quotients
  return IsNotNegative(form, defs, kMostQuotients);
}

std::optional<Affine> TimesBound(Value bound, int64_t times, const DefinitionBlocks& defs) {
  constexpr int64_t kMostNear = 16;
  const Inst* div = defs.Inst(bound);
  if (div != nullptr && div->op == Op::Div) {
    const Affine below = FormOf(div->args[1], defs);
    if (below.IsConst() && below.constant > 0)
      return TimesBound(div->args[0], (times - 1) / below.constant + 1, defs);
  }
  const Affine form = FormOf(bound, defs);
  if (IsOfDims(form, defs)) return form * times;
  // Of n / 2 - 1, and n / 2 + 4: where the quotient is below 0, what bounds it may be less than it.
  const int64_t more = form.constant;
  const bool near = form.terms.size() == 1 && form.terms[0].coeff == 1 && more != 0 &&
                    -kMostNear <= more && more <= kMostNear && form.terms[0].value != bound;
  const Value base = near ? form.terms[0].value : Value();
  std::optional<Affine> most;
  if (near && (more < 0 || IsNotNegative(Affine::Of(base), defs)))
    most = TimesBound(base, times, defs);
  if (most) most->constant += more * times;
  return most;
}

std::optional<int64_t> RowsBeyond(Value rows, Value bound, const DefinitionBlocks& defs) {
  constexpr int64_t kMostMore = 16;
  const Affine more = FormOf(rows, defs) - FormOf(bound, defs);
  const bool near = more.IsConst() && -kMostMore <= more.constant && more.constant <= kMostMore;
  return near ? std::optional(more.constant) : std::nullopt;
}

void Learn(const ir::Function& f, Value condition, bool holds, IsTame is_tame,
           const DefinitionBlocks& defs, TurnFacts& facts) {
  Learner(f, is_tame, defs, facts).Learn(condition, holds);
}

TurnFacts FactsAt(const ir::Function& f, const BlockLoop& loop, uint32_t block, size_t place,
                  IsTame is_tame, const ir::Dominators& dominators, const DefinitionBlocks& defs) {
  const auto counts = [&](uint32_t to) {  // edges of the loop to the block, but from behind it
    size_t edges = 0;
    for (uint32_t b : loop.blocks) {
      if (dominators.Dominates(to, b)) continue;
      for (const ir::Edge& e : f.blocks[b].term.edges) edges += e.block == to;
    }
    return edges;
  };
  TurnFacts facts;
  Learner known(f, is_tame, defs, facts);
  for (uint32_t b = block; loop.Holds(b);) {
    const auto& insts = f.blocks[b].insts;
    const size_t end = b == block ? place : insts.size();
    for (size_t k = 0; k < end; ++k) {
      if (insts[k].op == Op::Check) known.Learn(insts[k].args[0], true);
    }
    if (b == loop.header) break;
    const uint32_t from = dominators.Idom(b);
    const ir::Terminator& term = f.blocks[from].term;
    if (loop.Holds(from) && term.kind == ir::Terminator::Kind::kBranch && counts(b) == 1) {
      for (size_t k = 0; k < term.edges.size(); ++k) {
        if (term.edges[k].block == b) known.Learn(term.cond, k == 0);
      }
    }
    b = from;
  }
  return facts;
}

std::optional<int64_t> LeastOf(const Affine& form, const std::vector<Affine>& at_least_0) {
  int tries = kMostTries;
  return LeastOf(form, at_least_0, kMostFactsInSum, tries);
}

}  // namespace pullback::opt
