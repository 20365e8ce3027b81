// One element of a generated array, evaluated where it is read (dF~'s get of build, rule 8c; 5.30's X[a] for a
// let-bound X).
#pragma once

#include <map>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::opt {

// The instructions that evaluate the element that an `index` names; for one read.
class Element {
 public:
  // result of producer: pointwise (pointwise.h).
  Element(ir::Function& f, const ir::Each& producer, size_t result)
      : f_(f), producer_(producer), result_(producer.results[result]) {}

  // For a statement's body: the element is absent where the producer has none, as where the read's own guard
  // is false. The subscripts are in range.
  struct Made {
    std::vector<ir::Inst> insts;
    ir::Value value;
  };
  Made ForBody(const ir::Inst& read);
  // For a block, where nothing has a guard; nothing when the element may be absent: a[1, 1] of a diagonal matrix is not.
  std::optional<Made> ForBlock(const ir::Inst& read);

 private:
  ir::Value Append(ir::Op op, ir::Type type, ir::Value guard);
  std::vector<ir::Constraint> PlaceIndices(ir::AffineSpan subs);
  bool IsThere() const;
  ir::Value GuardOf(std::vector<ir::Constraint> inside, ir::Value read_guard);
  ir::Affine Map(const ir::Affine& a) const;
  ir::Value Copied(ir::Value v) const;
  ir::Value Operand(ir::Value v, ir::Value guard);
  void Copy(const ir::Inst& inst, ir::Value guard);
  ir::Value ResultOf(ir::Value v, ir::Value guard);

  ir::Function& f_;
  const ir::Each& producer_;
  const ir::EachResult& result_;
  std::vector<ir::Inst> made_;
  std::map<ir::Value, ir::Affine> subs_;   // by index of the producer
  std::map<ir::Value, ir::Value> copies_;  // of what its body defines
};

}  // namespace pullback::opt
