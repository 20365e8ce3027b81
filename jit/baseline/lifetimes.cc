#include "jit/baseline/lifetimes.h"

namespace pullback::jit {

using loops::Node;
using loops::Reg;

Lifetimes::Lifetimes(const loops::Function& f, const std::vector<uint32_t>& order)
    : list_of_(f.regs.size(), kLong),
      last_(f.regs.size(), kLong),
      is_constant_(f.regs.size()),
      bits_(f.regs.size()) {
  for (const uint32_t block : order) {
    for (const Reg p : f.blocks[block].params)
      list_of_[p.id] = kLong;  // live in slots of their own
  }
  for (const uint32_t block : order) {
    const ir::Terminator& term = f.blocks[block].term;
    Walk(f.blocks[block].nodes);
    // Needed behind the last node of the block.
    if (term.kind == ir::Terminator::Kind::kBranch) last_[term.cond.id] = kLong;
    for (const ir::Edge& edge : term.edges) {
      for (const Reg r : edge.args) last_[r.id] = kLong;
    }
    for (const Reg r : term.results) last_[r.id] = kLong;
  }
  ends_.resize(nodes_);
  for (uint32_t r = 0; r < last_.size(); ++r) {
    if (last_[r] != kLong && !is_constant_[r]) ends_[last_[r]].push_back(Reg{r});
  }
}

void Lifetimes::Walk(const std::vector<Node>& nodes) {
  const uint32_t list = lists_++;
  for (const Node& node : nodes) {
    path_.push_back({list, nodes_++});
    Visit(node);
    path_.pop_back();
  }
}

void Lifetimes::Visit(const Node& node) {
  for (const Reg r : node.args) Use(r);
  for (const Reg r : node.results) Define(r);
  if (node.kind == Node::Kind::kScalar && node.op == ir::Op::Const) {
    is_constant_[node.results[0].id] = true;
    bits_[node.results[0].id] = node.bits;
  }
  Walk(node.body);
  for (const Reg r : node.body_yields) Use(r);
  Walk(node.other);
  for (const Reg r : node.other_yields) Use(r);
}

void Lifetimes::Define(Reg r) {
  list_of_[r.id] = path_.back().list;
  last_[r.id] = path_.back().node;
}

// In the list that defines the register its life ends with the node that this use is in. A yield of an
// arm is defined in a list that has been left: it ends with the branch. A use in another block than
// the definition makes it live for ever.
void Lifetimes::Use(Reg r) {
  if (last_[r.id] == kLong) return;
  for (const Level& level : path_) {
    if (level.list == list_of_[r.id]) {
      last_[r.id] = level.node;
      return;
    }
  }
  const bool inside = !path_.empty() && last_[r.id] > path_.front().node;
  last_[r.id] = inside ? path_.back().node : kLong;
}

}  // namespace pullback::jit
