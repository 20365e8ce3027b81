#include "core/loops/liveness.h"

#include "core/ir/dominance.h"

namespace pullback::loops {
namespace {

using ir::Value;

class Finder {
 public:
  explicit Finder(const ir::Function& f) : f_(f), blocks_(f.blocks.size()) {}

  std::vector<BlockLiveness> Find() {
    std::vector<uint32_t> order = ir::ReversePostorder(f_);
    for (bool changed = true; changed;) {
      changed = false;
      for (auto b = order.rbegin(); b != order.rend(); ++b) changed |= Visit(*b);
    }
    return std::move(blocks_);
  }

 private:
  bool Counted(Value v) const { return IsCounted(f_.TypeOf(v)); }

  std::set<Value> LiveOut(uint32_t b) const {
    std::set<Value> out;
    for (const ir::Edge& e : f_.blocks[b].term.edges) {
      out.insert(blocks_[e.block].in.begin(), blocks_[e.block].in.end());
    }
    return out;
  }

  // Recomputes block b from its successors; true when what is live at its start changed.
  bool Visit(uint32_t b) {
    const ir::Block& block = f_.blocks[b];
    BlockLiveness& info = blocks_[b];
    info.out = LiveOut(b);
    std::set<Value> live = info.out;
    ir::ForEachTermOperand(block.term, [&](Value v) {
      if (Counted(v)) live.insert(v);
    });
    info.at_end = live;
    info.dies.assign(block.insts.size(), {});
    for (size_t k = block.insts.size(); k-- > 0;) Step(block.insts[k], live, info.dies[k]);
    info.dead_params.clear();
    for (Value p : block.params) {
      if (Counted(p) && live.erase(p) == 0) info.dead_params.push_back(p);
    }
    if (live == info.in) return false;
    info.in = std::move(live);
    return true;
  }

  void Step(const ir::Inst& inst, std::set<Value>& live, std::set<Value>& dies) const {
    for (Value r : inst.results) {
      if (Counted(r) && live.erase(r) == 0) dies.insert(r);
    }
    ir::ForEachOperand(inst, [&](Value v) {
      if (Counted(v) && live.insert(v).second) dies.insert(v);
    });
  }

  const ir::Function& f_;
  std::vector<BlockLiveness> blocks_;
};

}  // namespace

std::vector<BlockLiveness> FindLiveness(const ir::Function& f) { return Finder(f).Find(); }

}  // namespace pullback::loops
