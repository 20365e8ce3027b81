// What of a nest some of its results need, and what that weighs: whether two kernels would compute the same.
#pragma once

#include <map>
#include <vector>

#include "core/loops/loops.h"

namespace pullback::loops {

class NestWork {
 public:
  // By node, numbered by the constructor.
  using Nodes = std::vector<bool>;

  // `chain`: the loops that may be threads. The others run inside a thread, and weigh eight turns.
  NestWork(const Module& module, const Node& root, const std::vector<const Node*>& chain);

  // What is run for the elements of these arrays, and the totals of these lanes.
  Nodes For(const std::vector<Reg>& results) const;
  // By core/ir/op_weight.h, for one point of the chain.
  int64_t Weight(const Nodes& nodes) const;

 private:
  struct Part {
    const Node* node;
    size_t around;   // its loop or branch; of the root: itself
    int64_t weight;  // without what is inside
  };
  void Add(const Node& node, size_t around, int64_t turns, const std::vector<const Node*>& chain);
  int64_t WeightOf(const Node& n, int depth);
  int64_t WeightOf(const std::vector<Node>& nodes, int depth);
  int64_t WeightOfCall(uint32_t callee, int depth);

  const Module& module_;
  std::map<uint32_t, int64_t> calls_;  // by function: each is looked at once
  std::vector<Part> parts_;
};

}  // namespace pullback::loops
