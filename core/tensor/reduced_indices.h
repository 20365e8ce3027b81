// Which values of a statement's body have to do with the indices that its result leaves out.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "core/ir/ir.h"

namespace pullback::tensor {

class ReducedIndices {
 public:
  // Of a statement with one result, which has the first indices for its subscripts. It does not change meanwhile.
  explicit ReducedIndices(const ir::Each& each);

  // Whether v is one of them, is made of them, or is evaluated only where they say so.
  bool Reach(ir::Value v) const { return reached_.contains(v); }
  // Whether they say no more of it than where it is evaluated: its guard speaks of them, and where that holds, its
  // value is the same for all of them. So is what each of its operands is there.
  bool OnlyGuard(const ir::Inst& inst);
  // The body instruction that defines v, or nullptr.
  const ir::Inst* DefinitionOf(ir::Value v) const;

 private:
  bool IsSameUnder(ir::Value guard, ir::Value v);
  bool IsFixedBy(ir::Value guard, ir::Value v);
  bool ComputeIsFixedBy(ir::Value guard, ir::Value v);
  const std::set<ir::Value>& ConditionsOf(ir::Value guard);

  const ir::Each& each_;
  std::map<ir::Value, const ir::Inst*> definitions_;
  std::set<ir::Value> reached_;
  std::map<ir::Value, bool> only_guard_;
  std::map<std::pair<ir::Value, ir::Value>, bool> fixed_;
  std::map<ir::Value, std::set<ir::Value>> conditions_;
};

}  // namespace pullback::tensor
