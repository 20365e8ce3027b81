#include <algorithm>

#include "core/tensor/body_graph.h"
#include "core/tensor/split_statement.h"
#include "core/tensor/tensor_ssa.h"

namespace pullback::tensor {
namespace {

using ir::Inst;

class LetLifter {
 public:
  explicit LetLifter(ir::Function& f) : f_(f), outer_(f) {}

  void Lift(Inst inst, std::vector<Inst>& out) {
    while (inst.each) {
      PushGuardsOut(*inst.each);  // what an op needs depends on what it is under
      const BodyGraph graph(*inst.each, f_, outer_);
      const int k = NextLet(*inst.each, graph);
      if (k < 0) break;
      std::vector<Inst> lifted;
      const auto at = static_cast<size_t>(k);
      StoreInstruction(inst, at, graph.SpaceOf(at), f_, lifted);
      for (Inst& made : lifted) Lift(std::move(made), out);
    }
    out.push_back(std::move(inst));
  }

 private:
  // What is shared goes first and in order, so that no copy of it goes along with a reader; then what does
  // not need every index, the outermost expression first.
  static int NextLet(const ir::Each& each, const BodyGraph& graph) {
    for (size_t k = 0; k < each.body.size(); ++k) {
      if (graph.IsShared(k)) return static_cast<int>(k);
    }
    for (size_t k = each.body.size(); k-- > 0;) {
      if (graph.IsOp(k) && !graph.NeedsAll(k)) return static_cast<int>(k);
    }
    return -1;
  }

  ir::Function& f_;
  const analysis::OuterValues outer_;
};

}  // namespace

void LiftLets(ir::Function& f) {
  LetLifter lifter(f);
  for (ir::Block& b : f.blocks) {
    std::vector<Inst> out;
    for (Inst& inst : b.insts) lifter.Lift(std::move(inst), out);
    b.insts = std::move(out);
  }
}

}  // namespace pullback::tensor
