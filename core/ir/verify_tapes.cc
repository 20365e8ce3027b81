// A forward analysis of what may have been consumed. A definition makes the value fresh (a loop
// defines its tape anew each time around); a use of a value that may be consumed is the error.
// Only tapes that are used outside the block that defines them take part in the data flow, and only as far as
// something may still use them: its sets stay small however often a function pushes.
#include "core/ir/verify_tapes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "core/ir/dominance.h"

namespace pullback::ir::internal {
namespace {

// What blocks do with tapes, in order, so that the data flow need not walk over their instructions.
class TapeEvents {
 public:
  enum class Kind : uint8_t { kDefine, kUse, kEdge, kPass };
  struct Event {
    Kind kind;
    uint32_t id;  // the tape's; of an edge the block it leads to: what it passes follows
  };

  explicit TapeEvents(const Function& f) : is_tape_(f.values.size()) {
    for (size_t id = 0; id < f.values.size(); ++id) is_tape_[id] = f.values[id].IsTape();
    for (const Block& block : f.blocks) {
      begin_.push_back(events_.size());
      Add(block);
    }
    begin_.push_back(events_.size());
  }

  absl::Span<const Event> operator[](uint32_t block) const {
    return {events_.data() + begin_[block], begin_[block + 1] - begin_[block]};
  }

 private:
  void Add(const Block& block) {
    const auto define = [&](const Value& v) { Add(Kind::kDefine, v); };
    const auto use = [&](const Value& v) { Add(Kind::kUse, v); };
    for (Value v : block.params) define(v);
    for (const Inst& inst : block.insts) {
      ForEachOperand(inst, use);
      for (Value v : inst.results) define(v);
    }
    for (const Edge& e : block.term.edges) {
      events_.push_back({Kind::kEdge, e.block});
      for (Value v : e.args) Add(Kind::kPass, v);
    }
    for (Value v : block.term.results) use(v);
  }
  void Add(Kind kind, Value v) {
    if (is_tape_[v.id]) events_.push_back({kind, v.id});
  }

  std::vector<char> is_tape_;  // by value
  std::vector<Event> events_;
  std::vector<size_t> begin_;  // in events_, by block; then the end
};

class TapeFlow {
 public:
  explicit TapeFlow(const Function& f)
      : events_(f),
        order_(ReversePostorder(f)),
        live_(f.blocks.size()),
        in_(f.blocks.size()),
        consumed_(f.values.size()) {
    FindLive(Predecessors(f));
    for (uint32_t b : order_) in_[b].resize(live_[b].size());
  }

  Value FindReuse(uint32_t* block) {
    for (bool changed = any_shared_; changed;) {
      changed = false;
      for (uint32_t b : order_) Walk(b, &changed);
    }
    for (uint32_t b : order_) {
      *block = b;
      if (const Value v = Walk(b, nullptr); v.valid()) return v;
    }
    return kNoValue;
  }

 private:
  using Kind = TapeEvents::Kind;
  using Event = TapeEvents::Event;

  // Tapes, each with the blocks that use it; by tape.
  std::vector<std::pair<uint32_t, uint32_t>> ListUses() const {
    std::vector<std::pair<uint32_t, uint32_t>> uses;
    for (uint32_t b : order_) {
      for (const Event& e : events_[b]) {
        if (e.kind == Kind::kUse || e.kind == Kind::kPass) uses.emplace_back(e.id, b);
      }
    }
    std::sort(uses.begin(), uses.end());
    return uses;
  }

  // From each use back to the definition.
  void FindLive(const FlatLists& preds) {
    std::vector<uint32_t> home(consumed_.size(), kNoBlock);
    for (uint32_t b : order_) {
      for (const Event& e : events_[b]) {
        if (e.kind == Kind::kDefine) home[e.id] = b;
      }
    }
    std::vector<uint32_t> last(preds.size(), kNoValue.id);  // the tape that reached the block last
    std::vector<uint32_t> work;
    for (const auto& [tape, user] : ListUses()) {
      work.push_back(user);
      while (!work.empty()) {
        const uint32_t b = work.back();
        work.pop_back();
        if (b == home[tape] || last[b] == tape) continue;
        last[b] = tape;
        live_[b].push_back(tape);
        any_shared_ = true;
        work.insert(work.end(), preds[b].begin(), preds[b].end());
      }
    }
  }

  // Runs block b from what may be consumed at its start and returns the first tape that is used
  // twice. With `changed`, passes the outcome on to the successors.
  Value Walk(uint32_t b, bool* changed) {
    ++walk_;
    for (size_t k = 0; k < live_[b].size(); ++k) {
      if (in_[b][k]) consumed_[live_[b][k]] = walk_;
    }
    Value reused;
    const absl::Span<const Event> events = events_[b];
    for (size_t k = 0; k < events.size(); ++k) {
      const Event& e = events[k];
      switch (e.kind) {
        case Kind::kDefine: consumed_[e.id] = 0; break;
        case Kind::kPass:
        case Kind::kUse: Use(e.id, &reused); break;
        case Kind::kEdge: k += Take(e.id, events.subspan(k + 1), &reused, changed); break;
      }
    }
    return reused;
  }

  void Use(uint32_t tape, Value* reused) {
    const bool again = std::exchange(consumed_[tape], walk_) == walk_;
    if (again && !reused->valid()) *reused = Value{tape};
  }

  // One edge of a block, to `into`, with the events behind it: how many of them it passes. What it consumes the
  // other edge does not, since only one of them is taken.
  size_t Take(uint32_t into, absl::Span<const Event> events, Value* reused, bool* changed) {
    passed_.clear();
    size_t count = 0;
    for (; count < events.size() && events[count].kind == Kind::kPass; ++count) {
      const uint32_t tape = events[count].id;
      if (consumed_[tape] != walk_) passed_.push_back(tape);
      Use(tape, reused);
    }
    if (changed) *changed |= Join(into);
    for (uint32_t tape : passed_) consumed_[tape] = 0;
    return count;
  }

  bool Join(uint32_t into) {
    bool changed = false;
    for (size_t k = 0; k < live_[into].size(); ++k) {
      if (in_[into][k] || consumed_[live_[into][k]] != walk_) continue;
      in_[into][k] = 1;
      changed = true;
    }
    return changed;
  }

  const TapeEvents events_;
  const std::vector<uint32_t> order_;
  bool any_shared_ = false;
  // By block, at its start: the tapes from other blocks that may still be used, and which of them may be consumed.
  std::vector<absl::InlinedVector<uint32_t, 4>> live_;
  std::vector<absl::InlinedVector<char, 16>> in_;
  std::vector<uint64_t>
      consumed_;  // by value: the walk of a block in which it may be consumed by now
  uint64_t walk_ = 0;
  std::vector<uint32_t> passed_;  // of one edge
};

// Most functions have none; bodies of statements never do.
bool HasTapes(const Function& f) {
  return std::any_of(f.values.begin(), f.values.end(), [](Type t) { return t.IsTape(); });
}

}  // namespace

Value FindReusedTape(const Function& f, uint32_t* block) {
  return HasTapes(f) ? TapeFlow(f).FindReuse(block) : kNoValue;
}

}  // namespace pullback::ir::internal
