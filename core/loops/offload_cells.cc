#include "core/loops/offload_cells.h"

#include <algorithm>

#include "core/loops/walk.h"

namespace pullback::loops {
namespace {

using Kind = Node::Kind;

bool Has(ir::ValueSpan list, Reg r) { return std::find(list.begin(), list.end(), r) != list.end(); }
bool Names(const Node& n, Reg r) {
  return Has(n.args, r) || Has(n.body_yields, r) || Has(n.other_yields, r);
}

class CellFinder {
 public:
  CellFinder(const Function& f, const OffloadPlan& plan, const Node& root)
      : f_(f), plan_(plan), root_(root) {}

  std::vector<Reg> Find() const {
    std::vector<Reg> cells;
    ForEachNode(root_.body, [&](const Node& n) {
      if (n.kind != Kind::kStore || !IsFirst(n.args[1]) || Has(cells, n.args[0])) return;
      if (IsStoredFirst(root_.body, n.args[0]) && IsOnlyHere(n.args[0])) {
        cells.push_back(n.args[0]);
      }
    });
    return cells;
  }

 private:
  bool IsFirst(Reg offset) const {
    const auto known = plan_.constants.find(offset.id);
    return known != plan_.constants.end() && known->second->bits == 0;
  }

  // Only its first element is loaded and stored.
  bool IsAccess(const Node& n, Reg array) const {
    const bool access = n.kind == Kind::kLoad || n.kind == Kind::kStore;
    return access && n.args[0] == array && IsFirst(n.args[1]);
  }

  bool IsNamed(const Node& n, Reg array) const {
    bool named = Names(n, array);
    const auto look = [&](const Node& inner) { named = named || Names(inner, array); };
    ForEachNode(n.body, look);
    ForEachNode(n.other, look);
    return named;
  }

  // A store stands in front of all other accesses, in the same list of nodes.
  bool IsStoredFirst(const std::vector<Node>& nodes, Reg array) const {
    std::vector<const Node*> named;
    for (const Node& n : nodes) {
      if (IsNamed(n, array)) named.push_back(&n);
    }
    if (named.empty()) return false;
    if (named[0]->kind == Kind::kStore) return AreAccesses(named, array);
    if (named.size() > 1 || Names(*named[0], array)) return false;
    const bool in_body = std::any_of(named[0]->body.begin(), named[0]->body.end(),
                                     [&](const Node& n) { return IsNamed(n, array); });
    const bool in_other = std::any_of(named[0]->other.begin(), named[0]->other.end(),
                                      [&](const Node& n) { return IsNamed(n, array); });
    return in_body != in_other && IsStoredFirst(in_body ? named[0]->body : named[0]->other, array);
  }

  bool AreAccesses(const std::vector<const Node*>& nodes, Reg array) const {
    bool good = true;
    const auto look = [&](const Node& n) {
      good = good && (!Names(n, array) || IsAccess(n, array));
    };
    for (const Node* n : nodes) {
      look(*n);
      ForEachNode(n->body, look);
      ForEachNode(n->other, look);
    }
    return good;
  }

  // Outside the nest it is made and released, and nothing else.
  bool IsOnlyHere(Reg array) const {
    bool made = false, good = true;
    for (const Block& block : f_.blocks) {
      LookOutside(block.nodes, array, made, good);
      for (const ir::Edge& edge : block.term.edges) good = good && !Has(edge.args, array);
      good = good && !Has(block.term.results, array);
    }
    return made && good;
  }

  void LookOutside(const std::vector<Node>& nodes, Reg array, bool& made, bool& good) const {
    for (const Node& n : nodes) {
      if (&n == &root_) continue;
      made = made || (n.kind == Kind::kAlloc && Has(n.results, array));
      good = good && (!Names(n, array) || n.kind == Kind::kRelease);
      LookOutside(n.body, array, made, good);
      LookOutside(n.other, array, made, good);
    }
  }

  const Function& f_;
  const OffloadPlan& plan_;
  const Node& root_;
};

}  // namespace

std::vector<Reg> FindCells(const Function& f, const OffloadPlan& plan, const Node& root) {
  return CellFinder(f, plan, root).Find();
}

}  // namespace pullback::loops
