// What is known about the integers of a function: every i64 value as an affine form of atoms
// (extents of arrays and values that nothing is known about), the extents of every array, and what
// the checks that were passed say. Two values with equal forms are equal.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "core/analysis/box.h"
#include "core/ir/ir.h"

namespace pullback::loops {

// A constraint that holds. `exact`: of the integers that its form stands for, not of the form
// computed with wrapping. `given`: it holds where this form of integers is >= 0.
struct Known {
  ir::Constraint c;
  bool exact = false;
  std::optional<ir::Affine> given = std::nullopt;
};

class Sizes {
 public:
  explicit Sizes(const ir::Function& f);

  // Notes what `inst` (of a block or a body) says about its result. Instructions come after those
  // that define their operands.
  void Define(const ir::Inst& inst);
  // Where a value is defined; nullptr when it is a parameter or has not been met.
  const ir::Inst* Definition(ir::Value v) const;
  // Equal to `a`, modulo 2^64, over atoms and index variables only.
  ir::Affine Form(const ir::Affine& a) const;
  ir::Affine Form(ir::Value v) const { return Form(ir::Affine::Of(v)); }

  // --- arrays
  void SetShape(ir::Value array, ir::ValueSpan shape) {
    arrays_[array.id] = {array, ir::ToVector(shape)};
  }
  void CopyShape(ir::Value array, ir::Value from) { arrays_[array.id] = {Root(from), Shape(from)}; }
  // The values that the array was made with; empty: not known.
  const std::vector<ir::Value>& Shape(ir::Value array) const { return arrays_[array.id].shape; }
  // The array that stands for all with its extents.
  ir::Value Root(ir::Value array) const;
  ir::Affine Extent(ir::Value array, int axis);
  // Whether an atom is the extent of an array.
  static bool IsExtent(ir::Value atom) { return atom.id >= kFirstExtent; }

  // --- ranges of atoms, wherever they are defined
  analysis::Interval RangeOf(ir::Value atom) const;
  // Exact where the form is computed without wrapping; otherwise everything.
  analysis::Interval RangeOf(const ir::Affine& form) const;
  void SetRange(ir::Value atom, analysis::Interval range) { ranges_[atom] = range; }

  // --- conditions
  // What holds where `condition` is true.
  std::vector<Known> FactsOf(ir::Value condition) const;
  // Whether `weak` is true wherever `strong` is (not: whether it can be shown by arithmetic).
  bool Implies(ir::Value strong, ir::Value weak) const;

  // --- checks. The block that is worked on; facts of blocks that do not dominate it are put aside.
  using Dominates = std::function<bool(uint32_t from, uint32_t to)>;
  void EnterBlock(uint32_t block, const Dominates& dominates);
  // From here on the check has been passed; the condition is false; something else is known.
  void Passed(ir::Value condition);
  void Failed(ir::Value condition);
  void Learn(Known known);
  const std::vector<Known>& PassedChecks() const { return passed_; }
  // Another number whenever that has changed.
  uint64_t version() const { return version_; }

 private:
  static constexpr uint32_t kFirstExtent = uint32_t{1} << 31;

  struct ArrayInfo {
    ir::Value root;
    std::vector<ir::Value> shape;
  };
  struct FormOf {
    bool known = false;
    ir::Affine form;
  };
  struct CheckIn {
    uint32_t block;
    Known known;
  };

  ir::Affine Describe(const ir::Inst& inst);
  ir::Affine Reduce(ir::Affine form) const;
  void Use(const Known& known);
  void Equate(const ir::Affine& zero);
  const std::vector<ir::Value>& Implied(ir::Value condition) const;
  void DefineQuotient(const ir::Inst& inst);

  const ir::Function& f_;
  std::vector<FormOf> forms_;
  std::vector<const ir::Inst*> definitions_;
  std::vector<ArrayInfo> arrays_;
  std::map<ir::Value, analysis::Interval> ranges_;
  std::map<std::pair<ir::Value, int>, ir::Value> extents_;       // of arrays of unknown shape
  mutable std::map<ir::Value, std::vector<ir::Value>> implied_;  // once computed
  std::vector<CheckIn> checks_;                                  // all that were met
  uint32_t block_ = 0;
  uint64_t version_ = 0;
  // In force in this block.
  std::vector<Known> passed_;
  std::map<ir::Value, ir::Affine> equal_;  // atoms that are other forms
};

}  // namespace pullback::loops
