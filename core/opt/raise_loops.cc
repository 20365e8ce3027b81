// Loops that fill arrays become statements, so far as their turns do not need each other:
//
//   z0 = zeros n, h                                     z = each(i < n, j < h, k < d): sum [i, j]: x[i, k] * w[k, j]
//   b1(i, z): br lt(i, n), b2, b6
//   b2: r = each(j < h, k < d): sum [j]: x[i, k] * w[k, j]
//       …  z' = update z[i, j], r[j]  …  jump b1(i + 1, z')
//
// What a statement in a turn makes is made for all turns, with their counters as axes in front; what a loop in a turn adds to a number
// or an element is a sum, what it compares an extremum. An array is one that loops fill if each place of a turn in it is named by the counters of
// all loops that hand it on, so that no turn reads what another one stores, or only what an earlier one has stored, for the loop that goes
// on. A loop that hands on other things as well goes on with these.
#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/opt/nest_raiser.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int kMostRounds = 8;  // of finding out what is no such array

class LoopRaiser {
 public:
  LoopRaiser(ir::Module& m, ir::Function& f)
      : m_(m), f_(f), dominators_(f), defs_(f), nests_(f, dominators_, defs_), extents_(f) {}

  bool Run() {
    Raise(nests_.Outermost());
    for (Raised& raised : raised_) Put(raised);
    return !raised_.empty();
  }

 private:
  struct Raised {
    const BlockLoop& loop;
    RaisedNest made;
    std::unique_ptr<CountedNest> nest;  // that it speaks of
  };

  void Raise(const std::vector<const BlockLoop*>& loops) {
    for (const BlockLoop* loop : loops) {
      if (!Raise(*loop)) Raise(nests_.Inside(*loop));
    }
  }
  bool Raise(const BlockLoop& loop) {
    std::unique_ptr<CountedNest> nest = nests_.Find(loop);
    if (!nest) return false;
    Refused refused;
    for (int round = 0; round < kMostRounds; ++round) {
      RaisedNest made = RaiseNest(m_, f_, defs_, nests_, extents_, *nest, filled_, refused);
      refused.fillings.insert(made.found.fillings.begin(), made.found.fillings.end());
      refused.reads.insert(made.found.reads.begin(), made.found.reads.end());
      if (!made.found.empty()) continue;
      if (made.filled.empty()) return false;
      for (const auto& [param, array] : made.filled) {
        filled_.shapes[param] = array.shape;
        if (const auto maker = made.makers.find(array.array.id); maker != made.makers.end())
          filled_.makers[param.id] = maker->second;
      }
      raised_.push_back({loop, std::move(made), std::move(nest)});
      return true;
    }
    return false;
  }

  // The loop hands on what was made in front of it, as it is.
  void Put(Raised& raised) {
    BlockLoop loop = raised.loop;
    // Not where a branch leads to it, of a loop in front, whose turns would make it all.
    if (f_.blocks[loop.entry].term.kind != ir::Terminator::Kind::kJump) AddPreheader(f_, loop);
    ir::Block& entry = f_.blocks[loop.entry];
    entry.insts.insert(entry.insts.end(), std::make_move_iterator(raised.made.statements.begin()),
                       std::make_move_iterator(raised.made.statements.end()));
    const ir::Values& params = f_.blocks[loop.header].params;
    for (size_t k = 0; k < params.size(); ++k) {
      const auto filled = raised.made.filled.find(params[k]);
      if (filled == raised.made.filled.end()) continue;
      entry.term.edges[loop.entry_edge].args[k] = filled->second.array;
      for (ir::Edge& e : f_.blocks[loop.latches[0]].term.edges) {
        if (e.block == loop.header) e.args[k] = params[k];
      }
    }
    for (uint32_t b : loop.blocks) {
      std::erase_if(f_.blocks[b].insts,
                    [&](const Inst& inst) { return raised.made.idle.contains(&inst); });
      for (Inst& inst : f_.blocks[b].insts) {
        Reread(inst, raised.made.reread);
        if (!inst.each) continue;
        for (Inst& body : inst.each->body) Reread(body, raised.made.reread);
      }
    }
  }
  void Reread(Inst& inst, const std::map<Value, TurnArray>& reread) {
    if (inst.op != Op::Index) return;
    const auto it = reread.find(inst.results[0]);
    if (it == reread.end()) return;
    std::vector<Affine> subs;
    for (const CountedNest* nest : it->second.around) subs.push_back(Affine::Of(nest->counter));
    subs.insert(subs.end(), inst.subs.begin(), inst.subs.end());
    if (it->second.array.valid()) {
      inst.args = {it->second.array};
      inst.subs = subs;
      return;
    }
    inst.op = Op::Const;
    inst.args.clear();
    inst.subs = {};
    inst.bits = 0;
    inst.loc = 0;
  }

  ir::Module& m_;
  ir::Function& f_;
  const ir::Dominators dominators_;
  const DefinitionBlocks defs_;
  NestFinder nests_;
  const ir::AxisExtents extents_;
  Filled filled_;
  std::vector<Raised> raised_;
};

}  // namespace

bool RaiseLoops(ir::Module& m, ir::Function& f) { return LoopRaiser(m, f).Run(); }

}  // namespace pullback::opt
