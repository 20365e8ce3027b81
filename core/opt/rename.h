// Replacing values by others throughout a function.
#pragma once

#include <vector>

#include "core/ir/ir.h"

namespace pullback::opt {

// A map from values to what stands for them; chains are followed.
class Renaming {
 public:
  explicit Renaming(const ir::Function& f) : to_(f.values.size()) {}
  void Set(ir::Value from, ir::Value to) {
    if (from.id >= to_.size()) to_.resize(from.id + 1);
    to_[from.id] = to;
    any_ = true;
  }
  ir::Value Get(ir::Value v) const {
    while (v.id < to_.size() && to_[v.id].valid()) v = to_[v.id];
    return v;
  }
  bool any() const { return any_; }
  void Apply(ir::Inst& inst) const;
  void Apply(ir::Terminator& term) const;
  void Apply(ir::Function& f) const;

 private:
  std::vector<ir::Value> to_;
  bool any_ = false;
};

}  // namespace pullback::opt
