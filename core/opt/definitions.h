// What the instructions that a walk has seen say of the values they define.
#pragma once

#include <optional>
#include <vector>

#include "core/analysis/carried_extents.h"
#include "core/ir/ir.h"

namespace pullback::opt {

class Definitions {
 public:
  // Taken by copy since lists of instructions move.
  struct Def {
    ir::Op op = ir::Op::Check;
    bool known = false;
    ir::Value guard;
    uint64_t bits = 0;  // of affine_of: where its form is kept
    ir::Values args;
  };

  explicit Definitions(const ir::Function& f);

  void Record(const ir::Inst& inst);
  // The extents of arrays that an instruction makes are known without looking at them.
  void RecordExtents(const ir::Inst& inst) { extents_.Record(inst); }
  // Of the instruction that is visited: a guarded value is 0 where its guard is false, so what its
  // definition says holds only under that guard.
  void SetGuard(ir::Value guard) { guard_ = guard; }

  // Until the next Record.
  const Def& Of(ir::Value v) const {
    const uint32_t place = v.id < place_.size() ? place_[v.id] : kNowhere;
    return place == kNowhere ? unknown_ : defs_[place];
  }
  bool Holds(ir::Value v) const {
    const Def& d = Of(v);
    return d.known && (!d.guard.valid() || d.guard == guard_);
  }
  using Extents = analysis::MadeExtents::Extents;
  // Of an affine_of.
  const ir::Affine& AffineOf(const Def& d) const { return affines_[d.bits]; }
  // Of an array; null where they are not known.
  const Extents* ExtentsOf(ir::Value array) const { return extents_.Of(array); }

  bool IsConst(ir::Value v) const { return Of(v).op == ir::Op::Const && Holds(v); }
  uint64_t Bits(ir::Value v) const { return Of(v).bits; }
  std::optional<int64_t> Int(ir::Value v) const {
    if (!IsConst(v)) return std::nullopt;
    return static_cast<int64_t>(Bits(v));
  }
  double AsDouble(ir::Value v) const;  // of a float constant
  bool IsSize(ir::Value v) const;      // surely not negative: made of sizes

 private:
  bool IsRest(const ir::Affine& sum) const;

  static constexpr uint32_t kNowhere = UINT32_MAX;

  const ir::Function& f_;
  const Def unknown_;
  std::vector<uint32_t>
      place_;  // in defs_, by value: most values of a large function are no longer there
  std::vector<Def> defs_;
  std::vector<ir::Affine> affines_;
  analysis::MadeExtents extents_;
  ir::Value guard_;
};

}  // namespace pullback::opt
