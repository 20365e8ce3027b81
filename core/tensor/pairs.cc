#include "core/tensor/body_graph.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/tensor_ssa.h"

namespace pullback::tensor {
namespace {

using ir::Inst;

bool IsBlackBox(const ir::Each& each, const ir::Function& f, const analysis::OuterValues& outer) {
  const BodyGraph graph(each, f, outer);
  for (size_t k = 0; k < each.body.size(); ++k) {
    if (graph.IsOp(k) && graph.IsStoredWhole(k)) return true;
  }
  return false;
}

}  // namespace

void EliminatePairs(ir::Function& f) {
  const analysis::OuterValues outer(f);
  for (ir::Block& b : f.blocks) {
    std::vector<Inst> out;
    for (Inst& inst : b.insts) {
      if (!inst.each || inst.each->results.size() < 2 || IsBlackBox(*inst.each, f, outer)) {
        out.push_back(std::move(inst));
        continue;
      }
      for (size_t r = 0; r < inst.results.size(); ++r) {
        Inst one = CopyWithResult(inst, r, f).inst;
        PruneBody(*one.each);
        out.push_back(std::move(one));
      }
    }
    b.insts = std::move(out);
  }
}

}  // namespace pullback::tensor
