#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/flat_lists.h"
#include "core/ir/dominance.h"
#include "core/opt/carried_extents.h"
#include "core/opt/invariant_params.h"
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
  ControlFlow(ir::Function& f, const RewriteOptions& options) : f_(f), options_(options) {}

  bool Run() {
    bool changed = FoldBranches();
    changed |= ThreadEmptyBlocks();
    changed |= RemoveUnreachable();  // a loop that was cut off would be merged into itself
    changed |= MergePairs();
    changed |= RemoveUnreachable();
    changed |= RemoveTrivialParams();
    changed |= RemoveInvariantParams(f_, options_);
    changed |= ReadCarriedExtents(f_, options_);
    return changed;
  }

 private:
  // A branch on a constant, or with two equal edges, is a jump.
  bool FoldBranches() {
    std::vector<signed char> constant(f_.values.size(), -1);
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
      const signed char known = constant[t.cond.id];
      if (known < 0 && !same) continue;
      if (!options_.Take(known < 0    ? RuleId::kBranchEqualArms
                         : known == 0 ? RuleId::kBranchFalse
                                      : RuleId::kBranchTrue))
        continue;
      Edge taken = std::move(t.edges[known == 0 ? 1 : 0]);
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
        const uint32_t c = f_.blocks[b].term.edges[0].block;
        if (c == b || c == 0 || preds[c] != 1) break;
        const size_t params = f_.blocks[c].params.size();
        if (params > 0 && !options_.Take(RuleId::kInlineLet, params)) break;
        const Edge edge = std::move(f_.blocks[b].term.edges[0]);
        for (size_t k = 0; k < edge.args.size(); ++k) {
          f_.names[edge.args[k].id] = f_.names[edge.args[k].id].empty()
                                          ? f_.names[f_.blocks[c].params[k].id]
                                          : f_.names[edge.args[k].id];
          renaming.Set(f_.blocks[c].params[k], edge.args[k]);
        }
        Block& from = f_.blocks[c];
        Block& into = f_.blocks[b];
        into.insts.insert(into.insts.end(), std::make_move_iterator(from.insts.begin()),
                          std::make_move_iterator(from.insts.end()));
        // Of what has one way in nothing is a loop's; and where nothing goes on there is none.
        from.term.snapshots = from.term.edges.empty() ? ir::kNoValue : into.term.snapshots;
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
    edges_to_ = ir::EdgesTo(ir::Successors(f_.blocks));
    Renaming renaming(f_);
    if (!HasTrivialParams(renaming)) return false;
    PassedTo passed_to(f_);
    std::vector<char> waits(f_.blocks.size(), 1);
    // With the flow: what is passed on and on is looked at when it is known.
    std::vector<uint32_t> work = ir::ReversePostorder(f_);
    std::reverse(work.begin(), work.end());
    work.pop_back();  // the entry
    while (!work.empty()) {
      const uint32_t b = work.back();
      work.pop_back();
      waits[b] = 0;
      for (const auto& [param, only] : RemoveTrivialParams(b, renaming)) {
        passed_to.ForEach(param, [&](uint32_t user) {
          if (!waits[user]) work.push_back(user);
          waits[user] = 1;
        });
        passed_to.Join(only, param);
      }
    }
    renaming.Apply(f_);
    return renaming.any();
  }

  bool HasTrivialParams(const Renaming& renaming) const {
    for (uint32_t b = 1; b < f_.blocks.size(); ++b) {
      for (size_t k = 0; k < f_.blocks[b].params.size(); ++k) {
        if (OnlyArgument(b, k, renaming).valid()) return true;
      }
    }
    return false;
  }

  // What parameter k of block b always is; kNoValue: it differs.
  Value OnlyArgument(uint32_t b, size_t k, const Renaming& renaming) const {
    const Value param = f_.blocks[b].params[k];
    Value only;
    for (uint32_t edge : edges_to_[b]) {
      const Value arg = renaming.Get(ir::EdgeOf(f_, edge).args[k]);
      if (arg == param) continue;
      if (only.valid() && only != arg) return ir::kNoValue;
      only = arg;
    }
    return only;
  }

  bool GetsItself(uint32_t b, size_t k, const Renaming& renaming) const {
    const auto edges = edges_to_[b];
    return std::any_of(edges.begin(), edges.end(), [&](uint32_t edge) {
      return renaming.Get(ir::EdgeOf(f_, edge).args[k]) == f_.blocks[b].params[k];
    });
  }

  // Those that were, with what they are.
  std::vector<std::pair<Value, Value>> RemoveTrivialParams(uint32_t b, Renaming& renaming) {
    std::vector<std::pair<Value, Value>> removed;
    for (size_t k = f_.blocks[b].params.size(); k-- > 0;) {
      const Value param = f_.blocks[b].params[k];
      const Value only = OnlyArgument(b, k, renaming);
      if (!only.valid()) continue;
      const bool again = GetsItself(b, k, renaming);
      if (!options_.Take(again ? RuleId::kLoopIdentityBody : RuleId::kInlineLet)) continue;
      renaming.Set(param, only);
      if (f_.names[only.id].empty()) f_.names[only.id] = f_.names[param.id];
      f_.blocks[b].params.erase(f_.blocks[b].params.begin() + static_cast<long>(k));
      for (uint32_t edge : edges_to_[b]) {
        ir::Values& args = ir::EdgeOf(f_, edge).args;
        args.erase(args.begin() + static_cast<long>(k));
      }
      removed.emplace_back(param, only);
    }
    return removed;
  }

  // The blocks to which values are passed.
  class PassedTo {
   public:
    explicit PassedTo(const ir::Function& f) : list_of_(f.values.size(), kNone) {
      for (const Block& b : f.blocks) {
        for (const Edge& e : b.term.edges) {
          for (Value v : e.args) Add(v, e.block);
        }
      }
    }

    template <typename Fn>
    void ForEach(Value v, Fn&& fn) const {
      if (list_of_[v.id] == kNone) return;
      const List& list = lists_[list_of_[v.id]];
      uint32_t at = list.first;
      for (uint32_t k = 0; k < list.size; ++k, at = nodes_[at].next) fn(nodes_[at].block);
    }

    // What v was passed to, `to`, which some edge passes, is passed to now. The longer list goes first.
    void Join(Value to, Value v) {
      if (list_of_[v.id] == kNone) return;
      List& into = lists_[list_of_[to.id]];
      List first = into, second = lists_[list_of_[v.id]];
      if (first.size < second.size) std::swap(first, second);
      nodes_[first.last].next = second.first;
      into = {first.first, second.last, first.size + second.size};
    }

   private:
    static constexpr uint32_t kNone = UINT32_MAX;
    struct List {
      uint32_t first, last, size;
    };
    struct Node {
      uint32_t block, next;
    };

    void Add(Value v, uint32_t block) {
      const auto node = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back({block, kNone});
      uint32_t& at = list_of_[v.id];
      if (at == kNone) {
        at = static_cast<uint32_t>(lists_.size());
        lists_.push_back({node, node, 1});
        return;
      }
      List& list = lists_[at];
      nodes_[list.last].next = node;
      list.last = node;
      ++list.size;
    }

    std::vector<uint32_t> list_of_;  // in lists_, by value
    std::vector<List> lists_;
    std::vector<Node> nodes_;
  };

  ir::Function& f_;
  const RewriteOptions& options_;
  FlatLists edges_to_;  // by block
};

}  // namespace

bool SimplifyControlFlow(ir::Function& f, const RewriteOptions& options) {
  return ControlFlow(f, options).Run();
}

}  // namespace pullback::opt
