// Which boxes a program has and where they go. Internal to core/opt.
#pragma once

#include <set>
#include <vector>

#include "core/base/status.h"
#include "core/ir/ir.h"

namespace pullback::opt {

using Records = std::set<uint32_t>;

bool HasBoxes(const ir::Module& m);
bool IsBoxOp(ir::Op op);
// The box that a box op makes, reads or writes.
ir::Value BoxOf(const ir::Inst& inst);

// Which stores each function works on and which of them it takes and gives back.
struct BoxPlan {
  std::vector<Records> used, threaded;

  explicit BoxPlan(const ir::Module& m);

 private:
  void AddUses(const ir::Function& f, Records& records) const;
};

// UNIMPLEMENTED where a box is an argument or result of the entry, is differentiated by, or meets a
// derivative rule.
Status CheckBoxes(const ir::Module& m, const BoxPlan& plan);

}  // namespace pullback::opt
