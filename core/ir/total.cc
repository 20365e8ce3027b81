#include "core/ir/total.h"

#include <algorithm>
#include <vector>

#include "core/ir/dominance.h"

namespace pullback::ir {
namespace {

constexpr int kMostDeep = 4;

bool IsTotal(const Module& m, uint32_t callee, int depth) {
  const Function& f = m.Get(callee);
  if (depth == kMostDeep) return false;
  const std::vector<uint32_t> order = ReversePostorder(f);
  std::vector<size_t> place(f.blocks.size());
  for (size_t k = 0; k < order.size(); ++k) place[order[k]] = k;
  return std::all_of(order.begin(), order.end(), [&](uint32_t b) {
    const Edges& edges = f.blocks[b].term.edges;
    const auto& insts = f.blocks[b].insts;
    return std::all_of(edges.begin(), edges.end(),
                       [&](const Edge& e) { return place[e.block] > place[b]; }) &&
           std::all_of(insts.begin(), insts.end(), [&](const Inst& inst) {
             if (inst.op == Op::Call) return IsTotal(m, inst.callee, depth + 1);
             return !inst.each && !MayTrap(inst, f) && (Info(inst.op).flags & kEffect) == 0;
           });
  });
}

}  // namespace

bool IsTotal(const Module& m, uint32_t callee) { return IsTotal(m, callee, 0); }

bool MayTrap(const Inst& inst, const Function& f, const Module& m) {
  return inst.op == Op::Call ? !IsTotal(m, inst.callee) : MayTrap(inst, f);
}

}  // namespace pullback::ir
