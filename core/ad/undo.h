// Arrays that are updated element by element and whose earlier versions the reverse half reads. Keeping a
// version would copy the array at the next update. Instead the reverse half carries the array along,
// backwards, and puts the overwritten element back at each update: what is kept is that element.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/ad/prepare.h"
#include "core/analysis/activity.h"

namespace pullback::ad {

// A web is a set of values that are versions of one array: connected by updates and by passing to blocks,
// and of which at most one is live at any point.
class UndoWebs {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Those webs that are updated in a cycle of blocks and that a statement's reverse reads there.
  UndoWebs(const ir::Function& f, const ReverseFlow& flow, const analysis::Activity& activity);

  uint32_t Of(ir::Value v) const { return v.id < web_.size() ? web_[v.id] : kNone; }
  // By web: the version that is live at the end of a block.
  const std::map<uint32_t, ir::Value>& LiveOut(uint32_t block) const { return live_out_[block]; }

 private:
  std::vector<uint32_t> web_;  // by value
  std::vector<std::map<uint32_t, ir::Value>> live_out_;
};

}  // namespace pullback::ad
