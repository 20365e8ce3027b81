// Which indices of the open frames a value varies with.
#pragma once

#include <set>
#include <unordered_set>

#include "core/lang/lower_context.h"

namespace pullback::lang {

class VaryingIndices {
 public:
  explicit VaryingIndices(Context& c) : c_(c) {}

  // Adds those that the expression, of the current activation, varies with. False: of some name that is not known.
  bool Add(const Expr& e);
  const std::set<Value>& indices() const { return indices_; }

 private:
  bool AddName(uint32_t local);
  void AddValue(Value v);

  Context& c_;
  std::set<Value> indices_;
  std::unordered_set<uint32_t> names_, values_;  // that have been looked at
};

}  // namespace pullback::lang
