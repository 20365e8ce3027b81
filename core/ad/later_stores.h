// Whether what a turn of a loop reads of a table may be stored to by turns behind it.
//
// W: the place of the store, R: of the read. Loop by loop from outside, W has an axis, or a difference of two, that is the
// loop's counter and a number, and there W - R, in the direction in which it counts, is proven not to be negative; at some
// loop, that it is positive, or that an axis which turns further in do not change tells W and R apart. Then no later store is at R.
//
// Integers wrap. Places are in range, and their forms such that they are then what they would be without a bound:
// one integer and a number, or a sum or difference of two that are not negative.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/ad/counters.h"

namespace pullback::ad {

// Of these, those whose steps are small: none wraps between places that are in range.
Counters WithSmallSteps(Counters counters);

class LaterStores {
 public:
  // In the loop with this header. `counters`: with small steps.
  LaterStores(const ir::Function& f, const ReverseFlow& flow, const Definitions& defs,
              const Counters& counters, uint32_t header);

  struct Access {
    const ir::Inst& inst;
    uint32_t block;
  };
  bool AreElsewhere(const Access& store, const Access& read) const;

 private:
  struct Axis {
    ir::Affine store, read;
  };
  using Loops = std::set<uint32_t>;

  bool IsConstantHere(ir::Value v) const {
    return v.id >= flow_.def_block.size() || !flow_.IsLoopBodyOf(flow_.def_block[v.id], header_);
  }
  std::vector<Axis> AxesOf(const ir::Inst& store, const ir::Inst& read) const;
  std::vector<uint32_t> LoopsAround(uint32_t a, uint32_t b) const;
  bool IsApart(const std::vector<Axis>& axes, uint32_t block, const Loops& same) const;
  std::optional<int64_t> LeastAhead(const std::vector<Axis>& axes, uint32_t block,
                                    uint32_t loop) const;

  std::optional<ir::Affine> Expanded(ir::Affine a) const;
  bool IsNotNegative(ir::Value v) const;
  bool IsExact(const ir::Affine& a) const;
  std::optional<int64_t> LeastOf(ir::Affine a, uint32_t block) const;
  std::optional<ir::Affine> LowerBound(const Counter& counter) const;
  std::optional<ir::Affine> UpperBound(ir::Value v, const Counter& counter) const;
  ir::Value EndOf(ir::Value counter, uint32_t header) const;

  const ir::Function& f_;
  const ReverseFlow& flow_;
  const Definitions& defs_;
  const Counters& counters_;
  const uint32_t header_;
};

}  // namespace pullback::ad
