// Whether the turns of a loop that counts by ones can end the run: of what reads arrays at and next to the turn's number.
#pragma once

#include <optional>
#include <set>

#include "core/ir/axis_extents.h"
#include "core/ir/ir.h"
#include "core/opt/block_loops.h"

namespace pullback::opt {

// That of an array, or a number; not negative.
bool IsExtent(ir::Value v, const DefinitionBlocks& defs);

struct CountedLoop {
  BlockLoop loop;
  Counter counter;
  ir::Value turn;

  // How many turns come behind one.
  ir::Affine LeftBehind() const {
    return ir::Affine::Of(counter.bound) - ir::Affine::Of(turn) - ir::Affine::Const(1);
  }
};

class LoopTraps {
 public:
  LoopTraps(const ir::Module& m, const ir::Function& f, const DefinitionBlocks& defs)
      : m_(m), f_(f), defs_(defs), extents_(f) {}

  // `known`: reads whose first subscript is surely in range, and checks of such.
  bool CannotTrap(const CountedLoop& l, const std::set<const ir::Inst*>& known = {}) const;
  // An instruction of its turns, or behind it.
  bool CannotTrap(const ir::Inst& inst, const CountedLoop& l,
                  const std::set<const ir::Inst*>& known = {}) const;

 private:
  std::optional<int64_t> StartOf(const CountedLoop& l) const;
  bool IsInRange(const ir::Inst& read, const ir::Each* each, const CountedLoop& l,
                 const std::set<const ir::Inst*>& known) const;
  bool IsWithin(const ir::Affine& sub, ir::Value extent, const ir::Each* each,
                const CountedLoop& l) const;
  ir::Value ExtentOf(ir::Value array, size_t axis, std::set<ir::Value>& asked) const;

  const ir::Module& m_;
  const ir::Function& f_;
  const DefinitionBlocks& defs_;
  const ir::AxisExtents extents_;
};

}  // namespace pullback::opt
