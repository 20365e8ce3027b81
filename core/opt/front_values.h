// What stands in front of a loop, or may: integers that are made behind it of what does.
#pragma once

#include <vector>

#include "core/ir/dominance.h"
#include "core/ir/ir.h"
#include "core/opt/block_loops.h"

namespace pullback::opt {

class FrontValues {
 public:
  FrontValues(const ir::Dominators& dominators, const DefinitionBlocks& defs)
      : dominators_(dominators), defs_(defs) {}

  bool IsInFront(ir::Value v, const BlockLoop& loop) const;
  // Whether it is, or is made of such by what cannot trap.
  bool MayBe(ir::Value v, const BlockLoop& loop) const;
  // Copies of what makes it of what is in front, in order, behind those that `out` has.
  void AddMakers(ir::Value v, const BlockLoop& loop, std::vector<ir::Inst>& out) const;

 private:
  bool MayBe(ir::Value v, const BlockLoop& loop, int depth) const;

  const ir::Dominators& dominators_;
  const DefinitionBlocks& defs_;
};

}  // namespace pullback::opt
