#include "core/ir/dominance.h"

#include <algorithm>
#include <utility>

#include "core/base/work.h"

namespace pullback::ir {

FlatLists Predecessors(const FlatLists& successors) {
  return FlatLists(successors.size(), [&](auto&& add) {
    for (uint32_t b = 0; b < successors.size(); ++b) {
      for (uint32_t to : successors[b]) add(to, b);
    }
  });
}
FlatLists EdgesTo(const FlatLists& successors) {
  return FlatLists(successors.size(), [&](auto&& add) {
    for (uint32_t b = 0; b < successors.size(); ++b) {
      for (uint32_t e = 0; e < successors[b].size(); ++e) add(successors[b][e], 2 * b + e);
    }
  });
}
FlatLists Predecessors(const Function& f) { return Predecessors(Successors(f.blocks)); }

std::vector<uint32_t> ReversePostorder(const FlatLists& successors) {
  Spend(successors.size());
  struct Visit {
    uint32_t block, edges_left;
  };
  std::vector<uint32_t> order;
  std::vector<char> seen(successors.size());
  std::vector<Visit> stack;  // explicit: programs may have very many blocks
  const auto enter = [&](uint32_t b) {
    if (seen[b]) return;
    seen[b] = 1;
    stack.push_back({b, static_cast<uint32_t>(successors[b].size())});
  };
  if (successors.size() > 0) enter(0);
  while (!stack.empty()) {
    Visit& v = stack.back();
    if (v.edges_left > 0) {
      // From the last edge to the first, so that the order follows the first edge first.
      enter(successors[v.block][--v.edges_left]);
    } else {
      order.push_back(v.block);
      stack.pop_back();
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}
std::vector<uint32_t> ReversePostorder(const Function& f) {
  return ReversePostorder(Successors(f.blocks));
}

namespace {

// Blocks have numbers in the order in which a search from the entry comes to them.
class LengauerTarjan {
 public:
  explicit LengauerTarjan(const FlatLists& successors) : number_(successors.size(), kNoBlock) {
    Search(successors);
  }

  // By block; of an unreachable one kNoBlock.
  std::vector<uint32_t> Find(const FlatLists& preds) {
    const auto n = static_cast<uint32_t>(block_.size());
    semi_.resize(n);
    for (uint32_t w = 0; w < n; ++w) semi_[w] = w;
    best_ = semi_;
    ancestor_.assign(n, kNoBlock);
    std::vector<uint32_t> idom(n);
    std::vector<uint32_t> waiting(n, kNoBlock), next(n);  // lists by semidominator
    for (uint32_t w = n; w-- > 1;) {
      for (uint32_t p : preds[block_[w]]) {
        if (number_[p] != kNoBlock) semi_[w] = std::min(semi_[w], semi_[Best(number_[p])]);
      }
      next[w] = std::exchange(waiting[semi_[w]], w);
      const uint32_t parent = parent_[w];
      ancestor_[w] = parent;
      for (uint32_t v = waiting[parent]; v != kNoBlock; v = next[v]) {
        const uint32_t u = Best(v);
        idom[v] = semi_[u] < semi_[v] ? u : parent;
      }
      waiting[parent] = kNoBlock;
    }
    std::vector<uint32_t> of_block(number_.size(), kNoBlock);
    for (uint32_t w = 0; w < n; ++w) {
      if (w > 0 && idom[w] != semi_[w]) idom[w] = idom[idom[w]];
      of_block[block_[w]] = block_[idom[w]];
    }
    return of_block;
  }

 private:
  void Search(const FlatLists& successors) {
    std::vector<std::pair<uint32_t, uint32_t>> work = {{0, 0}};  // a block, from which number
    while (!work.empty()) {
      const auto [b, from] = work.back();
      work.pop_back();
      if (number_[b] != kNoBlock) continue;
      const auto w = number_[b] = static_cast<uint32_t>(block_.size());
      block_.push_back(b);
      parent_.push_back(from);
      for (uint32_t to : successors[b]) work.emplace_back(to, w);
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

Dominators::Dominators(const FlatLists& successors)
    : order_(ReversePostorder(successors)), first_(successors.size()), last_(successors.size()) {
  if (successors.size() == 0) return;
  idom_ = LengauerTarjan(successors).Find(Predecessors(successors));
  children_ = FlatLists(successors.size(), [&](auto&& add) {
    for (uint32_t b : order_) {
      if (b != 0) add(idom_[b], b);
    }
  });
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
