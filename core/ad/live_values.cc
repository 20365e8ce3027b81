#include "core/ad/live_values.h"

#include <algorithm>
#include <utility>

namespace pullback::ad {
namespace {

using ir::Inst;
using ir::Value;

// What makes a parameter of a block: its place among the block's, and the edges to that.
struct Maker {
  const Inst* inst = nullptr;
  uint32_t block = UINT32_MAX;
  size_t param = 0;
};

bool Acts(const Inst& inst) { return (ir::Info(inst.op).flags & ir::kEffect) != 0; }

class LiveFinder {
 public:
  explicit LiveFinder(const ir::Function& f)
      : f_(f), live_(f.values.size()), makers_(f.values.size()), edges_(f.blocks.size()) {}

  std::vector<char> Find() {
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      const ir::Block& block = f_.blocks[b];
      for (size_t k = 0; k < block.params.size(); ++k)
        makers_[block.params[k].id] = {nullptr, b, k};
      for (const Inst& inst : block.insts) {
        for (Value v : inst.results) makers_[v.id].inst = &inst;
        if (Acts(inst)) ir::ForEachOperand(inst, [&](Value v) { Need(v); });
      }
      const ir::Terminator& term = block.term;
      for (Value v : term.results) Need(v);
      if (term.cond.valid()) Need(term.cond);
      if (term.snapshots.valid()) Need(term.snapshots);
      for (const ir::Edge& e : term.edges) edges_[e.block].push_back(&e);
    }
    while (!work_.empty()) {
      const Maker& maker = makers_[work_.back().id];
      work_.pop_back();
      if (maker.inst != nullptr) ir::ForEachOperand(*maker.inst, [&](Value v) { Need(v); });
      if (maker.block == UINT32_MAX) continue;
      for (const ir::Edge* e : edges_[maker.block]) Need(e->args[maker.param]);
    }
    return std::move(live_);
  }

 private:
  void Need(Value v) {
    if (std::exchange(live_[v.id], char{1}) == 0) work_.push_back(v);
  }

  const ir::Function& f_;
  std::vector<char> live_;
  std::vector<Maker> makers_;                        // by value
  std::vector<std::vector<const ir::Edge*>> edges_;  // to each block
  std::vector<Value> work_;
};

}  // namespace

std::vector<char> FindLiveValues(const ir::Function& f) { return LiveFinder(f).Find(); }

void RemoveDead(ir::Function& f, const std::vector<char>& live) {
  const auto is_dead = [&](Value v) { return live[v.id] == 0; };
  std::vector<std::vector<char>> dropped(f.blocks.size());  // by parameter
  for (size_t b = 1; b < f.blocks.size(); ++b) {
    for (Value v : f.blocks[b].params)
      dropped[b].push_back(!dropped[b].empty() && is_dead(v) ? 1 : 0);
  }
  const auto keep = [](ir::Values& values, const std::vector<char>& without) {
    ir::Values kept;
    for (size_t k = 0; k < values.size(); ++k) {
      if (k >= without.size() || without[k] == 0) kept.push_back(values[k]);
    }
    values = std::move(kept);
  };
  for (size_t b = 0; b < f.blocks.size(); ++b) {
    ir::Block& block = f.blocks[b];
    keep(block.params, dropped[b]);
    for (ir::Edge& e : block.term.edges) keep(e.args, dropped[e.block]);
    std::erase_if(block.insts, [&](const Inst& inst) {
      return !Acts(inst) && std::all_of(inst.results.begin(), inst.results.end(), is_dead);
    });
  }
}

}  // namespace pullback::ad
