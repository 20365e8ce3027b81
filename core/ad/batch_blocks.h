// Batching of whole functions over one new last axis, that of seeds: their blocks, loops and calls stay as they
// are, and what is batched in them carries the axis from block to block. Branches are those of the primal: none
// may depend on what is batched.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/ad/batch_lists.h"
#include "core/ad/batched_values.h"
#include "core/ir/ir.h"

namespace pullback::ad {

// Makes batched functions of one module, each once.
class BatchedFunctions {
 public:
  explicit BatchedFunctions(ir::Module& module)
      : module_(module), values_(module), lists_(module) {}

  struct Made {
    uint32_t function = 0;
    std::vector<bool> results;  // which have the axis
  };
  // (how many, params of f…, those that are marked with an axis of that length behind their own) -> (results
  // of f…). On a batched tape are values with the axis. Nothing where f, or what it calls, does something to
  // what is batched that has no form for all seeds at once: branches and subscripts that depend on it;
  // `module` is then to be thrown away. Rules of f are not those of what is made.
  std::optional<Made> Of(uint32_t f, const std::vector<bool>& params);
  // Whether anything that was made keeps batched values on a tape or in a list: once a turn of a loop, or a call.
  bool HasTapes() const { return has_tapes_; }

 private:
  using Key = std::pair<uint32_t, std::vector<bool>>;
  std::optional<uint32_t> Function(uint32_t f, const std::vector<bool>& params);

  ir::Module& module_;
  BatchedValues values_;
  BatchedLists lists_;
  std::map<Key, uint32_t> made_;
  bool has_tapes_ = false;
};

}  // namespace pullback::ad
