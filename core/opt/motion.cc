// Loop-invariant code motion out of loops of blocks (dF~, section 5 and Figure 8a). What moves are tensor
// statements, and the instructions that they need: moving a scalar is the back end's business. They are run where
// the loop's test has held once, so that a loop of no turns evaluates nothing new, and only what every turn
// evaluates moves, so that a trap was to come anyway.
#include <algorithm>

#include "core/opt/invariants.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Edge;
using ir::Inst;
using ir::Terminator;
using ir::Value;

class Motion {
 public:
  Motion(ir::Function& f, const RewriteOptions& options)
      : f_(f),
        options_(options),
        dominators_(f),
        invariants_(f, dominators_),
        uses_(f),
        round_(f) {}

  // Moves what at most so many loops have; how many had something.
  size_t Run(size_t most) {
    size_t moved = 0;
    for (BlockLoop& loop : FindLoops(f_, dominators_)) {
      if (moved == most) break;
      if (!round_.IsUntouched(loop) || !MayMoveOutOf(f_, loop)) continue;
      invariant_ = invariants_.Find(loop, chain_);
      if (!KeepNeeded(loop) || !TakeAll(loop)) continue;
      round_.Touch(loop);
      Move(loop);
      ++moved;
    }
    round_.End();
    return moved;
  }

 private:
  bool IsInvariant(const Inst& inst) const {
    return !inst.results.empty() && invariant_.contains(inst.results[0].id);
  }

  // Fuel for all that moves out of the loop, or for none.
  bool TakeAll(const BlockLoop& loop) const {
    uint64_t statements = 0, others = 0;
    for (uint32_t b : chain_) {
      if (b == loop.header) continue;
      for (const Inst& inst : f_.blocks[b].insts) {
        if (IsInvariant(inst)) ++(inst.each ? statements : others);
      }
    }
    return options_.May(RuleId::kFloatInvariant, statements + others) &&
           options_.Take(RuleId::kFloatInvariantStatement, statements) &&
           options_.Take(RuleId::kFloatInvariant, others);
  }

  // Leaves marked the statements outside the header and what they need; whether there are any.
  bool KeepNeeded(const BlockLoop& loop) {
    ValueIds needed;
    bool any = false;
    for (size_t k = chain_.size(); k-- > 0;) {
      const auto& insts = f_.blocks[chain_[k]].insts;
      for (auto inst = insts.rbegin(); inst != insts.rend(); ++inst) {
        if (!IsInvariant(*inst)) continue;
        bool keep = inst->each != nullptr && chain_[k] != loop.header;
        any |= keep;
        for (Value v : inst->results) keep |= needed.contains(v.id);
        if (keep) {
          ir::ForEachOperand(*inst, [&](Value v) { needed.insert(v.id); });
        } else {
          for (Value v : inst->results) invariant_.erase(v.id);
        }
      }
    }
    return any;
  }

  //   before: the test at the first turn's values; to `first` or `behind`
  //   first:  what moves; into the loop
  //   behind: where the loop's own exit goes as well, with all that is read later
  void Move(BlockLoop& loop) {
    const uint32_t before = AddPreheader(f_, loop);
    const auto first = static_cast<uint32_t>(f_.blocks.size()), behind = first + 1;
    f_.blocks.resize(first + 2);
    Terminator enter = std::move(f_.blocks[before].term);

    Copier at_first(f_);
    const ir::Values params = f_.blocks[loop.header].params;
    for (size_t k = 0; k < params.size(); ++k) at_first.Set(params[k], enter.edges[0].args[k]);
    std::vector<Inst> test;
    for (const Inst& inst : f_.blocks[loop.header].insts) test.push_back(at_first.Copy(inst));

    const auto [live, kept] = LeaveThrough(loop, behind, at_first);
    Edge skip{behind, kept}, into{first, {}};
    const Value cond = at_first.Get(f_.blocks[loop.header].term.cond);
    f_.blocks[before].insts = std::move(test);
    f_.blocks[before].term = {Terminator::Kind::kBranch,
                              cond,
                              loop.exit_edge == 0 ? ir::Edges{skip, into} : ir::Edges{into, skip},
                              {}};
    TakeOut(loop, at_first, f_.blocks[first].insts);
    f_.blocks[first].term = std::move(enter);
    f_.blocks[loop.header].term.edges[loop.exit_edge] = {behind, live};
  }

  // `behind` gets a parameter for each of the header's values that is read outside, goes on as the loop's exit
  // does; gives those values, and what they are where the loop is not entered.
  std::pair<ir::Values, ir::Values> LeaveThrough(const BlockLoop& loop, uint32_t behind,
                                                 const Copier& at_first) {
    const ir::Values& leaving = loop.Exit(f_).args;
    const auto is_read = [&](Value v) {
      return uses_.AnyOutside(v, loop) ||
             std::find(leaving.begin(), leaving.end(), v) != leaving.end();
    };
    ir::Values live, kept;
    Copier later(f_);
    const auto pass_on = [&](Value v) {
      if (!is_read(v)) return;
      live.push_back(v);
      kept.push_back(at_first.Get(v));
      f_.blocks[behind].params.push_back(later.New(v));
    };
    for (Value v : f_.blocks[loop.header].params) pass_on(v);
    for (const Inst& inst : f_.blocks[loop.header].insts) pass_on(inst.results[0]);
    f_.blocks[behind].term = {
        Terminator::Kind::kJump, ir::kNoValue, {later.Copy(loop.Exit(f_))}, {}};
    round_.RenameOutside(loop, later);
    return {live, kept};
  }

  // The header keeps its own, which were copied.
  void TakeOut(const BlockLoop& loop, const Copier& names, std::vector<Inst>& out) {
    for (uint32_t b : chain_) {
      if (b == loop.header) continue;
      std::vector<Inst> rest;
      for (Inst& inst : f_.blocks[b].insts) {
        if (!IsInvariant(inst)) {
          rest.push_back(std::move(inst));
          continue;
        }
        names.Rename(inst);
        out.push_back(std::move(inst));
      }
      f_.blocks[b].insts = std::move(rest);
    }
  }

  ir::Function& f_;
  const RewriteOptions& options_;
  const ir::Dominators dominators_;
  const LoopInvariants invariants_;
  const UsingBlocks uses_;
  LoopRound round_;
  ValueIds invariant_;           // of the loop that is looked at
  std::vector<uint32_t> chain_;  // blocks that every turn runs, in order
};

}  // namespace

bool FloatInvariants(ir::Function& f, const RewriteOptions& options) {
  if (!options.Has(Family::kLambda)) return false;
  const size_t most = 2 + f.blocks.size();
  SplitInvariants(f, options);
  size_t moved = 0;
  while (moved < most) {
    const size_t more = Motion(f, options).Run(most - moved);
    if (more == 0) break;
    moved += more;
  }
  return moved > 0;
}

}  // namespace pullback::opt
