// Ways through a function of the loop IR that every back end takes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "core/loops/loops.h"

namespace pullback::loops {

// Calls fn(node) on every node of `nodes`, those inside loops and branches too, in order.
template <typename Fn>
void ForEachNode(const std::vector<Node>& nodes, Fn&& fn) {
  for (const Node& node : nodes) {
    fn(node);
    ForEachNode(node.body, fn);
    ForEachNode(node.other, fn);
  }
}

// Calls fn(register) on every register by reference that the nodes, or those inside them, read or are described by.
template <typename Fn>
void ForEachRead(std::vector<Node>& nodes, Fn&& fn) {
  const auto each = [&](auto& registers) {
    for (Reg& r : registers) {
      if (r.valid()) fn(r);
    }
  };
  for (Node& node : nodes) {
    for (auto* list : {&node.args, &node.apart, &node.body_yields, &node.other_yields}) each(*list);
    for (Subscript& row : node.rows) {
      for (Reg* r : {&row.is, &row.near, &row.behind, &row.ahead}) {
        if (r->valid()) fn(*r);
      }
    }
    for (Proof& p : node.proofs) each(p.turns);
    ForEachRead(node.body, fn);
    ForEachRead(node.other, fn);
  }
}

inline bool IsAccess(const Node& n) {
  return n.kind == Node::Kind::kLoad || n.kind == Node::Kind::kStore;
}

size_t CountNodes(const Function& f);

// Loops and branches within each other beyond this are refused.
inline constexpr int kMostNested = 200;
bool NestedTooDeep(const std::vector<Node>& nodes, int most = kMostNested);
// Axes of an array in memory.
inline constexpr size_t kMostAxes = 8;
// What no back end compiles: RESOURCE_EXHAUSTED, NESTED_TOO_DEEP, when a function of the module is; UNIMPLEMENTED,
// TOO_MANY_AXES, when an array for each point of more indices than that is made.
Status CheckLimits(const Module& module);

// The blocks that are reached, in reverse postorder.
std::vector<uint32_t> BlockOrder(const Function& f);

// The functions that the entry reaches, itself first.
std::vector<uint32_t> ReachedFunctions(const Module& module);

}  // namespace pullback::loops
