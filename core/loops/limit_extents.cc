#include "core/loops/limit_extents.h"

#include <cstdint>
#include <set>
#include <utility>

#include "core/base/tensor.h"
#include "core/loops/walk.h"

namespace pullback::loops {
namespace {

using Kind = Node::Kind;

Node Make(Function& f, ir::Op op, ir::Type t, std::vector<Reg> args, uint64_t bits = 0) {
  Node node;
  node.op = op;
  node.bits = bits;
  node.args = std::move(args);
  node.results = {f.NewReg(t)};
  return node;
}

void Limit(Function& f, Reg extent, uint32_t loc, std::vector<Node>& nodes) {
  nodes.push_back(Make(f, ir::Op::Const, ir::Type::I64(), {}, kMaxExtent));
  const Reg most = nodes.back().results[0];
  nodes.push_back(Make(f, ir::Op::Le, ir::Type::Bool(), {extent, most}));
  const Reg fits = nodes.back().results[0];
  nodes.push_back(Make(f, ir::Op::Const, ir::Type::I64(), {}, INT64_MAX));
  Node check;
  check.kind = Kind::kCheck;
  check.bits = static_cast<uint64_t>(ir::TrapKind::kMemory);
  check.loc = loc;
  check.args = {fits, nodes.back().results[0]};  // bytes that nobody could count
  nodes.push_back(std::move(check));
}

}  // namespace

ir::KnownExtents FindKnownExtents(const Function& f) {
  ir::KnownExtents all;
  for (const Block& b : f.blocks) {
    ForEachNode(b.nodes, [&](const Node& n) {
      if (n.kind == Kind::kDim) all.LearnDim(n.results[0]);
      if (n.kind == Kind::kFor) all.LearnTurn(n.args[0], n.results[0]);
      if (n.kind == Kind::kScalar && f.TypeOf(n.results[0]) == ir::Type::I64())
        all.Learn(n.op, n.bits, n.args, n.results[0]);
    });
  }
  return all;
}

void LimitExtents(Function& f, const std::multimap<Reg, Reg>& gone, std::vector<Node>& nodes) {
  std::set<Reg> limited;
  std::vector<Node> all;
  for (Node& n : nodes) {
    const auto [first, last] =
        n.kind == Kind::kAlloc ? gone.equal_range(n.results[0]) : std::pair(gone.end(), gone.end());
    for (auto axis = first; axis != last; ++axis) {
      if (limited.insert(axis->second).second) Limit(f, axis->second, n.loc, all);
    }
    all.push_back(std::move(n));
  }
  nodes = std::move(all);
}

}  // namespace pullback::loops
