#include "core/loops/row_order.h"

#include <algorithm>
#include <utility>

namespace pullback::loops {
namespace {

constexpr size_t kMostApart = 64;    // nodes from the first loop to the last
constexpr size_t kMostNodes = 1000;  // in a loop

}  // namespace

RowItem& RowOrder::Add(Node node) {
  const size_t k = items_.size();
  order_.push_back(k);
  return items_.emplace_back(TakeItem(std::move(node), k));
}

size_t RowOrder::Joined(size_t k) const {
  while (items_[k].joined != k) k = items_[k].joined;
  return k;
}

bool RowOrder::Fuse(Members members, Into into) {
  size_t first = order_.size(), last = 0;
  for (size_t k : members) {
    first = std::min(first, items_[k].place);
    last = std::max(last, items_[k].place);
  }
  if (last - first > kMostApart) return false;
  std::vector<bool> after;
  if (!Close(members, first, last, after) || !MayFuse(members, into)) return false;
  std::vector<size_t> order;
  const auto take = [&](bool which) {
    for (size_t p = first; p <= last; ++p) {
      if (!members.contains(order_[p]) && after[p - first] == which) order.push_back(order_[p]);
    }
  };
  take(false);
  const size_t loop = Join(members, first, last, into);
  order.push_back(loop);
  take(true);
  // What has joined is a loop without a body by now, and may be anywhere.
  for (size_t k : members) {
    if (k != loop) order.push_back(k);
  }
  for (size_t p = first; p <= last; ++p) {
    order_[p] = order[p - first];
    items_[order_[p]].place = p;
  }
  return true;
}

std::vector<Node> RowOrder::PutBack() {
  std::vector<Node> nodes;
  for (size_t k : order_) loops::PutBack(std::move(items_[k]), nodes);
  return nodes;
}

bool RowOrder::SameBounds(size_t a, size_t b) const {
  return items_[b].IsLoop() && items_[a].node.args == items_[b].node.args;
}

// Loops in between that some member needs, and that need another, become members. `after`: by place, what needs one.
bool RowOrder::Close(Members& members, size_t first, size_t last, std::vector<bool>& after) const {
  for (bool grown = true; grown;) {
    grown = false;
    after = Reached(members, first, last, true);
    const std::vector<bool> needed = Reached(members, first, last, false);
    for (size_t p = first; p <= last; ++p) {
      if (!after[p - first] || !needed[p - first]) continue;
      if (!SameBounds(*members.begin(), order_[p])) return false;
      grown |= members.insert(order_[p]).second;
    }
  }
  return true;
}

// By place: no member, but needs one, or (not forwards) is needed by one, through others or not.
std::vector<bool> RowOrder::Reached(const Members& members, size_t first, size_t last,
                                    bool forwards) const {
  const size_t count = last - first + 1;
  std::vector<bool> reached(count);
  for (size_t step = 0; step < count; ++step) {
    const size_t at = forwards ? step : count - 1 - step;
    if (members.contains(order_[first + at])) continue;
    for (size_t other = 0; other < step && !reached[at]; ++other) {
      const size_t from = forwards ? other : count - 1 - other;
      if (!reached[from] && !members.contains(order_[first + from])) continue;
      const Effects& mine = items_[order_[first + at]].effects;
      const Effects& its = items_[order_[first + from]].effects;
      reached[at] = DependenceOf(forwards ? mine : its, forwards ? its : mine) != Dependence::kNone;
    }
  }
  return reached;
}

bool RowOrder::MayFuse(const Members& members, Into into) const {
  size_t size = 0;
  for (size_t a : members) {
    size += items_[a].size;
    if (into != Into::kStrips && size > kMostNodes) return false;
    if (into == Into::kLoopOfPlain && items_[a].IsBetterAlone()) return false;
    for (size_t b : members) {
      if (a == b) break;
      if (!SameBounds(a, b)) return false;
      if (DependenceOf(items_[a].effects, items_[b].effects) == Dependence::kWhole) return false;
    }
  }
  return true;
}

// Into the first of them, in order.
size_t RowOrder::Join(const Members& members, size_t first, size_t last, Into into) {
  size_t loop = items_.size();
  for (size_t p = first; p <= last; ++p) {
    const size_t k = order_[p];
    if (!members.contains(k)) continue;
    if (loop == items_.size()) {
      loop = k;
      if (into == Into::kStrips) StartStrips(items_[k]);
    } else {
      (into == Into::kStrips ? JoinStrips : JoinLoops)(items_[k], items_[loop], Side::kBehind);
    }
  }
  return loop;
}

}  // namespace pullback::loops
