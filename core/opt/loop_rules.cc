// dF~'s loop normalisation (Figure 8e) for loops of blocks: a loop that is never entered, one of few turns, one
// whose values nobody needs, and one that does something in a single turn. That a value which the body gives back
// unchanged is its initial value is SimplifyControlFlow's.
#include <algorithm>

#include "core/ir/comparisons.h"
#include "core/opt/block_loops.h"
#include "core/opt/loop_edit.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Block;
using ir::Edge;
using ir::Inst;
using ir::Op;
using ir::Terminator;
using ir::Value;

constexpr int kMostTurns = 4;
constexpr size_t kMostPeeled = 64;  // instructions of all copies

// Only its results say that it was run; a trap of a value nobody needs may vanish.
bool IsDroppable(const Inst& inst) { return (ir::Info(inst.op).flags & ir::kEffect) == 0; }

class LoopRules {
 public:
  LoopRules(ir::Function& f, bool peel, const RewriteOptions& options)
      : f_(f), peel_(peel), options_(options), dominators_(f), defs_(f), uses_(f), round_(f) {}

  // Applies a rule to at most so many loops, each by itself; to how many.
  size_t Run(size_t most) {
    size_t applied = 0;
    for (BlockLoop& loop : FindLoops(f_, dominators_)) {
      if (applied == most) break;
      if (!round_.IsUntouched(loop)) continue;
      if (Apply(loop)) ++applied;
    }
    round_.End();
    return applied;
  }

 private:
  bool Apply(BlockLoop& loop) {
    const std::optional<Counter> counter = FindCounter(f_, loop, defs_);
    if (!counter) return false;
    const std::optional<int> turns = TurnsOf(loop, *counter);
    if (turns && *turns == 0) {
      if (!options_.Take(RuleId::kLoopNeverEntered)) return false;
      round_.Touch(loop);
      SkipLoop(f_, loop, round_);
      return true;
    }
    if (IsUseless(loop, *counter)) {
      if (!options_.Take(RuleId::kLoopWithoutResult)) return false;
      round_.Touch(loop);
      BypassLoop(f_, loop);
      return true;
    }
    if ((peel_ || CarriesMatrices(loop)) && turns && IsSmall(loop, *turns)) {
      if (!options_.Take(RuleId::kLoopPeeled)) return false;
      round_.Touch(loop);
      for (int turn = 0; turn < *turns; ++turn) PeelLoop(f_, loop);
      SkipLoop(f_, loop, round_);
      return true;
    }
    if (const auto hit = FindHit(loop, *counter)) {
      if (!options_.Take(RuleId::kLoopSingleHit)) return false;
      round_.Touch(loop);
      RunOnce(loop, *counter, *hit);
      return true;
    }
    return false;
  }

  std::optional<int64_t> ConstantOf(Value v) const {
    const Inst* inst = defs_.Inst(v);
    if (!inst || inst->op != Op::Const) return std::nullopt;
    return static_cast<int64_t>(inst->bits);
  }

  // How often the body is run, where that is a small constant.
  std::optional<int> TurnsOf(const BlockLoop& loop, const Counter& c) const {
    const auto first = ConstantOf(loop.Arguments(f_)[c.param]), bound = ConstantOf(c.bound);
    if (!first || !bound) return std::nullopt;
    auto i = static_cast<uint64_t>(*first);
    for (int turns = 0; turns <= kMostTurns; ++turns, i += static_cast<uint64_t>(c.step)) {
      if (!*ir::Compare(c.op, static_cast<int64_t>(i), *bound)) return turns;
    }
    return std::nullopt;
  }

  // Their rows may be made through all turns at once, and those of their cotangents, where the turns are no blocks.
  bool CarriesMatrices(const BlockLoop& loop) const {
    const ir::Values& params = f_.blocks[loop.header].params;
    return std::any_of(params.begin(), params.end(),
                       [&](Value v) { return f_.TypeOf(v).IsArray() && f_.TypeOf(v).rank > 1; });
  }
  bool IsSmall(const BlockLoop& loop, int turns) const {
    size_t size = 0;
    for (uint32_t b : loop.blocks) {
      size += f_.blocks[b].insts.size();
      // An inner loop stays one: what a copy of it would save is not worth it.
      if (b != loop.header && dominators_.Dominates(b, loop.header)) return false;
      for (const Edge& e : f_.blocks[b].term.edges) {
        if (e.block != loop.header && dominators_.Dominates(e.block, b)) return false;
      }
    }
    return size * static_cast<size_t>(turns) <= kMostPeeled;
  }

  // Nothing that it computes is read behind it, and it ends.
  bool IsUseless(const BlockLoop& loop, const Counter& c) const {
    const bool ends = (c.op == Op::Lt && c.step == 1) || (c.op == Op::Gt && c.step == -1);
    if (!ends) return false;
    for (uint32_t b : loop.blocks) {
      const auto& insts = f_.blocks[b].insts;
      if (!std::all_of(insts.begin(), insts.end(), IsDroppable)) return false;
      for (const Edge& e : f_.blocks[b].term.edges) {  // an inner loop may not end
        if (e.block != loop.header && dominators_.Dominates(e.block, b)) return false;
      }
    }
    return !AnyUseOutside(loop, [](Value) { return true; });
  }
  // Whether a value from inside that `counts` is read outside or goes out with the exit.
  template <typename Fn>
  bool AnyUseOutside(const BlockLoop& loop, Fn&& counts) const {
    for (Value v : loop.Exit(f_).args) {
      if (defs_.IsInside(v, loop) && counts(v)) return true;
    }
    const auto is_used = [&](Value v) { return counts(v) && uses_.AnyOutside(v, loop); };
    return std::any_of(loop.blocks.begin(), loop.blocks.end(), [&](uint32_t b) {
      const Block& block = f_.blocks[b];
      return std::any_of(block.params.begin(), block.params.end(), is_used) ||
             std::any_of(block.insts.begin(), block.insts.end(), [&](const Inst& inst) {
               return std::any_of(inst.results.begin(), inst.results.end(), is_used);
             });
    });
  }

  // The index of the turn that does something: for i { if i == hit { … } }.
  std::optional<Value> FindHit(const BlockLoop& loop, const Counter& c) const {
    if (c.op != Op::Lt || c.step != 1) return std::nullopt;
    const uint32_t top = loop.Stay(f_).block;
    const Terminator& term = f_.blocks[top].term;
    if (term.kind != Terminator::Kind::kBranch || !f_.blocks[top].params.empty())
      return std::nullopt;
    const Inst* test = defs_.Inst(term.cond);
    if (!test || (test->op != Op::Eq && test->op != Op::Ne)) return std::nullopt;
    const Value i = f_.blocks[loop.header].params[c.param];
    const size_t side = test->args[0] == i ? 0 : 1;
    const Value hit = test->args[1 - side];
    if (test->args[side] != i || !defs_.IsFixed(hit, loop)) return std::nullopt;
    if (!AreDroppable(loop.header) || !AreDroppable(top)) return std::nullopt;
    if (!ChangesNothing(loop, c, term.edges[test->op == Op::Eq ? 1 : 0])) return std::nullopt;
    const ValueIds by_index = DependOn(loop, i);
    if (AnyUseOutside(loop, [&](Value v) { return by_index.contains(v.id); })) return std::nullopt;
    return hit;
  }
  bool AreDroppable(uint32_t block) const {
    const auto& insts = f_.blocks[block].insts;
    return std::all_of(insts.begin(), insts.end(), IsDroppable);
  }

  // From this edge on control comes back to the header with everything as it was but the counter.
  bool ChangesNothing(const BlockLoop& loop, const Counter& c, const Edge& from) const {
    std::vector<std::pair<Value, Value>> bound;  // parameters on the way, what they are
    const auto resolve = [&](Value v) {
      for (size_t k = bound.size(); k-- > 0;) {
        if (bound[k].first == v) v = bound[k].second;
      }
      return v;
    };
    const Edge* edge = &from;
    for (size_t steps = 0; edge->block != loop.header; ++steps) {
      const Block& b = f_.blocks[edge->block];
      if (steps > loop.blocks.size() || b.term.kind != Terminator::Kind::kJump) return false;
      if (!AreDroppable(edge->block)) return false;
      for (size_t k = 0; k < b.params.size(); ++k) bound.emplace_back(b.params[k], edge->args[k]);
      edge = &b.term.edges[0];
    }
    const ir::Values& params = f_.blocks[loop.header].params;
    for (size_t k = 0; k < params.size(); ++k) {
      if (k != c.param && resolve(edge->args[k]) != params[k]) return false;
    }
    return true;
  }

  // The header's values that are computed from v, and v.
  ValueIds DependOn(const BlockLoop& loop, Value v) const {
    ValueIds depends = {v.id};
    for (const Inst& inst : f_.blocks[loop.header].insts) {
      bool any = false;
      ir::ForEachOperand(inst, [&](Value x) { any |= depends.contains(x.id); });
      for (Value r : inst.results) {
        if (any) depends.insert(r.id);
      }
    }
    return depends;
  }

  // if first <= hit < bound { the body at hit }, then what follows the loop.
  void RunOnce(BlockLoop& loop, const Counter& c, Value hit) {
    const uint32_t before = AddPreheader(f_, loop);
    hit = InFront(before, hit, loop);
    const Value bound = InFront(before, c.bound, loop);
    const ir::Values args = loop.Arguments(f_);
    const Value i = f_.blocks[loop.header].params[c.param];
    const ValueIds by_index = DependOn(loop, i);

    const auto turn = static_cast<uint32_t>(f_.blocks.size()), after = turn + 1;
    f_.blocks.resize(turn + 2);
    Copier at_hit(f_);
    ir::Values there = args;
    there[c.param] = hit;
    CopyHeader(f_, loop, there, turn, at_hit);
    const Edge stay = loop.Stay(f_);
    const uint32_t body = CopyBody(f_, loop, after, c.param, at_hit);
    f_.blocks[turn].term = {
        Terminator::Kind::kJump, ir::kNoValue, {{body, at_hit.Copy(stay).args}}, {}};

    Copier last(f_);
    Edge unchanged{after, {}};
    for (size_t k = 0; k < args.size(); ++k) {
      if (k == c.param) continue;
      f_.blocks[after].params.push_back(last.New(f_.blocks[loop.header].params[k]));
      unchanged.args.push_back(args[k]);
    }
    std::vector<Inst> copies;
    for (const Inst& inst : f_.blocks[loop.header].insts) {
      if (inst.results.empty() || !by_index.contains(inst.results[0].id))
        copies.push_back(last.Copy(inst));
    }
    f_.blocks[after].insts = std::move(copies);
    f_.blocks[after].term = {Terminator::Kind::kJump, ir::kNoValue, {last.Copy(loop.Exit(f_))}, {}};
    round_.RenameOutside(loop, last);

    const Value in_range = Emit(before, Op::And, Emit(before, Op::Le, args[c.param], hit),
                                Emit(before, Op::Lt, hit, bound));
    f_.blocks[before].term = {
        Terminator::Kind::kBranch, in_range, {{turn, {}}, std::move(unchanged)}, {}};
  }

  // A constant from inside once more.
  Value InFront(uint32_t block, Value v, const BlockLoop& loop) {
    if (!defs_.IsInside(v, loop)) return v;
    f_.blocks[block].insts.push_back(Copier(f_).Copy(*defs_.Inst(v)));
    return f_.blocks[block].insts.back().results[0];
  }
  Value Emit(uint32_t block, Op op, Value a, Value b) {
    Inst inst;
    inst.op = op;
    inst.args = {a, b};
    inst.results = {f_.NewValue(ir::Type::Bool())};
    f_.blocks[block].insts.push_back(std::move(inst));
    return f_.blocks[block].insts.back().results[0];
  }

  ir::Function& f_;
  const bool peel_;
  const RewriteOptions& options_;
  const ir::Dominators dominators_;
  const DefinitionBlocks defs_;
  const UsingBlocks uses_;
  LoopRound round_;
};

}  // namespace

bool NormaliseLoops(ir::Function& f, bool peel, const RewriteOptions& options) {
  if (!options.Has(Family::kLoop)) return false;
  const size_t most = 2 + f.blocks.size();
  size_t applied = 0;
  while (applied < most) {
    const size_t more = LoopRules(f, peel, options).Run(most - applied);
    if (more == 0) break;
    applied += more;
    SimplifyControlFlow(f, options);
  }
  return applied > 0;
}

}  // namespace pullback::opt
