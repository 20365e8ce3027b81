#include "core/loops/refcounts.h"

#include <algorithm>

namespace pullback::loops {
namespace {

using ir::Value;

int Times(const Consumed& list, Value v) {
  return static_cast<int>(std::count(list.begin(), list.end(), v));
}

}  // namespace

bool RetainConsumed(Emitter& e, const Consumed& consumed, const std::set<Value>& dies) {
  bool ok = true;
  for (Value v : std::set<Value>(consumed.begin(), consumed.end())) {
    const int more = Times(consumed, v) - (dies.count(v) > 0 ? 1 : 0);
    for (int i = 0; i < more; ++i) e.Effect(Node::Kind::kRetain, {v});
    ok &= more == 0 || !e.TypeOf(v).IsTape();
  }
  return ok;
}

void ReleaseDead(Emitter& e, const Consumed& consumed, const std::set<Value>& dies) {
  for (Value v : dies) {
    if (Times(consumed, v) == 0) e.Effect(Node::Kind::kRelease, {v});
  }
}

EdgeCounts CountEdge(const std::set<Value>& owned, const std::set<Value>& live,
                     const Consumed& args) {
  EdgeCounts counts;
  for (Value v : owned) {
    const int wanted = Times(args, v) + (live.count(v) > 0 ? 1 : 0);
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
