// What the parts of the lowering share while they work on one function: where values live, what is
// known about the extents of arrays, and the first error.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/ir/ir.h"
#include "core/loops/bounds.h"
#include "core/loops/checked_accesses.h"
#include "core/loops/destinations.h"
#include "core/loops/emitter.h"
#include "core/loops/liveness.h"
#include "core/loops/lower.h"
#include "core/loops/sizes.h"

namespace pullback::loops {

class Lowering {
 public:
  Lowering(const ir::Function& f, Function& out, const Destinations& destinations = {},
           const LowerOptions& options = {});

  const ir::Function& f;
  Emitter e;
  Sizes sizes;
  CheckedAccesses checked;
  const Destinations destinations;
  const bool contractions;  // become kContract nodes
  const bool columns;       // sums down columns go by strips
  const bool segments;      // whole argmax goes by segments

  // --- values. A value's register has the value's number, unless it was found elsewhere.
  Reg Of(ir::Value v) const { return v.id < alias_.size() ? alias_[v.id] : v; }
  std::vector<Reg> Of(ir::ValueSpan values) const;
  ir::Affine Of(const ir::Affine& a) const;
  // A register without a name takes the value's.
  void SetAlias(ir::Value v, Reg r);

  // What is known at this place of the block.
  const Bounds& Here();

  // --- arrays
  // Whether it is the extent of an array that the entry asks for.
  bool IsExtent(ir::Value v) const { return extents_.contains(v); }
  Reg Dim(ir::Value array, int axis);
  std::vector<Reg> Extents(ir::Value array);
  // result = array, alone: changes to it are seen by nobody else.
  void MakeUnique(ir::Value array, ir::Value result);
  // What the statement that is being lowered reads the array from: another one where it stores into it.
  ir::Value ReadFrom(ir::Value array) const { return array == stored_ ? stored_as_ : array; }
  void SetReadFrom(ir::Value array, ir::Value instead) {
    stored_ = array;
    stored_as_ = instead;
  }

  // --- instructions that blocks and bodies have in common; results go into `into`
  void Scalar(const ir::Inst& inst, Reg into);  // with the check of a divisor
  void Call(const ir::Inst& inst, ir::ValueSpan into);
  Reg Holds(ir::ConstraintSpan constraints);

  // --- checks
  // Traps unless 0 <= sub < extent.
  void CheckIndex(Reg sub, Reg extent, uint32_t loc, std::vector<Proof> proofs = {});
  void CheckDivisor(Reg divisor, uint32_t loc, std::vector<Proof> proofs = {});
  void CheckNonNegative(Reg size, uint32_t loc);
  void CheckSameSizes(const std::vector<Reg>& a, const std::vector<Reg>& b, uint32_t loc);

  void Fail(const std::string& what);
  const Status& status() const { return status_; }

 private:
  std::vector<Reg> alias_;
  std::set<ir::Value> extents_;
  std::optional<Bounds> here_;
  uint64_t here_version_ = 0;
  Status status_;
  ir::Value stored_, stored_as_;
};

// One instruction of a block (lower_insts.cc); reference counts are the caller's.
void LowerInst(Lowering& l, const ir::Inst& inst, const SortedValues& dies);
// The counted operands that LowerInst consumes.
std::vector<ir::Value> ConsumedBy(const ir::Function& f, const ir::Inst& inst,
                                  const SortedValues& dies);

}  // namespace pullback::loops
