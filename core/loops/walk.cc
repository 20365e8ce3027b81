#include "core/loops/walk.h"

#include <algorithm>
#include <string>
#include <utility>

namespace pullback::loops {

size_t CountNodes(const Function& f) {
  size_t count = 0;
  for (const Block& block : f.blocks) ForEachNode(block.nodes, [&](const Node&) { ++count; });
  return count;
}

bool NestedTooDeep(const std::vector<Node>& nodes, int most) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    if (node.body.empty() && node.other.empty()) return false;
    return most == 0 || NestedTooDeep(node.body, most - 1) || NestedTooDeep(node.other, most - 1);
  });
}

namespace {

size_t MostAxes(const Function& f) {
  size_t most = 0;
  for (const Block& block : f.blocks) {
    ForEachNode(block.nodes, [&](const Node& node) {
      if (node.kind == Node::Kind::kAlloc) most = std::max<size_t>(most, node.args.size());
    });
  }
  return most;
}

}  // namespace

Status CheckLimits(const Module& module) {
  for (const auto& f : module.functions) {
    for (const Block& block : f->blocks) {
      if (!NestedTooDeep(block.nodes)) continue;
      return {Code::kResourceExhausted, "NESTED_TOO_DEEP", "loops are nested too deep"};
    }
    const size_t axes = MostAxes(*f);
    if (axes <= kMostAxes) continue;
    return {Code::kUnimplemented, "TOO_MANY_AXES",
            "a value for each point of " + std::to_string(axes) +
                " indices has to be kept, and an array has at most " + std::to_string(kMostAxes) +
                " axes"};
  }
  return {};
}

// Depth-first search with a stack of our own: functions may be long.
std::vector<uint32_t> BlockOrder(const Function& f) {
  std::vector<uint32_t> order;
  std::vector<bool> seen(f.blocks.size());
  std::vector<std::pair<uint32_t, size_t>> stack{{0, 0}};
  seen[0] = true;
  while (!stack.empty()) {
    auto& [block, next] = stack.back();
    const auto& edges = f.blocks[block].term.edges;
    if (next == edges.size()) {
      order.push_back(block);
      stack.pop_back();
      continue;
    }
    const uint32_t target = edges[next++].block;
    if (seen[target]) continue;
    seen[target] = true;
    stack.emplace_back(target, 0);
  }
  std::reverse(order.begin(), order.end());
  return order;
}

std::vector<uint32_t> ReachedFunctions(const Module& module) {
  std::vector<bool> seen(module.functions.size());
  std::vector<uint32_t> reached{module.entry};
  seen[module.entry] = true;
  for (size_t i = 0; i < reached.size(); ++i) {
    for (const Block& block : module.functions[reached[i]]->blocks) {
      ForEachNode(block.nodes, [&](const Node& n) {
        if (n.kind != Node::Kind::kCall || seen[n.callee]) return;
        seen[n.callee] = true;
        reached.push_back(n.callee);
      });
    }
  }
  return reached;
}

}  // namespace pullback::loops
