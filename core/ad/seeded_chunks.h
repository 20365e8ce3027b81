// What loops over chunks of seeds are made of: one-hot seeds of many arrays at once, and where what comes of them
// is stored.
#pragma once

#include <functional>
#include <vector>

#include "core/ir/builder.h"

namespace pullback::ad {

// A parameter or a result that takes part.
struct SeededLeaf {
  ir::Value value;
  std::vector<ir::Value> dims;
  ir::Value begin, count;  // its elements, among those of all of its side
};

class SeedChunks {
 public:
  explicit SeedChunks(ir::Builder& b) : b_(b) {}

  // Extents and numbers of elements; gives how many there are.
  ir::Value Number(std::vector<SeededLeaf>& leaves);
  // [k = i], `count` seeds behind the axes of the leaf: seed k is 1 at the element of that number, counted from
  // `first`.
  ir::Value Seeds(const SeededLeaf& leaf, ir::Value first, ir::Value count);
  // Runs `store` for every point of a box, which gives the array with its element stored.
  using Store = std::function<ir::Value(ir::Value, const std::vector<ir::Value>&)>;
  ir::Value ForEach(ir::Value array, const std::vector<ir::Value>& dims, const Store& store) {
    return ForEach(array, dims, {}, store);
  }
  // Blocks of `for i = begin; i < end; i += step` around a state; the builder is behind them afterwards.
  using Turn = std::function<std::vector<ir::Value>(ir::Value, const std::vector<ir::Value>&)>;
  std::vector<ir::Value> Loop(ir::Value begin, ir::Value end, ir::Value step,
                              const std::vector<ir::Value>& state, const Turn& turn);

 private:
  ir::Value ForEach(ir::Value array, const std::vector<ir::Value>& dims,
                    const std::vector<ir::Value>& at, const Store& store);

  ir::Builder& b_;
};

}  // namespace pullback::ad
