// Where the values of a function's blocks come from, and the extents of its arrays.
#pragma once

#include <unordered_map>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::tensor {

class BlockValues {
 public:
  explicit BlockValues(const ir::Function& f);

  // A block, and how far down: 0 for its parameters.
  struct Place {
    uint32_t block;
    size_t at;
  };
  Place PlaceOf(ir::Value v) const { return places_.at(v.id); }
  // nullptr for a parameter, and for what a statement's body defines.
  const ir::Inst* DefOf(ir::Value v) const;
  const ir::Inst* StatementOf(const ir::Each& each) const;
  // Whether the value is there wherever `inst` is: defined in front of it, or in the entry.
  bool IsThere(ir::Value v, const ir::Inst& inst) const;
  // Whether the array's axis is as long as `extent` says.
  bool HasExtent(ir::Value array, size_t axis, ir::Value extent) const;
  // Or a check in front of `before` does.
  bool HasExtent(ir::Value array, size_t axis, ir::Value extent, const ir::Inst& before) const;

 private:
  bool IsInFront(const Place& place, const ir::Inst& inst) const;

  // That two integers are equal, from a check on.
  struct Equal {
    ir::Value other;
    Place check;
  };

  const ir::Function& f_;
  std::unordered_map<uint32_t, std::vector<Equal>> equal_;
  std::unordered_map<uint32_t, std::vector<const ir::Inst*>> dims_;  // by array
  std::unordered_map<uint32_t, Place> places_;
  std::unordered_map<const ir::Each*, const ir::Inst*> statements_;
};

}  // namespace pullback::tensor
