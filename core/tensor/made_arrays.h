// The arrays that statements of a block make, and who reads them there.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "core/ir/ir.h"
#include "core/tensor/turns.h"

namespace pullback::tensor {

struct MadeArray {
  size_t maker, result;  // a statement, by its place in the block, and which of its results
  std::set<size_t> readers = {};  // statements
};
using MadeArrays = std::map<ir::Value, MadeArray>;

// Those that are wanted, are read, and by nothing but `index` of statements of this block. `elsewhere`: ir::UsedElsewhere, of
// the values that there were then; others are used in the block alone.
MadeArrays FindMadeArrays(const std::vector<ir::Inst>& insts, const std::vector<bool>& elsewhere,
                          const std::function<bool(ir::Value, const ir::EachResult&)>& wanted);

inline const ir::EachResult& ResultOf(const std::vector<ir::Inst>& insts, const MadeArray& array) {
  return insts[array.maker].each->results[array.result];
}

// Whether each turn of a loop behind `depth` others makes what the same turn of it reads.
bool IsByTurns(const std::vector<ir::Inst>& insts, ir::Value v, const MadeArray& array,
               const Turns& turns, size_t depth);

}  // namespace pullback::tensor
