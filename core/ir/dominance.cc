#include "core/ir/dominance.h"

#include <algorithm>

namespace pullback::ir {

std::vector<std::vector<uint32_t>> Predecessors(const Function& f) {
  std::vector<std::vector<uint32_t>> out(f.blocks.size());
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    for (const Edge& e : f.blocks[b].term.edges) out[e.block].push_back(b);
  }
  return out;
}

std::vector<uint32_t> ReversePostorder(const Function& f) {
  struct Visit {
    uint32_t block;
    size_t next_edge;
  };
  std::vector<uint32_t> order;
  std::vector<bool> seen(f.blocks.size());
  std::vector<Visit> stack;  // explicit: programs may have very many blocks
  const auto enter = [&](uint32_t b) {
    if (seen[b]) return;
    seen[b] = true;
    stack.push_back({b, 0});
  };
  if (!f.blocks.empty()) enter(0);
  while (!stack.empty()) {
    Visit& v = stack.back();
    const auto& edges = f.blocks[v.block].term.edges;
    if (v.next_edge < edges.size()) {
      // From the last edge to the first, so that the order follows the first edge first.
      enter(edges[edges.size() - ++v.next_edge].block);
    } else {
      order.push_back(v.block);
      stack.pop_back();
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

Dominators::Dominators(const Function& f)
    : order_(ReversePostorder(f)),
      idom_(f.blocks.size(), kNoBlock),
      children_(f.blocks.size()),
      first_(f.blocks.size()),
      last_(f.blocks.size()) {
  if (f.blocks.empty()) return;
  FindImmediate(f);
  for (uint32_t b : order_) {
    if (b != 0) children_[idom_[b]].push_back(b);
  }
  NumberTree();
}

void Dominators::FindImmediate(const Function& f) {
  const auto preds = Predecessors(f);
  std::vector<uint32_t> place(f.blocks.size());
  for (uint32_t i = 0; i < order_.size(); ++i) place[order_[i]] = i;
  const auto meet = [&](uint32_t a, uint32_t b) {
    while (a != b) {
      while (place[a] > place[b]) a = idom_[a];
      while (place[b] > place[a]) b = idom_[b];
    }
    return a;
  };
  idom_[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t b : order_) {
      if (b == 0) continue;
      uint32_t best = kNoBlock;
      for (uint32_t p : preds[b]) {
        if (idom_[p] == kNoBlock) continue;  // unreachable, or not reached in this round yet
        best = best == kNoBlock ? p : meet(best, p);
      }
      changed |= idom_[b] != best;
      idom_[b] = best;
    }
  }
}

void Dominators::NumberTree() {
  // Subtree sizes from the leaves up, then each child's interval follows its elder siblings'.
  std::vector<uint32_t> size(idom_.size(), 1);
  for (auto b = order_.rbegin(); b != order_.rend(); ++b) {
    if (*b != 0) size[idom_[*b]] += size[*b];
  }
  for (uint32_t b : order_) {
    uint32_t next = first_[b] + 1;
    last_[b] = first_[b] + size[b] - 1;
    for (uint32_t c : children_[b]) {
      first_[c] = next;
      next += size[c];
    }
  }
}

}  // namespace pullback::ir
