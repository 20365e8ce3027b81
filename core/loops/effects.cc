#include "core/loops/effects.h"

#include <algorithm>
#include <iterator>

#include "core/loops/walk.h"

namespace pullback::loops {
namespace {

using Kind = Node::Kind;

void SortUnique(std::vector<Reg>& regs) {
  std::sort(regs.begin(), regs.end());
  regs.erase(std::unique(regs.begin(), regs.end()), regs.end());
}

class Collector {
 public:
  explicit Collector(const Node& node) : node_(node) {}

  Effects Collect() {
    Visit(node_);
    ForEachNode(node_.body, [&](const Node& n) { VisitInner(n); });
    ForEachNode(node_.other, [&](const Node& n) { VisitInner(n); });
    if (node_.kind == Kind::kFor)
      inner_.insert(inner_.end(), node_.results.begin(), node_.results.end());
    else
      effects_.defines = node_.results;
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
      case Kind::kLoad: return Touch(n.args[0], false, IsOfTurn(n));
      case Kind::kStore: return Touch(n.args[0], true, IsOfTurn(n));
      case Kind::kContract:
        Touch(n.args[0], true, false);
        for (size_t k = 1; k < kContractArrays; ++k) Touch(n.args[k], false, false);
        return;
      case Kind::kLanesTotal: return Touch(n.args[0], false, false);
      case Kind::kLaneAdd:
      case Kind::kRetain:
      case Kind::kRelease:
      case Kind::kUnique: return Touch(n.args[0], true, false);
      case Kind::kScalar:
      case Kind::kDim:
      case Kind::kAlloc:
      case Kind::kLanesNew:
      case Kind::kFor:
      case Kind::kIf: return;
      case Kind::kCheck:
      case Kind::kCall:
      case Kind::kTapeNew:
      case Kind::kPush:
      case Kind::kPop:
      case Kind::kList: break;
    }
    effects_.ordered = true;
    for (Reg r : n.args) Touch(r, true, false);
  }

  bool IsOfTurn(const Node& n) const {
    return node_.kind == Kind::kFor && n.row == node_.results[0];
  }
  void Touch(Reg r, bool writes, bool by_row) {
    Effects::Access& access = effects_.memory[r];
    access.writes |= writes;
    access.by_row &= by_row;
  }

  const Node& node_;
  Effects effects_;
  std::vector<Reg> inner_;
};

bool Meet(const std::vector<Reg>& a, const std::vector<Reg>& b) {
  const auto& few = a.size() < b.size() ? a : b;
  const auto& many = a.size() < b.size() ? b : a;
  return std::any_of(few.begin(), few.end(),
                     [&](Reg r) { return std::binary_search(many.begin(), many.end(), r); });
}

}  // namespace

Effects EffectsOf(const Node& node) { return Collector(node).Collect(); }

Effects Joined(const Effects& a, const Effects& b) {
  Effects both = a;
  both.uses.insert(both.uses.end(), b.uses.begin(), b.uses.end());
  SortUnique(both.uses);
  for (const auto& [r, access] : b.memory) {
    Effects::Access& mine = both.memory[r];
    mine.writes |= access.writes;
    mine.by_row &= access.by_row;
  }
  both.ordered |= b.ordered;
  return both;
}

Dependence DependenceOf(const Effects& later, const Effects& earlier) {
  if (later.ordered && earlier.ordered) return Dependence::kWhole;
  if (Meet(later.uses, earlier.defines)) return Dependence::kWhole;
  Dependence found = Dependence::kNone;
  const bool swap = later.memory.size() > earlier.memory.size();
  const Effects &few = swap ? earlier : later, &many = swap ? later : earlier;
  for (const auto& [r, access] : few.memory) {
    const auto other = many.memory.find(r);
    if (other == many.memory.end() || (!access.writes && !other->second.writes)) continue;
    if (!access.by_row || !other->second.by_row) return Dependence::kWhole;
    found = Dependence::kByRow;
  }
  return found;
}

}  // namespace pullback::loops
