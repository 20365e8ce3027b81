// What computes the same in every turn of a loop of blocks.
#pragma once

#include <vector>

#include "core/opt/block_loops.h"

namespace pullback::opt {

class LoopInvariants {
 public:
  LoopInvariants(const ir::Function& f, const ir::Dominators& dominators);

  // What is computed inside, the same in every turn. `chain`: the blocks that every turn runs, in order, the
  // header first; others are not looked at.
  ValueIds Find(const BlockLoop& loop, std::vector<uint32_t>& chain) const;

  // The same in every turn as far as `invariant` says; what a statement defines for its own body counts as such.
  bool IsFixed(ir::Value v, const BlockLoop& loop, const ValueIds& invariant) const {
    return !defs_.IsInside(v, loop) || invariant.contains(v.id);
  }

 private:
  bool IsInvariant(const ir::Inst& inst, const BlockLoop& loop, const ValueIds& invariant) const;

  const ir::Function& f_;
  const ir::Dominators& dominators_;
  const DefinitionBlocks defs_;
  std::vector<size_t> place_;  // by block, in reverse postorder
  // Arrays that are read element by element and put on tapes only: a second use of another would cost an
  // update its unique owner.
  std::vector<char> read_only_;
};

// Whether the header, which is run once more in front of the loop, is scalar and cheap.
bool MayMoveOutOf(const ir::Function& f, const BlockLoop& loop);

}  // namespace pullback::opt
