// A forward analysis of what may have been consumed. A definition makes the value fresh (a loop
// defines its tape anew each time around); a use of a value that may be consumed is the error.
// Only tapes that are used outside the block that defines them take part in the data flow, so its
// sets stay small although a long block may push very often.
#include "core/ir/verify_tapes.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/ir/dominance.h"

namespace pullback::ir::internal {
namespace {

constexpr uint32_t kLocal = UINT32_MAX;
using Set = std::vector<bool>;

class TapeFlow {
 public:
  explicit TapeFlow(const Function& f) : f_(f), order_(ReversePostorder(f)) {
    NumberSharedTapes();
    in_.assign(f.blocks.size(), Set(shared_));
  }

  Value FindReuse(uint32_t* block) {
    for (bool changed = shared_ > 0; changed;) {
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
  // What may be consumed at one point of a block.
  struct State {
    Set shared;
    absl::flat_hash_set<uint32_t> local;
  };

  template <typename Inst, typename Fn>
  void ForEachTape(const Inst& inst, Fn&& fn) const {
    ForEachOperand(inst, [&](const Value& v) {
      if (f_.TypeOf(v).IsTape()) fn(v);
    });
  }

  void NumberSharedTapes() {
    number_.assign(f_.values.size(), kLocal);
    std::vector<uint32_t> home(f_.values.size(), kNoBlock);
    for (uint32_t b : order_) {
      for (Value v : f_.blocks[b].params) home[v.id] = b;
      for (const Inst& i : f_.blocks[b].insts) {
        for (Value v : i.results) home[v.id] = b;
      }
    }
    for (uint32_t b : order_) {
      const auto use = [&](const Value& v) {
        if (f_.TypeOf(v).IsTape() && home[v.id] != b && number_[v.id] == kLocal) {
          number_[v.id] = shared_++;
        }
      };
      for (const Inst& i : f_.blocks[b].insts) ForEachTape(i, use);
      ForEachTermOperand(f_.blocks[b].term, use);
    }
  }

  void Define(ValueSpan vs, State& s) const {
    for (Value v : vs) {
      if (number_[v.id] != kLocal) s.shared[number_[v.id]] = false;
    }
  }

  // Returns false when v may be consumed already.
  bool Use(Value v, State& s) const {
    if (number_[v.id] == kLocal) return s.local.insert(v.id).second;
    const bool fresh = !s.shared[number_[v.id]];
    s.shared[number_[v.id]] = true;
    return fresh;
  }

  // Runs block b from what may be consumed at its start and returns the first tape that is used
  // twice. With `changed`, passes the outcome on to the successors.
  Value Walk(uint32_t b, bool* changed) {
    const Block& block = f_.blocks[b];
    State s{in_[b], {}};
    Value reused;
    const auto use = [&](Value v, State& at) {
      if (!Use(v, at) && !reused.valid()) reused = v;
    };
    Define(block.params, s);
    for (const Inst& i : block.insts) {
      ForEachTape(i, [&](Value v) { use(v, s); });
      Define(i.results, s);
    }
    for (const Edge& e : block.term.edges) {  // only one of them is taken
      State on_edge = s;
      for (Value v : e.args) {
        if (f_.TypeOf(v).IsTape()) use(v, on_edge);
      }
      if (changed) *changed |= Join(on_edge.shared, in_[e.block]);
    }
    for (Value v : block.term.results) {
      if (f_.TypeOf(v).IsTape()) use(v, s);
    }
    return reused;
  }

  static bool Join(const Set& from, Set& into) {
    bool changed = false;
    for (size_t i = 0; i < from.size(); ++i) {
      if (!from[i] || into[i]) continue;
      into[i] = true;
      changed = true;
    }
    return changed;
  }

  const Function& f_;
  const std::vector<uint32_t> order_;
  std::vector<uint32_t> number_;  // of a shared tape, else kLocal
  uint32_t shared_ = 0;
  std::vector<Set> in_;  // what may be consumed at the start of each block
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
