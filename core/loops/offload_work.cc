#include "core/loops/offload_work.h"

#include <algorithm>
#include <set>

#include "core/ir/op_weight.h"

namespace pullback::loops {
namespace {

using Kind = Node::Kind;

constexpr int64_t kTurns = 8;  // of a loop whose length nobody knows
constexpr int kDeepestCalls = 8;
constexpr int64_t kUnknownCall = 64;
// Loops lie 200 deep at most: eight turns each are more than a number holds.
constexpr int64_t kMostWeight = int64_t{1} << 30;

bool Changes(const Node& n) { return n.kind == Kind::kStore || n.kind == Kind::kLaneAdd; }

}  // namespace

NestWork::NestWork(const Module& module, const Node& root, const std::vector<const Node*>& chain)
    : module_(module) {
  Add(root, 0, 1, chain);
}

int64_t NestWork::WeightOfCall(uint32_t callee, int depth) {
  if (const auto known = calls_.find(callee); known != calls_.end()) return known->second;
  if (depth > kDeepestCalls) return kUnknownCall;
  int64_t total = 0;
  bool loops = false;
  const std::vector<Block>& blocks = module_.functions[callee]->blocks;
  for (size_t b = 0; b < blocks.size(); ++b) {
    total = std::min(total + WeightOf(blocks[b].nodes, depth + 1), kMostWeight);
    for (const ir::Edge& edge : blocks[b].term.edges) loops = loops || edge.block <= b;
  }
  return calls_[callee] = std::min(loops ? kTurns * total : total, kMostWeight);
}

// Without what is inside.
int64_t NestWork::WeightOf(const Node& n, int depth) {
  switch (n.kind) {
    case Kind::kScalar: return n.op == ir::Op::Const ? 0 : ir::OpWeight(n.op);
    case Kind::kLoad: return ir::OpWeight(ir::Op::Index);
    case Kind::kCall: return WeightOfCall(n.callee, depth);
    default: return 1;
  }
}

int64_t NestWork::WeightOf(const std::vector<Node>& nodes, int depth) {
  int64_t total = 0;
  for (const Node& n : nodes) {
    const int64_t turns = n.kind == Kind::kFor ? kTurns : 1;
    total += WeightOf(n, depth) + turns * (WeightOf(n.body, depth) + WeightOf(n.other, depth));
    total = std::min(total, kMostWeight);
  }
  return total;
}

void NestWork::Add(const Node& node, size_t around, int64_t turns,
                   const std::vector<const Node*>& chain) {
  const size_t here = parts_.size();
  parts_.push_back({&node, around, std::min(turns * WeightOf(node, 0), kMostWeight)});
  const bool thread = std::find(chain.begin(), chain.end(), &node) != chain.end();
  if (node.kind == Kind::kFor && !thread) turns = std::min(turns * kTurns, kMostWeight);
  for (const auto* inside : {&node.body, &node.other}) {
    for (const Node& n : *inside) Add(n, here, turns, chain);
  }
}

// What is needed is told by registers: those that a node makes, and the arrays and lanes that it changes. Nodes
// inside a loop may make what the turn after needs, so all is asked again until nothing is new.
NestWork::Nodes NestWork::For(const std::vector<Reg>& results) const {
  Nodes needed(parts_.size());
  std::set<uint32_t> wanted;
  for (const Reg r : results) wanted.insert(r.id);
  const auto is_wanted = [&](Reg r) { return wanted.count(r.id) > 0; };
  for (bool more = true; more;) {
    more = false;
    for (size_t k = parts_.size(); k-- > 0;) {
      const Node& n = *parts_[k].node;
      const bool makes = std::any_of(n.results.begin(), n.results.end(), is_wanted) ||
                         (Changes(n) && is_wanted(n.args[0]));
      if (needed[k] || !makes) continue;
      more = true;
      for (size_t at = k; !needed[at]; at = parts_[at].around) {
        needed[at] = true;
        const Node& it = *parts_[at].node;
        for (const auto* list : {&it.args, &it.body_yields, &it.other_yields}) {
          for (const Reg r : *list) wanted.insert(r.id);
        }
      }
    }
  }
  return needed;
}

int64_t NestWork::Weight(const Nodes& nodes) const {
  int64_t total = 0;
  for (size_t k = 0; k < parts_.size(); ++k) total += nodes[k] ? parts_[k].weight : 0;
  return total;
}

}  // namespace pullback::loops
