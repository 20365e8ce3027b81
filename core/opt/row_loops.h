// What the passes over loops whose turns take rows of arrays share: what they know of the function, and their way.
#pragma once

#include <type_traits>
#include <utility>
#include <vector>

#include "core/ir/builder.h"
#include "core/ir/dominance.h"
#include "core/opt/block_loops.h"
#include "core/opt/row_makers.h"
#include "core/opt/turn_rows.h"

namespace pullback::opt {

class RowLoops {
 protected:
  RowLoops(ir::Module& m, ir::Function& f)
      : f_(f),
        b_(m, f),
        dominators_(f),
        loops_(FindLoops(f, dominators_, LoopExits::kWithBreaks)),
        defs_(f),
        turn_rows_(f, loops_, dominators_, defs_),
        makers_(m, f, dominators_, loops_, defs_, turn_rows_),
        round_(f) {}

  // Makes the plans first of all, of loops that no other plan changes: places of instructions are others then. `plan_for`: of a
  // loop, if there is one.
  template <typename PlanFor, typename Rewrite>
  bool RunPlans(PlanFor&& plan_for, Rewrite&& rewrite) {
    if (makers_.empty()) return false;
    std::vector<typename std::invoke_result_t<PlanFor, const BlockLoop&>::value_type> plans;
    for (const BlockLoop& loop : loops_) {
      if (!round_.IsUntouched(loop) || f_.blocks[loop.header].term.snapshots.valid()) continue;
      if (auto plan = plan_for(loop)) {
        round_.Touch(loop);
        plans.push_back(*std::move(plan));
      }
    }
    for (auto& plan : plans) rewrite(plan);
    round_.End();
    return !plans.empty();
  }

  ir::Function& f_;
  ir::Builder b_;
  const ir::Dominators dominators_;
  const std::vector<BlockLoop> loops_;
  const DefinitionBlocks defs_;
  const TurnRows turn_rows_;
  const RowMakers makers_;
  LoopRound round_;
};

}  // namespace pullback::opt
