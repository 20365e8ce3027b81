#include <utility>
#include <vector>

#include "core/opt/rename.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Block;
using ir::Edge;
using ir::Terminator;
using ir::Value;

class ControlFlow {
 public:
  explicit ControlFlow(ir::Function& f) : f_(f) {}

  bool Run() {
    bool changed = FoldBranches();
    changed |= ThreadEmptyBlocks();
    changed |= MergePairs();
    changed |= RemoveUnreachable();
    changed |= RemoveTrivialParams();
    return changed;
  }

 private:
  // A branch on a constant, or with two equal edges, is a jump.
  bool FoldBranches() {
    std::vector<int> constant(f_.values.size(), -1);
    for (const Block& b : f_.blocks) {
      for (const ir::Inst& inst : b.insts) {
        if (inst.op == ir::Op::Const && f_.TypeOf(inst.results[0]) == ir::Type::Bool())
          constant[inst.results[0].id] = inst.bits != 0;
      }
    }
    bool changed = false;
    for (Block& b : f_.blocks) {
      Terminator& t = b.term;
      if (t.kind != Terminator::Kind::kBranch) continue;
      const bool same = t.edges[0].block == t.edges[1].block && t.edges[0].args == t.edges[1].args;
      if (constant[t.cond.id] < 0 && !same) continue;
      Edge taken = std::move(t.edges[constant[t.cond.id] == 0 ? 1 : 0]);
      t = Terminator{Terminator::Kind::kJump, ir::kNoValue, {std::move(taken)}, {}, t.snapshots};
      changed = true;
    }
    return changed;
  }

  std::vector<int> CountPredecessors() const {
    std::vector<int> count(f_.blocks.size());
    for (const Block& b : f_.blocks) {
      for (const Edge& e : b.term.edges) ++count[e.block];
    }
    return count;
  }

  // An edge to an empty block without parameters that only jumps goes straight to its target.
  bool ThreadEmptyBlocks() {
    bool changed = false;
    for (Block& b : f_.blocks) {
      for (Edge& e : b.term.edges) {
        const Block& to = f_.blocks[e.block];
        if (!to.params.empty() || !to.insts.empty()) continue;
        if (to.term.kind != Terminator::Kind::kJump || &to == &b) continue;
        if (to.term.edges[0].block == e.block) continue;  // an empty endless loop
        // The two edges of a branch must stay distinguishable only by their arguments: allowed.
        Edge next = to.term.edges[0];
        e = std::move(next);
        changed = true;
      }
    }
    return changed;
  }

  // b jumps to c and c has no other predecessor: c's text continues b. From the first block of such a chain on, so
  // that each text moves once.
  bool MergePairs() {
    std::vector<int> preds = CountPredecessors();
    std::vector<char> continues(f_.blocks.size());
    for (const Block& b : f_.blocks) {
      if (b.term.kind != Terminator::Kind::kJump) continue;
      const uint32_t c = b.term.edges[0].block;
      continues[c] = c != 0 && preds[c] == 1;
    }
    Renaming renaming(f_);
    bool changed = false;
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      if (b != 0 && (preds[b] == 0 || continues[b])) continue;
      while (f_.blocks[b].term.kind == Terminator::Kind::kJump) {
        Edge edge = f_.blocks[b].term.edges[0];
        const uint32_t c = edge.block;
        if (c == b || c == 0 || preds[c] != 1) break;
        for (size_t k = 0; k < edge.args.size(); ++k) {
          f_.values[edge.args[k].id].name = f_.values[edge.args[k].id].name.empty()
                                                ? f_.values[f_.blocks[c].params[k].id].name
                                                : f_.values[edge.args[k].id].name;
          renaming.Set(f_.blocks[c].params[k], edge.args[k]);
        }
        Block& from = f_.blocks[c];
        Block& into = f_.blocks[b];
        into.insts.insert(into.insts.end(), std::make_move_iterator(from.insts.begin()),
                          std::make_move_iterator(from.insts.end()));
        from.term.snapshots = into.term.snapshots;  // of what has one way in, nothing is a loop's
        into.term = std::move(from.term);
        from = Block{};
        preds[c] = 0;
        changed = true;
      }
    }
    renaming.Apply(f_);
    return changed;
  }

  bool RemoveUnreachable() {
    constexpr uint32_t kUnseen = UINT32_MAX;
    std::vector<uint32_t> number(f_.blocks.size(), kUnseen);
    std::vector<uint32_t> work = {0};
    number[0] = 0;
    while (!work.empty()) {
      const uint32_t b = work.back();
      work.pop_back();
      for (const Edge& e : f_.blocks[b].term.edges) {
        if (number[e.block] != kUnseen) continue;
        number[e.block] = 0;
        work.push_back(e.block);
      }
    }
    uint32_t next = 0;
    for (uint32_t& n : number) {
      if (n != kUnseen) n = next++;
    }
    if (next == f_.blocks.size()) return false;
    std::vector<Block> kept;
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      if (number[b] == kUnseen) continue;
      for (Edge& e : f_.blocks[b].term.edges) e.block = number[e.block];
      kept.push_back(std::move(f_.blocks[b]));
    }
    f_.blocks = std::move(kept);
    return true;
  }

  // A parameter that gets one value on every edge (itself aside) is that value. The blocks to which a removed
  // parameter was passed are looked at again.
  bool RemoveTrivialParams() {
    Renaming renaming(f_);
    std::vector<std::vector<uint32_t>> passed_to(f_.values.size());
    for (const Block& b : f_.blocks) {
      for (const Edge& e : b.term.edges) {
        for (Value v : e.args) passed_to[v.id].push_back(e.block);
      }
    }
    std::vector<char> waits(f_.blocks.size(), 1);
    std::vector<uint32_t> work;
    for (auto b = static_cast<uint32_t>(f_.blocks.size()); b-- > 1;) work.push_back(b);
    while (!work.empty()) {
      const uint32_t b = work.back();
      work.pop_back();
      waits[b] = 0;
      for (const auto& [param, only] : RemoveTrivialParams(b, renaming)) {
        std::vector<uint32_t> users = std::move(passed_to[param.id]);
        for (uint32_t user : users) {
          if (!waits[user]) work.push_back(user);
          waits[user] = 1;
        }
        auto& of_only = passed_to[only.id];
        if (of_only.size() < users.size()) std::swap(of_only, users);
        of_only.insert(of_only.end(), users.begin(), users.end());
      }
    }
    renaming.Apply(f_);
    return renaming.any();
  }

  // Those that were, with what they are.
  std::vector<std::pair<Value, Value>> RemoveTrivialParams(uint32_t b, Renaming& renaming) {
    std::vector<std::pair<Value, Value>> removed;
    for (size_t k = f_.blocks[b].params.size(); k-- > 0;) {
      const Value param = f_.blocks[b].params[k];
      Value only;
      bool trivial = true;
      ForEachEdgeTo(b, [&](Edge& e) {
        const Value arg = renaming.Get(e.args[k]);
        if (arg == param) return;
        trivial &= !only.valid() || only == arg;
        only = arg;
      });
      if (!trivial || !only.valid()) continue;
      renaming.Set(param, only);
      if (f_.values[only.id].name.empty()) f_.values[only.id].name = f_.values[param.id].name;
      f_.blocks[b].params.erase(f_.blocks[b].params.begin() + static_cast<long>(k));
      ForEachEdgeTo(b, [&](Edge& e) { e.args.erase(e.args.begin() + static_cast<long>(k)); });
      removed.emplace_back(param, only);
    }
    return removed;
  }

  template <typename Fn>
  void ForEachEdgeTo(uint32_t target, Fn&& fn) {
    if (incoming_.size() != f_.blocks.size() || stale_) Reindex();
    for (auto [b, e] : incoming_[target]) fn(f_.blocks[b].term.edges[e]);
  }
  void Reindex() {
    incoming_.assign(f_.blocks.size(), {});
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      for (uint32_t e = 0; e < f_.blocks[b].term.edges.size(); ++e)
        incoming_[f_.blocks[b].term.edges[e].block].emplace_back(b, e);
    }
    stale_ = false;
  }

  ir::Function& f_;
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> incoming_;
  bool stale_ = true;
};

}  // namespace

bool SimplifyControlFlow(ir::Function& f) { return ControlFlow(f).Run(); }

}  // namespace pullback::opt
