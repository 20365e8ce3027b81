#include "core/loops/prune.h"

#include <algorithm>

namespace pullback::loops {
namespace {

class Pruner {
 public:
  explicit Pruner(Function& f) : f_(f), uses_(f.regs.size(), 0) {}

  void Prune() {
    for (Block& b : f_.blocks) {
      CountNodes(b.nodes);
      ir::ForEachTermOperand(b.term, [&](Reg r) { ++uses_[r.id]; });
    }
    for (auto b = f_.blocks.rbegin(); b != f_.blocks.rend(); ++b) Sweep(b->nodes);
    // A register may be read in a block that stands earlier in the list: until nothing changes.
    while (dropped_) {
      dropped_ = false;
      for (auto b = f_.blocks.rbegin(); b != f_.blocks.rend(); ++b) Sweep(b->nodes);
    }
  }

 private:
  void CountNodes(const std::vector<Node>& nodes) {
    for (const Node& n : nodes) Count(n, 1);
  }

  void Count(const Node& n, int by) {
    for (const auto* list : {&n.args, &n.body_yields, &n.other_yields}) {
      for (Reg r : *list) uses_[r.id] += by;
    }
    for (const Node& inner : n.body) Count(inner, by);
    for (const Node& inner : n.other) Count(inner, by);
  }

  bool Unused(Reg r) const { return uses_[r.id] == 0; }

  // Yields of results that nobody reads.
  void DropYields(Node& n) {
    for (size_t i = n.results.size(); i-- > 0;) {
      if (!Unused(n.results[i])) continue;
      --uses_[n.body_yields[i].id];
      --uses_[n.other_yields[i].id];
      const auto at = static_cast<std::ptrdiff_t>(i);
      n.results.erase(n.results.begin() + at);
      n.body_yields.erase(n.body_yields.begin() + at);
      n.other_yields.erase(n.other_yields.begin() + at);
    }
  }

  static bool IsPure(Node::Kind k) {
    return k == Node::Kind::kScalar || k == Node::Kind::kDim || k == Node::Kind::kLoad;
  }

  bool IsDead(const Node& n) const {
    if (n.kind == Node::Kind::kList && n.op == ir::Op::ListLen) return Unused(n.results[0]);
    if (IsPure(n.kind)) return Unused(n.results[0]);
    if (n.kind == Node::Kind::kFor) return n.body.empty();
    if (n.kind == Node::Kind::kIf) return n.results.empty() && n.body.empty() && n.other.empty();
    return false;
  }

  void Sweep(std::vector<Node>& nodes) {
    size_t kept = nodes.size();  // nodes[kept..] stay
    for (size_t k = nodes.size(); k-- > 0;) {
      Node& n = nodes[k];
      if (n.kind == Node::Kind::kIf) DropYields(n);
      Sweep(n.other);
      Sweep(n.body);
      if (IsDead(n)) {
        Count(n, -1);
      } else if (--kept != k) {
        nodes[kept] = std::move(n);
      }
    }
    dropped_ |= kept > 0;
    nodes.erase(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(kept));
  }

  Function& f_;
  std::vector<int> uses_;
  bool dropped_ = false;
};

}  // namespace

void PruneDead(Function& f) { Pruner(f).Prune(); }

}  // namespace pullback::loops
