// A forward analysis of what may have been consumed. A definition makes the value fresh (a loop
// defines its tape anew each time around); a use of a value that may be consumed is the error.
// Only tapes that are used outside the block that defines them take part in the data flow, and only as far as
// something may still use them: its sets stay small however often a function pushes.
#include "core/ir/verify_tapes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/ir/dominance.h"

namespace pullback::ir::internal {
namespace {

class TapeFlow {
 public:
  explicit TapeFlow(const Function& f)
      : f_(f),
        order_(ReversePostorder(f)),
        live_(f.blocks.size()),
        in_(f.blocks.size()),
        consumed_(f.values.size()) {
    FindLive();
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
  template <typename Inst, typename Fn>
  void ForEachTape(const Inst& inst, Fn&& fn) const {
    ForEachOperand(inst, [&](const Value& v) {
      if (f_.TypeOf(v).IsTape()) fn(v);
    });
  }

  // Tapes, each with the blocks that use it; by tape.
  std::vector<std::pair<Value, uint32_t>> ListUses() const {
    std::vector<std::pair<Value, uint32_t>> uses;
    for (uint32_t b : order_) {
      const auto add = [&](const Value& v) {
        if (f_.TypeOf(v).IsTape()) uses.emplace_back(v, b);
      };
      for (const Inst& i : f_.blocks[b].insts) ForEachTape(i, add);
      ForEachTermOperand(f_.blocks[b].term, add);
    }
    std::sort(uses.begin(), uses.end());
    return uses;
  }

  // From each use back to the definition.
  void FindLive() {
    std::vector<uint32_t> home(f_.values.size(), kNoBlock);
    for (uint32_t b : order_) {
      for (Value v : f_.blocks[b].params) home[v.id] = b;
      for (const Inst& i : f_.blocks[b].insts) {
        for (Value v : i.results) home[v.id] = b;
      }
    }
    const auto preds = Predecessors(f_);
    std::vector<Value> last(f_.blocks.size());  // the tape that reached the block last
    std::vector<uint32_t> work;
    for (const auto& [v, user] : ListUses()) {
      work.push_back(user);
      while (!work.empty()) {
        const uint32_t b = work.back();
        work.pop_back();
        if (b == home[v.id] || last[b] == v) continue;
        last[b] = v;
        live_[b].push_back(v);
        any_shared_ = true;
        work.insert(work.end(), preds[b].begin(), preds[b].end());
      }
    }
  }

  // Runs block b from what may be consumed at its start and returns the first tape that is used
  // twice. With `changed`, passes the outcome on to the successors.
  Value Walk(uint32_t b, bool* changed) {
    const Block& block = f_.blocks[b];
    ++walk_;
    for (size_t k = 0; k < live_[b].size(); ++k) {
      if (in_[b][k]) consumed_[live_[b][k].id] = walk_;
    }
    Value reused;
    const auto use = [&](Value v) {
      if (std::exchange(consumed_[v.id], walk_) == walk_ && !reused.valid()) reused = v;
    };
    const auto define = [&](ValueSpan vs) {
      for (Value v : vs) consumed_[v.id] = 0;
    };
    define(block.params);
    for (const Inst& i : block.insts) {
      ForEachTape(i, use);
      define(i.results);
    }
    for (const Edge& e : block.term.edges) {  // only one of them is taken
      std::vector<Value> passed;
      for (Value v : e.args) {
        if (!f_.TypeOf(v).IsTape()) continue;
        if (consumed_[v.id] != walk_) passed.push_back(v);
        use(v);
      }
      if (changed) *changed |= Join(e.block);
      for (Value v : passed) consumed_[v.id] = 0;
    }
    for (Value v : block.term.results) {
      if (f_.TypeOf(v).IsTape()) use(v);
    }
    return reused;
  }

  bool Join(uint32_t into) {
    bool changed = false;
    for (size_t k = 0; k < live_[into].size(); ++k) {
      if (in_[into][k] || consumed_[live_[into][k].id] != walk_) continue;
      in_[into][k] = 1;
      changed = true;
    }
    return changed;
  }

  const Function& f_;
  const std::vector<uint32_t> order_;
  bool any_shared_ = false;
  // By block, at its start: the tapes from other blocks that may still be used, and which of them may be consumed.
  std::vector<std::vector<Value>> live_;
  std::vector<std::vector<char>> in_;
  std::vector<uint64_t>
      consumed_;  // by value: the walk of a block in which it may be consumed by now
  uint64_t walk_ = 0;
};

// Most functions have none; bodies of statements never do.
bool HasTapes(const Function& f) {
  const auto is_tape = [&](Value v) { return f.TypeOf(v).IsTape(); };
  return std::any_of(f.blocks.begin(), f.blocks.end(), [&](const Block& b) {
    return std::any_of(b.params.begin(), b.params.end(), is_tape) ||
           std::any_of(b.insts.begin(), b.insts.end(), [&](const Inst& inst) {
             return std::any_of(inst.results.begin(), inst.results.end(), is_tape);
           });
  });
}

}  // namespace

Value FindReusedTape(const Function& f, uint32_t* block) {
  return HasTapes(f) ? TapeFlow(f).FindReuse(block) : kNoValue;
}

}  // namespace pullback::ir::internal
