#include "core/tensor/body_graph.h"
#include "core/tensor/split_statement.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/tensor_ssa.h"

namespace pullback::tensor {
namespace {

using ir::Inst;

// The first op that needs a statement of its own: not the one that the statement itself stores (5.31-5.33),
// and any under a reduction (5.34).
int NextOp(const ir::Each& each, const BodyGraph& graph) {
  for (size_t k = 0; k < each.body.size(); ++k) {
    if (graph.IsOp(k) && !graph.IsStoredWhole(k)) return static_cast<int>(k);
  }
  return -1;
}

}  // namespace

void ToTensorSsa(ir::Function& f) {
  const analysis::OuterValues outer(f);
  for (ir::Block& b : f.blocks) {
    std::vector<Inst> out;
    for (Inst& inst : b.insts) {
      while (inst.each) {
        const BodyGraph graph(*inst.each, f, outer);
        const int k = NextOp(*inst.each, graph);
        if (k < 0) break;
        const auto at = static_cast<size_t>(k);
        StoreInstruction(inst, at, graph.SpaceOf(at), f, out);
        PruneBody(*inst.each);
      }
      out.push_back(std::move(inst));
    }
    b.insts = std::move(out);
  }
  LiftLets(f);  // an op needs no index that only its guard spoke of, now that this is its `where`
}

}  // namespace pullback::tensor
