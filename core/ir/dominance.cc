#include "core/ir/dominance.h"

#include <algorithm>
#include <utility>

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

namespace {

// Blocks have numbers in the order in which a search from the entry comes to them.
class LengauerTarjan {
 public:
  explicit LengauerTarjan(const Function& f) : number_(f.blocks.size(), kNoBlock) { Search(f); }

  // By block; of an unreachable one kNoBlock.
  std::vector<uint32_t> Find(const Function& f) {
    const auto preds = Predecessors(f);
    const auto n = static_cast<uint32_t>(block_.size());
    semi_.resize(n);
    for (uint32_t w = 0; w < n; ++w) semi_[w] = w;
    best_ = semi_;
    ancestor_.assign(n, kNoBlock);
    std::vector<uint32_t> idom(n);
    std::vector<std::vector<uint32_t>> waiting(n);  // by semidominator
    for (uint32_t w = n; w-- > 1;) {
      for (uint32_t p : preds[block_[w]]) {
        if (number_[p] != kNoBlock) semi_[w] = std::min(semi_[w], semi_[Best(number_[p])]);
      }
      waiting[semi_[w]].push_back(w);
      const uint32_t parent = parent_[w];
      ancestor_[w] = parent;
      for (uint32_t v : waiting[parent]) {
        const uint32_t u = Best(v);
        idom[v] = semi_[u] < semi_[v] ? u : parent;
      }
      waiting[parent].clear();
    }
    std::vector<uint32_t> of_block(f.blocks.size(), kNoBlock);
    for (uint32_t w = 0; w < n; ++w) {
      if (w > 0 && idom[w] != semi_[w]) idom[w] = idom[idom[w]];
      of_block[block_[w]] = block_[idom[w]];
    }
    return of_block;
  }

 private:
  void Search(const Function& f) {
    std::vector<std::pair<uint32_t, uint32_t>> work = {{0, 0}};  // a block, from which number
    while (!work.empty()) {
      const auto [b, from] = work.back();
      work.pop_back();
      if (number_[b] != kNoBlock) continue;
      const auto w = number_[b] = static_cast<uint32_t>(block_.size());
      block_.push_back(b);
      parent_.push_back(from);
      for (const Edge& e : f.blocks[b].term.edges) work.emplace_back(e.block, w);
    }
  }

  // Of v and its ancestors below the root of its tree, that with the least semidominator; paths become short.
  uint32_t Best(uint32_t v) {
    if (ancestor_[v] == kNoBlock) return v;
    path_.clear();
    for (; ancestor_[ancestor_[v]] != kNoBlock; v = ancestor_[v]) path_.push_back(v);
    const uint32_t last = v;
    for (; !path_.empty(); path_.pop_back()) {
      v = path_.back();
      const uint32_t above = ancestor_[v];
      if (semi_[best_[above]] < semi_[best_[v]]) best_[v] = best_[above];
      ancestor_[v] = ancestor_[last];
    }
    return best_[v];
  }

  std::vector<uint32_t> number_;                                   // by block
  std::vector<uint32_t> block_, parent_, semi_, best_, ancestor_;  // by number
  std::vector<uint32_t> path_;
};

}  // namespace

Dominators::Dominators(const Function& f)
    : order_(ReversePostorder(f)),
      children_(f.blocks.size()),
      first_(f.blocks.size()),
      last_(f.blocks.size()) {
  if (f.blocks.empty()) return;
  idom_ = LengauerTarjan(f).Find(f);
  for (uint32_t b : order_) {
    if (b != 0) children_[idom_[b]].push_back(b);
  }
  NumberTree();
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
