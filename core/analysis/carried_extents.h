// Extents of arrays, those that loops carry included: an array parameter of a block that gets arrays of one extent on every
// edge has that extent, however many turns make the array anew, or store elements to it.
//
//   b0: %n = dim %x, 0; jump b1(%x)
//   b1(%s): …                                     the extent of %s is %n: it is that of %x on the way in, and of %t
//   b2: %t = each(i < %n) … gen [%i] of (%n)      where %s has it
//       jump b1(%t)
#pragma once

#include <absl/container/flat_hash_map.h>

#include <utility>
#include <vector>

#include "core/base/flat_lists.h"
#include "core/ir/ir.h"

namespace pullback::analysis {

// Extents of the arrays that instructions make, where the instructions say them.
class MadeExtents {
 public:
  struct Extents {
    ir::Values values;
    uint32_t loc = 0;  // of what makes the array, and traps where one is negative
  };
  // An instruction, behind those that it reads from.
  void Record(const ir::Inst& inst);
  // Null where they are not known.
  const Extents* Of(ir::Value array) const {
    const auto it = extents_.find(array.id);
    return it == extents_.end() ? nullptr : &it->second;
  }

 private:
  absl::flat_hash_map<uint32_t, Extents> extents_;  // by value
};

// A size: an integer, or the extent of an axis of an array that no instruction says.
struct Extent {
  static constexpr int kIsInteger = -1;

  ir::Value value;  // not valid: not known
  int axis = kIsInteger;

  bool IsInteger() const { return axis == kIsInteger; }
  bool operator==(const Extent&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Extent& e) {
    return H::combine(std::move(h), e.value.id, e.axis);
  }
};

class CarriedExtents {
 public:
  // Of a function without unreachable blocks. What a parameter's extent is found to be is defined wherever the parameter
  // is. `checked`: sizes that the entry checks to be equal are one; for blocks behind it alone.
  explicit CarriedExtents(const ir::Function& f, bool checked = true);
  // Of an array of f: {array, axis} where nothing is known. Equal ones are equal sizes.
  Extent Of(ir::Value array, int axis) const;
  // Of an integer that says one.
  Extent Of(ir::Value size) const { return Resolved({size}, 0); }

 private:
  void FindParams(const ir::Function& f);
  void FindEqual(const ir::Block& entry);
  bool IsParam(ir::Value array) const { return first_[array.id] != kNone; }
  Extent& Known(ir::Value param, int axis) {
    return known_[first_[param.id] + static_cast<size_t>(axis)];
  }
  Extent Given(ir::Value array, int axis) const;
  Extent Resolved(Extent e, int depth) const;
  Extent EitherOf(Extent e, std::pair<ir::Value, ir::Value> of, int depth) const;
  bool Visit(const ir::Function& f, uint32_t b);
  bool Visit(const ir::Function& f, uint32_t b, size_t param, int axis);

  static constexpr uint32_t kNone = UINT32_MAX;
  MadeExtents made_;
  absl::flat_hash_map<uint32_t, Extent> asked_;  // by value, of those that are an extent
  absl::flat_hash_map<uint32_t, ir::Value>
      changed_;  // by value: the array that it is but for some elements
  absl::flat_hash_map<uint32_t, std::pair<ir::Value, ir::Value>> either_;  // by value
  absl::flat_hash_map<Extent, Extent> equal_;                              // followed to the end
  FlatLists edges_to_;
  std::vector<uint32_t> first_;  // in known_, by value: of a parameter's first axis
  std::vector<Extent> known_;
};

}  // namespace pullback::analysis
