// What is known about the integers of a function: every i64 value as an affine form of atoms
// (extents of arrays and values that nothing is known about), and the extents of every array. Two
// values with equal forms are equal.
#pragma once

#include <map>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::loops {

// No array is longer than this along any axis, not even an empty one: the run time refuses it.
inline constexpr int64_t kMaxExtent = int64_t{1} << 48;

class Sizes {
 public:
  explicit Sizes(const ir::Function& f)
      : f_(f), forms_(f.values.size()), arrays_(f.values.size()) {}

  // Notes what `inst` (of a block, or unguarded in a body) says about its result. Instructions come
  // after those that define their operands.
  void Define(const ir::Inst& inst);
  // Equal to `a`, modulo 2^64, over atoms and index variables only.
  ir::Affine Form(const ir::Affine& a) const;
  ir::Affine Form(ir::Value v) const { return Form(ir::Affine::Of(v)); }

  // --- arrays
  void SetShape(ir::Value array, const std::vector<ir::Value>& shape) {
    arrays_[array.id] = {array, shape};
  }
  void CopyShape(ir::Value array, ir::Value from) { arrays_[array.id] = {Root(from), Shape(from)}; }
  // The values that the array was made with; empty: not known.
  const std::vector<ir::Value>& Shape(ir::Value array) const { return arrays_[array.id].shape; }
  // The array that stands for all with its extents.
  ir::Value Root(ir::Value array) const;
  ir::Affine Extent(ir::Value array, int axis);
  // Whether an atom is the extent of an array.
  static bool IsExtent(ir::Value atom) { return atom.id >= kFirstExtent; }

 private:
  static constexpr uint32_t kFirstExtent = uint32_t{1} << 31;
  static constexpr size_t kMaxTerms = 8;

  struct ArrayInfo {
    ir::Value root;
    std::vector<ir::Value> shape;
  };
  struct FormOf {
    bool known = false;
    ir::Affine form;
  };

  ir::Affine Describe(const ir::Inst& inst);

  const ir::Function& f_;
  std::vector<FormOf> forms_;
  std::vector<ArrayInfo> arrays_;
  std::map<std::pair<ir::Value, int>, ir::Value> extents_;  // of arrays of unknown shape
};

}  // namespace pullback::loops
