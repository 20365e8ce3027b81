#include "core/loops/refcounts.h"

#include <algorithm>
#include <utility>

namespace pullback::loops {
namespace {

using ir::Value;

// How often each is consumed: a return or a call may take thousands.
class Times {
 public:
  explicit Times(Consumed list) : sorted_(std::move(list)) {
    std::sort(sorted_.begin(), sorted_.end());
  }
  SortedValues Each() const {
    SortedValues each = sorted_;
    each.erase(std::unique(each.begin(), each.end()), each.end());
    return each;
  }
  int operator()(Value v) const {
    const auto [first, last] = std::equal_range(sorted_.begin(), sorted_.end(), v);
    return static_cast<int>(last - first);
  }

 private:
  Consumed sorted_;
};

}  // namespace

bool RetainConsumed(Emitter& e, const Consumed& consumed, const SortedValues& dies) {
  const Times times(consumed);
  bool ok = true;
  for (Value v : times.Each()) {
    const int more = times(v) - (Contains(dies, v) ? 1 : 0);
    for (int i = 0; i < more; ++i) e.Effect(Node::Kind::kRetain, {v});
    ok &= more == 0 || !e.TypeOf(v).IsTape();
  }
  return ok;
}

void ReleaseDead(Emitter& e, const Consumed& consumed, const SortedValues& dies) {
  const Times times(consumed);
  for (Value v : dies) {
    if (times(v) == 0) e.Effect(Node::Kind::kRelease, {v});
  }
}

EdgeCounts CountEdge(const SortedValues& owned, const SortedValues& live, const Consumed& args) {
  const Times times(args);
  EdgeCounts counts;
  for (Value v : owned) {
    const int wanted = times(v) + (Contains(live, v) ? 1 : 0);
    if (wanted == 0) counts.releases.push_back(v);
    for (int i = 1; i < wanted; ++i) counts.retains.push_back(v);
  }
  return counts;
}

void Emit(Emitter& e, const EdgeCounts& counts) {
  for (Value v : counts.retains) e.Effect(Node::Kind::kRetain, {v});
  for (Value v : counts.releases) e.Effect(Node::Kind::kRelease, {v});
}

}  // namespace pullback::loops
