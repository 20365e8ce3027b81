#include "core/loops/forward_element.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "core/loops/walk.h"

namespace pullback::loops {
namespace {

using Kind = Node::Kind;

class Forwarder {
 public:
  Forwarder(const Function& f, Reg array) : f_(f), array_(array) {}

  bool Run(Node& loop) {
    ForEachNode(loop.body, [&](const Node& n) {
      loads_ += Is(n, Kind::kLoad);
      stores_ += Is(n, Kind::kStore);
    });
    return stores_ == 1 && ForwardIn(loop.body);
  }

 private:
  bool Is(const Node& n, Kind kind) const { return n.kind == kind && n.args[0] == array_; }

  bool ForwardIn(std::vector<Node>& nodes) {
    const auto store = std::find_if(nodes.begin(), nodes.end(),
                                    [&](const Node& n) { return Is(n, Kind::kStore); });
    if (store != nodes.end()) return Forward(nodes, static_cast<size_t>(store - nodes.begin()));
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](Node& n) { return ForwardIn(n.body) || ForwardIn(n.other); });
  }

  // The store is nodes[at].
  bool Forward(std::vector<Node>& nodes, size_t at) {
    const Reg value = nodes[at].args[2];
    std::set<Reg> read;
    bool same_type = true;
    const auto note = [&](const Node& n) {
      if (!Is(n, Kind::kLoad)) return;
      read.insert(n.results[0]);
      same_type &= f_.TypeOf(n.results[0]) == f_.TypeOf(value);
    };
    for (size_t k = at + 1; k < nodes.size(); ++k) {
      note(nodes[k]);
      ForEachNode(nodes[k].body, note);
      ForEachNode(nodes[k].other, note);
    }
    if (read.size() != loads_ || !same_type) return false;
    Drop(nodes);
    ForEachRead(nodes, [&](Reg& r) {
      if (read.contains(r)) r = value;
    });
    return true;
  }
  void Drop(std::vector<Node>& nodes) const {
    std::erase_if(nodes, [&](const Node& n) { return Is(n, Kind::kLoad) || Is(n, Kind::kStore); });
    for (Node& n : nodes) {
      Drop(n.body);
      Drop(n.other);
    }
  }

  const Function& f_;
  const Reg array_;
  size_t loads_ = 0, stores_ = 0;
};

}  // namespace

bool ForwardElement(const Function& f, Node& loop, Reg array) {
  return Forwarder(f, array).Run(loop);
}

}  // namespace pullback::loops
