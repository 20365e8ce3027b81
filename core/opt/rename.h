// Replacing values by others throughout a function.
#pragma once

#include <vector>

#include "core/ir/ir.h"

namespace pullback::opt {

// A map from values to what stands for them; chains are followed. What has been replaced once stays so.
class Renaming {
 public:
  explicit Renaming(const ir::Function& f) : to_(f.values.size()) {}
  void Set(ir::Value from, ir::Value to) {
    if (from.id >= to_.size()) to_.resize(from.id + 1);
    to_[from.id] = to;
    any_ = true;
  }
  ir::Value Get(ir::Value v) const {
    if (v.id >= to_.size() || !to_[v.id].valid()) return v;
    return Follow(v);
  }
  bool any() const { return any_; }
  void Apply(ir::Inst& inst) const;
  void Apply(ir::Terminator& term) const;
  void Apply(ir::Function& f) const;

 private:
  ir::Value Follow(ir::Value v) const;

  mutable std::vector<ir::Value> to_;  // chains become shorter as they are followed
  bool any_ = false;
};

}  // namespace pullback::opt
