// Inside of Lower: functions that are lowered once more because a derivative is taken of them.
//
// A call through a function value branches on every function that becomes a value of its type anywhere. So
// a function that calls one seems to differentiate itself as soon as one of them differentiates it. Where
// it seems so, what is differentiated is lowered again with such calls cut down to the functions that may
// come to them from there (function_flow.h). If it differentiates itself even so, it is refused later.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/lang/ast.h"
#include "core/lang/function_flow.h"

namespace pullback::lang {

class DeriveLevels {
 public:
  DeriveLevels(const Program& program, uint32_t entry);

  // The level in which the callee of `derive`, which stands in a function of `level`, is lowered. Level 0
  // is the program as it is.
  size_t Below(size_t level, const Expr& derive);
  // A dispatcher's body at the level, if it has one of its own there.
  const Block* BodyOf(size_t level, uint32_t function) const;

 private:
  struct Level {
    std::unique_ptr<FunctionFlow> flow;
    std::map<uint32_t, Block> dispatchers;
  };
  void Add(uint32_t function, const FlowInput& in);

  const Program& program_;
  const uint32_t entry_;
  std::unordered_set<const Expr*> recurring_;  // derivatives of what seems to reach them
  std::vector<Level> levels_;
  std::map<std::pair<uint32_t, FlowInput>, size_t> known_;
  size_t work_ = 0;
};

}  // namespace pullback::lang
