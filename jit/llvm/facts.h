// What the emitter wants to know about a function's nodes before it writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/loops/walk.h"
#include "jit/runtime/context.h"

namespace pullback::jit {

using loops::ForEachNode;

class Facts {
 public:
  explicit Facts(const loops::Function& f);

  // Which fields of an array's header are read through a register.
  struct ArrayUse {
    bool data = false;
    bool dims[kMaxRank] = {};
  };
  const ArrayUse& Uses(loops::Reg array) const { return uses_[array.id]; }
  // Every term of these lanes is added at an offset known when unrolled.
  bool FewLanes(loops::Reg lanes) const { return few_[lanes.id]; }

  // The value of an i64 register that is a constant.
  std::optional<int64_t> Constant(loops::Reg r) const { return constants_[r.id]; }
  // Iterations of a loop with constant bounds.
  std::optional<int64_t> Trips(const loops::Node& loop) const;
  // A loop over lanes with so few constant iterations that it is written out.
  bool WrittenOut(const loops::Node& loop) const;
  // A measure of the work of one turn of a loop; polled loops and calls inside count once.
  int64_t BodyWeight(const loops::Node& loop) const { return weights_.at(&loop); }
  // Whether a loop looks at RunContext::stop on its own; short ones need not.
  bool Polled(const loops::Node& loop) const;
  // Whether every execution of these nodes polls.
  bool AlwaysPolls(const std::vector<loops::Node>& nodes) const;

 private:
  int64_t Weigh(const std::vector<loops::Node>& nodes);
  void MarkLanes(const std::vector<loops::Node>& nodes, bool written_out);

  std::vector<ArrayUse> uses_;
  std::vector<bool> few_;
  std::vector<std::optional<int64_t>> constants_;
  std::unordered_map<const loops::Node*, int64_t> weights_;  // by loop
};

}  // namespace pullback::jit
