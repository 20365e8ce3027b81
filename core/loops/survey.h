// What the printer wants to know about a function's registers.
#pragma once

#include <vector>

#include "core/loops/loops.h"

namespace pullback::loops {

// Where each register is defined and used, and which are written where they are used.
class Survey {
 public:
  explicit Survey(const Function& f) : f_(f), places_(f.regs.size()) {
    for (const Block& b : f.blocks) {
      const int list = Visit(b.nodes);
      ir::ForEachTermOperand(b.term, [&](Reg r) { Use(r, list); });
    }
  }

  const Node* Definition(Reg r) const { return places_[r.id].node; }
  bool IsConst(Reg r) const {
    const Node* n = Definition(r);
    return n && n->kind == Node::Kind::kScalar && n->op == ir::Op::Const;
  }
  bool IsInline(Reg r) const {
    const Place& p = places_[r.id];
    if (IsConst(r)) return true;
    if (!p.node || p.node->kind != Node::Kind::kScalar || f_.TypeOf(r).IsFloat()) return false;
    return p.uses == 1 && p.used_in == p.defined_in;
  }

 private:
  struct Place {
    const Node* node = nullptr;
    int defined_in = -1;  // a list of nodes
    int used_in = -1;     // the last that was seen
    int uses = 0;
  };

  void Use(Reg r, int list) {
    ++places_[r.id].uses;
    places_[r.id].used_in = list;
  }

  int Visit(const std::vector<Node>& nodes) {
    const int list = lists_++;
    for (const Node& n : nodes) {
      for (Reg r : n.args) Use(r, list);
      for (Reg r : n.results) places_[r.id].node = &n, places_[r.id].defined_in = list;
      const int body = Visit(n.body);
      for (Reg r : n.body_yields) Use(r, body);
      const int other = Visit(n.other);
      for (Reg r : n.other_yields) Use(r, other);
    }
    return list;
  }

  const Function& f_;
  std::vector<Place> places_;
  int lists_ = 0;
};

}  // namespace pullback::loops
