#include "core/loops/known_extents.h"

#include <cstdint>
#include <utility>

#include "core/base/tensor.h"

namespace pullback::loops {
namespace {

using ir::Op;
using Kind = Node::Kind;

bool IsConstant(const Node& n) {
  const auto value = static_cast<int64_t>(n.bits);
  return n.kind == Kind::kScalar && n.op == Op::Const && value >= 0 && value <= kMaxExtent;
}

bool IsOfArrays(const Node& n, const KnownExtents& all) {
  const auto known = [&](size_t k) { return all.of_arrays.contains(n.args[k]); };
  if (n.kind == Kind::kDim) return true;
  if (n.kind != Kind::kScalar) return false;
  switch (n.op) {
    case Op::Const: return n.bits == 0;
    case Op::Min: return known(0) || known(1);
    case Op::Max: return known(0) && known(1);
    case Op::Select: return known(1) && known(2);
    case Op::Sub:
    case Op::Div: return known(0) && all.constants.contains(n.args[1]);
    default: return false;
  }
}

Node Make(Function& f, ir::Op op, ir::Type t, std::vector<Reg> args, uint64_t bits = 0) {
  Node node;
  node.op = op;
  node.bits = bits;
  node.args = std::move(args);
  node.results = {f.NewReg(t)};
  return node;
}

}  // namespace

KnownExtents FindKnownExtents(const Function& f) {
  KnownExtents all;
  for (const Block& b : f.blocks) {
    for (const Node& n : b.nodes) {
      if (IsConstant(n)) all.constants.insert(n.results[0]);
      if (IsOfArrays(n, all)) all.of_arrays.insert(n.results[0]);
    }
  }
  return all;
}

void LimitExtents(Function& f, const std::map<Reg, Reg>& gone, std::vector<Node>& nodes) {
  std::set<Reg> limited;
  std::vector<Node> all;
  for (Node& n : nodes) {
    const auto axis = n.kind == Kind::kAlloc ? gone.find(n.results[0]) : gone.end();
    if (axis != gone.end() && limited.insert(axis->second).second) {
      all.push_back(Make(f, ir::Op::Const, ir::Type::I64(), {}, kMaxExtent));
      const Reg most = all.back().results[0];
      all.push_back(Make(f, ir::Op::Le, ir::Type::Bool(), {axis->second, most}));
      const Reg fits = all.back().results[0];
      all.push_back(Make(f, ir::Op::Const, ir::Type::I64(), {}, INT64_MAX));
      Node check;
      check.kind = Kind::kCheck;
      check.bits = static_cast<uint64_t>(ir::TrapKind::kMemory);
      check.loc = n.loc;
      check.args = {fits, all.back().results[0]};  // bytes that nobody could count
      all.push_back(std::move(check));
    }
    all.push_back(std::move(n));
  }
  nodes = std::move(all);
}

}  // namespace pullback::loops
