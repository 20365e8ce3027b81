#include "core/loops/effects.h"

#include <algorithm>
#include <iterator>

#include "core/loops/liveness.h"
#include "core/loops/walk.h"

namespace pullback::loops {
namespace {

using Kind = Node::Kind;

void SortUnique(std::vector<Reg>& regs) {
  std::sort(regs.begin(), regs.end());
  regs.erase(std::unique(regs.begin(), regs.end()), regs.end());
}

using Memory = std::map<Reg, Effects::Access>;
constexpr int kNoAxis = Effects::Access::kNoAxis;

void Join(Memory& memory, Reg r, const Effects::Access& access) {
  const auto [known, fresh] = memory.try_emplace(r, access);
  if (fresh) return;
  Effects::Access& both = known->second;
  both.writes |= access.writes;
  if (both.axis != access.axis || both.step != access.step || both.period != access.period)
    both.axis = kNoAxis;
  if (both.axis == kNoAxis) return;
  both.first = AtLeast(both.first, access.first);
  both.last = AtMost(both.last, access.last);
}

class Collector {
 public:
  Collector(const Function& f, const Node& node) : f_(f), node_(node) {}

  Effects Collect() {
    Visit(node_);
    ForEachNode(node_.body, [&](const Node& n) { VisitInner(n); });
    ForEachNode(node_.other, [&](const Node& n) { VisitInner(n); });
    if (node_.kind == Kind::kFor) {
      inner_.insert(inner_.end(), node_.results.begin(), node_.results.end());
    } else {
      effects_.defines = node_.results;
    }
    if (states_facts_) effects_.defines.push_back(kFacts);
    if (relies_on_checks_) effects_.uses.push_back(kFacts);
    SortUnique(effects_.defines);
    SortUnique(effects_.uses);
    SortUnique(inner_);
    std::vector<Reg> outer;
    std::set_difference(effects_.uses.begin(), effects_.uses.end(), inner_.begin(), inner_.end(),
                        std::back_inserter(outer));
    effects_.uses = std::move(outer);
    return std::move(effects_);
  }

 private:
  void VisitInner(const Node& n) {
    Visit(n);
    inner_.insert(inner_.end(), n.results.begin(), n.results.end());
  }

  void Visit(const Node& n) {
    for (const auto* list : {&n.args, &n.body_yields, &n.other_yields})
      effects_.uses.insert(effects_.uses.end(), list->begin(), list->end());
    switch (n.kind) {
      case Kind::kLoad:
      case Kind::kStore:
        RelyOn(n.proofs);
        relies_on_checks_ = true;
        return Touch(n.args[0], OfRow(n.kind == Kind::kStore, n.rows));
      case Kind::kContract:
        relies_on_checks_ = true;
        Touch(n.args[0], {true});
        for (size_t k = 1; k < kContractArrays; ++k) Touch(n.args[k], {false});
        return;
      case Kind::kLanesTotal: return Touch(n.args[0], {false});
      case Kind::kLaneAdd:
      case Kind::kRetain:
      case Kind::kRelease:
      case Kind::kUnique: return Touch(n.args[0], {true});
      case Kind::kScalar:
        relies_on_checks_ |= n.op == ir::Op::Div || n.op == ir::Op::Rem;
        return RelyOn(n.proofs);
      case Kind::kAlloc: relies_on_checks_ = true; return;
      case Kind::kDim:
      case Kind::kLanesNew:
      case Kind::kFor:
      case Kind::kIf: return;
      case Kind::kCheck:
        effects_.checks = true;
        states_facts_ |= n.proofs.empty();
        for (const Proof& p : n.proofs) {
          if (p.token == kFacts)
            states_facts_ = true;
          else
            Touch(p.token, OfTurn(true, p.turns));
        }
        return;
      case Kind::kCall:
        if (!IsOfScalars(n)) break;
        effects_.checks = true;
        return;
      case Kind::kTapeNew:
      case Kind::kPush:
      case Kind::kPop:
      case Kind::kList: break;
    }
    effects_.ordered = true;
    for (Reg r : n.args) Touch(r, {true});
  }

  // Then nothing of a call is seen but what it gives, or that it traps.
  bool IsOfScalars(const Node& call) const {
    const auto is_scalar = [&](Reg r) { return !IsCounted(f_.TypeOf(r)); };
    return std::all_of(call.args.begin(), call.args.end(), is_scalar) &&
           std::all_of(call.results.begin(), call.results.end(), is_scalar);
  }

  // The first axis that is the loop's index, by what each axis is.
  template <typename List, typename IndexOf>
  int AxisOfTurn(const List& list, IndexOf&& index_of) const {
    if (node_.kind != Kind::kFor) return kNoAxis;
    const auto it = std::find_if(list.begin(), list.end(),
                                 [&](const auto& of) { return index_of(of) == node_.results[0]; });
    return it == list.end() ? kNoAxis : static_cast<int>(it - list.begin());
  }
  Effects::Access OfTurn(bool writes, const Turns& turns) const {
    return {writes, AxisOfTurn(turns, [](Reg r) { return r; })};
  }
  Effects::Access OfRow(bool writes, const Rows& rows) const {
    const int axis = AxisOfTurn(rows, [](const Subscript& row) { return row.is; });
    if (axis != kNoAxis) return {writes, axis};
    Effects::Access access{writes, AxisOfTurn(rows, [](const Subscript& row) { return row.near; })};
    if (access.axis == kNoAxis) return access;
    const Subscript& row = rows[static_cast<size_t>(access.axis)];
    access.step = row.step;
    access.period = row.period;
    access.first.constant = row.first;
    access.last.constant = row.last;
    if (row.behind.valid()) access.first = access.first - Reach::Of(row.behind);
    if (row.ahead.valid()) access.last = access.last + Reach::Of(row.ahead);
    return access;
  }
  void RelyOn(const std::vector<Proof>& proofs) {
    for (const Proof& p : proofs) Touch(p.token, OfTurn(false, p.turns));
  }
  void Touch(Reg r, const Effects::Access& access) { Join(effects_.memory, r, access); }

  const Function& f_;
  const Node& node_;
  Effects effects_;
  std::vector<Reg> inner_;
  bool states_facts_ = false, relies_on_checks_ = false;
};

bool Meet(const std::vector<Reg>& a, const std::vector<Reg>& b) {
  const auto& few = a.size() < b.size() ? a : b;
  const auto& many = a.size() < b.size() ? b : a;
  return std::any_of(few.begin(), few.end(),
                     [&](Reg r) { return std::binary_search(many.begin(), many.end(), r); });
}

}  // namespace

namespace {

template <typename Choose>
Reach Combine(const Reach& a, const Reach& b, Choose&& choose) {
  Reach both = Reach::Const(choose(a.constant, b.constant));
  const auto add = [&](Reg r) {
    if (both.Coeff(r) == 0) both = both + Reach::Of(r) * choose(a.Coeff(r), b.Coeff(r));
  };
  for (const Reach::Term& t : a.terms) add(t.value);
  for (const Reach::Term& t : b.terms) add(t.value);
  return both;
}

}  // namespace

Reach AtMost(const Reach& a, const Reach& b) {
  if (a == b) return a;
  return Combine(a, b, [](int64_t x, int64_t y) { return std::max(x, y); });
}
Reach AtLeast(const Reach& a, const Reach& b) {
  if (a == b) return a;
  return Combine(a, b, [](int64_t x, int64_t y) { return std::min(x, y); });
}

Effects EffectsOf(const Function& f, const Node& node) { return Collector(f, node).Collect(); }

Effects Joined(const Effects& a, const Effects& b) {
  Effects both = a;
  both.uses.insert(both.uses.end(), b.uses.begin(), b.uses.end());
  SortUnique(both.uses);
  both.defines.insert(both.defines.end(), b.defines.begin(), b.defines.end());
  SortUnique(both.defines);
  for (const auto& [r, access] : b.memory) Join(both.memory, r, access);
  both.checks |= b.checks;
  both.ordered |= b.ordered;
  return both;
}

bool StayInOrder(const Effects& a, const Effects& b) {
  return (a.ordered && (b.ordered || b.checks)) || (b.ordered && a.checks);
}

namespace {

// Calls fn(of the later one, of the earlier one) on what both access and one of them writes, until it gives false; whether
// it never did.
template <typename Fn>
bool AllConflicts(const Effects& later, const Effects& earlier, Fn&& fn) {
  const bool swap = later.memory.size() > earlier.memory.size();
  const Effects &few = swap ? earlier : later, &many = swap ? later : earlier;
  for (const auto& [r, access] : few.memory) {
    const auto other = many.memory.find(r);
    if (other == many.memory.end() || (!access.writes && !other->second.writes)) continue;
    if (!(swap ? fn(other->second, access) : fn(access, other->second))) return false;
  }
  return true;
}

}  // namespace

Dependence DependenceOf(const Effects& later, const Effects& earlier) {
  if (StayInOrder(later, earlier)) return Dependence::kWhole;
  if (Meet(later.uses, earlier.defines)) return Dependence::kWhole;
  Dependence found = Dependence::kNone;
  const bool by_turn = AllConflicts(later, earlier, [&](const auto& a, const auto& b) {
    found = Dependence::kByTurn;
    return a.IsOfTurn() && b.IsOfTurn() && a.axis == b.axis;
  });
  return by_turn ? found : Dependence::kWhole;
}

std::optional<Reach> DelayOf(const Effects& later, const Effects& earlier) {
  if (StayInOrder(later, earlier) || Meet(later.uses, earlier.defines)) return std::nullopt;
  std::optional<Reach> most;
  const bool by_turn = AllConflicts(later, earlier, [&](const auto& a, const auto& b) {
    const Reach delay = a.last - b.first;
    most = most ? AtMost(*most, delay) : delay;
    return a.axis != kNoAxis && a.axis == b.axis && a.step == 1 && b.step == 1 &&
           a.period == b.period;
  });
  if (!by_turn) return std::nullopt;
  return most.value_or(Reach());
}

}  // namespace pullback::loops
