// Which values of functions are batched, an element of them for each seed, where some parameters are: across
// blocks and calls, recursive ones too.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::ad {

class BatchedValues {
 public:
  explicit BatchedValues(const ir::Module& module) : module_(module) {}

  // `params`: at least what is asked about. A tape that batched values are pushed on is batched wherever it
  // comes from, since a pop does not know its push.
  struct Signature {
    std::vector<bool> params, results;
    bool operator==(const Signature&) const = default;
  };
  Signature Of(uint32_t f, const std::vector<bool>& params);

  // By value of f.
  std::vector<bool> In(uint32_t f, const std::vector<bool>& params);

 private:
  using Key = std::pair<uint32_t, std::vector<bool>>;
  const Signature& Known(uint32_t f, const std::vector<bool>& params);
  std::vector<bool> Spread(const Key& key);

  const ir::Module& module_;
  std::map<Key, Signature> signatures_;
  bool grown_ = false;
};

}  // namespace pullback::ad
