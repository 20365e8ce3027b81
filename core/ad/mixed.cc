#include "core/ad/mixed.h"

#include <algorithm>
#include <map>

#include "core/ad/keep.h"
#include "core/ir/dominance.h"

namespace pullback::ad {
namespace {

using ir::Inst;
using ir::Op;

constexpr int kDeepestCalls = 8;
// Of a call that is not looked into: recursion, or too deep.
constexpr double kUnknownCall = 64;

// Each function is looked at once: of a chain in which each calls the next twenty times, the text is short and its calls
// are many.
class Costs {
 public:
  explicit Costs(const ir::Module& module) : module_(module) {}

  double Of(uint32_t id, int depth = 0) {
    if (const auto known = known_.find(id); known != known_.end()) return known->second;
    if (depth > kDeepestCalls) return kUnknownCall;
    const ir::Function& f = module_.Get(id);
    const ir::Dominators dominators(f);
    std::vector<double> often(f.blocks.size());  // how often a block is run
    often[0] = 1;
    double total = 0;
    bool loops = false;
    for (uint32_t b : dominators.order()) {  // predecessors first, but for back edges
      const ir::Block& block = f.blocks[b];
      for (const Inst& inst : block.insts) total += often[b] * Of(inst, f, depth);
      for (const ir::Edge& e : block.term.edges) {
        const bool back = dominators.Dominates(e.block, b);
        loops |= back;
        if (!back) often[e.block] += often[b] / static_cast<double>(block.term.edges.size());
      }
    }
    return known_[id] = loops ? kTurns * total : total;
  }

 private:
  double Of(const Inst& inst, const ir::Function& f, int depth) {
    if (inst.op == Op::Const) return 0;
    if (inst.op == Op::Call) return Of(inst.callee, depth + 1);
    const int64_t cost = inst.each ? kNever : CostOfRecomputing(inst, f);
    return cost < kNever ? static_cast<double>(cost) : 4;
  }

  const ir::Module& module_;
  std::map<uint32_t, double> known_;
};

}  // namespace

double CostOfBody(const ir::Module& module, uint32_t f) { return Costs(module).Of(f); }

bool PrefersCached(const ir::Module& module, uint32_t f, const std::vector<bool>& active) {
  const ir::Function& from = module.Get(f);
  const auto width = static_cast<double>(std::count(active.begin(), active.end(), true));
  double bytes = 0;
  for (ir::Type t : from.results)
    bytes += t.IsFloat() ? width * static_cast<double>(DTypeSize(t.elem)) : 0;
  return CostOfBody(module, f) > bytes;
}

}  // namespace pullback::ad
