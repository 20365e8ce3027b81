// What stands in front of a loop, or may: what is made behind it of what does.
#pragma once

#include <vector>

#include "core/ir/dominance.h"
#include "core/ir/ir.h"
#include "core/opt/block_loops.h"

namespace pullback::opt {

class FrontValues {
 public:
  // kIntegers: what cannot trap alone. kStatements: arrays, and what statements make of them, too, which may.
  enum class Made : uint8_t { kIntegers, kStatements };
  FrontValues(const ir::Dominators& dominators, const DefinitionBlocks& defs,
              Made made = Made::kIntegers)
      : dominators_(dominators), defs_(defs), made_(made) {}

  bool IsInFront(ir::Value v, const BlockLoop& loop) const;
  // Whether it is, or is made of such.
  bool MayBe(ir::Value v, const BlockLoop& loop) const;
  // Copies of what makes it of what is in front, in order, behind those that `out` has.
  void AddMakers(ir::Value v, const BlockLoop& loop, std::vector<ir::Inst>& out) const;

 private:
  bool MayBe(ir::Value v, const BlockLoop& loop, int depth) const;

  const ir::Dominators& dominators_;
  const DefinitionBlocks& defs_;
  const Made made_;
};

// Values that a block in front of a loop makes again.
class BroughtValues {
 public:
  BroughtValues(ir::Function& f, const FrontValues& front, const BlockLoop& loop, uint32_t block)
      : f_(f), front_(front), loop_(loop), block_(block), names_(f) {}

  // Where it stands for an operand of what is to be in front.
  ir::Value Bring(ir::Value v);
  ir::Affine Bring(const ir::Affine& a);  // in terms of such

 private:
  ir::Function& f_;
  const FrontValues& front_;
  const BlockLoop& loop_;
  const uint32_t block_;
  Copier names_;
};

}  // namespace pullback::opt
