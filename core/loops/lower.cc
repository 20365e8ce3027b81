#include "core/loops/lower.h"

#include <map>
#include <utility>

#include "core/analysis/carried_extents.h"
#include "core/ir/dominance.h"
#include "core/loops/block_rows.h"
#include "core/loops/counting.h"
#include "core/loops/destinations.h"
#include "core/loops/fuse_rows.h"
#include "core/loops/join_sums.h"
#include "core/loops/liveness.h"
#include "core/loops/lowering.h"
#include "core/loops/prune.h"
#include "core/loops/refcounts.h"
#include "core/loops/rows_first.h"
#include "core/loops/search_order.h"
#include "core/loops/split_contractions.h"
#include "core/loops/take_places.h"
#include "core/loops/uniques.h"
#include "core/loops/verify.h"

namespace pullback::loops {
namespace {

using ir::Terminator;
using ir::Value;

class FunctionLowerer {
 public:
  FunctionLowerer(const ir::Function& f, const Destinations& destinations,
                  const LowerOptions& options, Function& out)
      : f_(f),
        out_(out),
        rows_(options.rows),
        l_(f, out, destinations, options),
        dominators_(f),
        facts_(f, dominators_),
        live_(FindLiveness(f)),
        extents_(f) {}

  Status Lower() {
    for (const ir::Inst& inst : f_.blocks[0].insts) {
      if (inst.op == ir::Op::Dim)
        asked_.emplace(std::pair(inst.args[0], static_cast<int>(inst.bits)), inst.results[0]);
    }
    out_.name = f_.name;
    out_.results = f_.results;
    out_.blocks.resize(f_.blocks.size());
    // Dominators first: a value that turned out to be another register is known to its readers.
    for (uint32_t b : dominators_.order()) LowerBlock(b);
    DropUniques(out_);
    if (rows_) {
      BlockRows(out_, FuseRows(out_));
      JoinSums(out_);
      TakePlaces(out_);
    }
    PruneDead(out_);
    return l_.status();
  }

 private:
  void LowerBlock(uint32_t b) {
    const ir::Block& from = f_.blocks[b];
    const BlockLiveness& live = live_[b];
    l_.e.BeginBlock();
    const auto dominates = [&](uint32_t x, uint32_t y) { return dominators_.Dominates(x, y); };
    l_.sizes.EnterBlock(b, dominates);
    l_.checked.EnterBlock(b, dominates);
    facts_.Enter(b, l_.sizes);
    out_.blocks[b].params = from.params;
    if (b != 0) LearnExtents(from.params);
    for (Value v : live.dead_params) l_.e.Effect(Node::Kind::kRelease, {v});
    for (size_t k = 0; k < from.insts.size(); ++k) {
      const ir::Inst& inst = from.insts[k];
      const Consumed consumed = ConsumedBy(f_, inst, live.dies[k]);
      if (!RetainConsumed(l_.e, consumed, live.dies[k])) l_.Fail("a tape is used twice");
      LowerInst(l_, inst, live.dies[k]);
      ReleaseDead(l_.e, consumed, live.dies[k]);
    }
    Terminator term = LowerTerminator(b);
    out_.blocks[b].nodes = l_.e.EndBlock();
    out_.blocks[b].term = std::move(term);
    SplitEdges(b);
  }

  // Of arrays that all edges bring with one shape.
  void LearnExtents(ir::ValueSpan params) {
    for (Value v : params) {
      if (!f_.TypeOf(v).IsArray() || l_.sizes.Root(v) != v || !l_.sizes.Shape(v).empty()) continue;
      ir::Values shape;
      bool known = true;
      for (int axis = 0; axis < f_.TypeOf(v).rank; ++axis) {
        shape.push_back(ValueOf(extents_.Of(v, axis)));
        known &= shape.back().valid();
      }
      if (known) l_.sizes.SetShape(v, shape);
    }
  }

  // kNoValue: the entry does not ask for it.
  Value ValueOf(const analysis::Extent& e) const {
    if (e.IsInteger()) return e.value;
    const auto asked = asked_.find({e.value, e.axis});
    return asked == asked_.end() ? Value() : asked->second;
  }

  Consumed Counted(ir::ValueSpan values) const {
    Consumed counted;
    for (Value v : values) {
      if (IsCounted(f_.TypeOf(v))) counted.push_back(v);
    }
    return counted;
  }

  EdgeCounts CountsOf(uint32_t b, const ir::Edge& edge) const {
    return CountEdge(live_[b].at_end, live_[edge.block].in, Counted(edge.args));
  }

  // Everything that a jump or a return needs happens in the block itself.
  Terminator LowerTerminator(uint32_t b) {
    Terminator term = f_.blocks[b].term;
    if (term.kind == Terminator::Kind::kReturn) {
      Emit(l_.e, CountEdge(live_[b].at_end, {}, Counted(term.results)));
    } else if (term.kind == Terminator::Kind::kJump) {
      Emit(l_.e, CountsOf(b, term.edges[0]));
    }
    ir::ForEachTermOperand(term, [&](Value& v) { v = l_.Of(v); });
    return term;
  }

  // What one edge of a branch needs happens in a block of its own on that edge.
  void SplitEdges(uint32_t b) {
    if (f_.blocks[b].term.kind != Terminator::Kind::kBranch) return;
    for (size_t i = 0; i < 2; ++i) {
      const EdgeCounts counts = CountsOf(b, f_.blocks[b].term.edges[i]);
      if (counts.empty()) continue;
      l_.e.BeginBlock();
      Emit(l_.e, counts);
      Block between;
      between.nodes = l_.e.EndBlock();
      between.term.kind = Terminator::Kind::kJump;
      ir::Edge& edge = out_.blocks[b].term.edges[i];
      between.term.edges = {edge};
      edge = {static_cast<uint32_t>(out_.blocks.size()), {}};
      out_.blocks.push_back(std::move(between));
    }
  }

  const ir::Function& f_;
  Function& out_;
  const bool rows_;
  Lowering l_;
  const ir::Dominators dominators_;
  const BlockFacts facts_;
  const std::vector<BlockLiveness> live_;
  const analysis::CarriedExtents extents_;
  std::map<std::pair<Value, int>, Value> asked_;  // by array and axis: what the entry calls it
};

}  // namespace

StatusOr<Module> LowerToLoops(const ir::Module& module, const LowerOptions& options) {
  Module loops;
  loops.entry = module.entry;
  for (const auto& f : module.functions) {
    loops.functions.push_back(std::make_unique<Function>());
    Function& out = *loops.functions.back();
    const std::optional<ir::Function> split =
        options.contractions ? SplitContractions(*f) : std::nullopt;
    const ir::Function& plain = split ? *split : *f;
    const std::optional<ir::Function> ordered =
        options.rows ? RunRowsFirst(plain) : SearchInnermost(plain);
    const ir::Function& from = ordered ? *ordered : plain;
    const std::optional<WithDestinations> passed = PassDestinations(from);
    PB_RETURN_IF_ERROR(
        passed ? FunctionLowerer(passed->function, passed->destinations, options, out).Lower()
               : FunctionLowerer(from, {}, options, out).Lower());
  }
  PB_RETURN_IF_ERROR(Verify(loops));
  return loops;
}

}  // namespace pullback::loops
