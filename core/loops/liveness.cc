#include "core/loops/liveness.h"

#include "core/ir/dominance.h"

namespace pullback::loops {
namespace {

using ir::Value;

// A set of values that are added and dropped, one function's worth of memory for all blocks.
class LiveSet {
 public:
  explicit LiveSet(size_t values) : is_(values) {}

  // Whether it was not there.
  bool Add(Value v) {
    if (is_[v.id]) return false;
    is_[v.id] = true;
    added_.push_back(v);
    return true;
  }
  // Whether it was there.
  bool Drop(Value v) {
    const bool was = is_[v.id];
    is_[v.id] = false;
    return was;
  }
  SortedValues Sorted() {
    std::sort(added_.begin(), added_.end());
    added_.erase(std::unique(added_.begin(), added_.end()), added_.end());
    added_.erase(std::remove_if(added_.begin(), added_.end(), [&](Value v) { return !is_[v.id]; }),
                 added_.end());
    return added_;
  }
  void Clear() {
    for (Value v : added_) is_[v.id] = false;
    added_.clear();
  }

 private:
  std::vector<bool> is_;
  std::vector<Value> added_;  // what is there, and what was dropped
};

class Finder {
 public:
  explicit Finder(const ir::Function& f)
      : f_(f), blocks_(f.blocks.size()), live_(f.values.size()) {}

  std::vector<BlockLiveness> Find() {
    std::vector<uint32_t> order = ir::ReversePostorder(f_);
    for (bool changed = true; changed;) {
      changed = false;
      for (auto b = order.rbegin(); b != order.rend(); ++b) changed |= Visit(*b);
    }
    for (uint32_t b : order) Record(b);
    return std::move(blocks_);
  }

 private:
  bool Counted(Value v) const { return IsCounted(f_.TypeOf(v)); }

  // Makes live_ what is live where block b's terminator runs.
  void BeginAtEnd(const ir::Block& block) {
    live_.Clear();
    for (const ir::Edge& e : block.term.edges) {
      for (Value v : blocks_[e.block].in) live_.Add(v);
    }
    ir::ForEachTermOperand(block.term, [&](Value v) {
      if (Counted(v)) live_.Add(v);
    });
  }

  // Steps back over one instruction; dies(v) of what it is the last to use, or makes for nobody.
  template <typename Dies>
  void Step(const ir::Inst& inst, Dies&& dies) {
    for (Value r : inst.results) {
      if (Counted(r) && !live_.Drop(r)) dies(r);
    }
    ir::ForEachOperand(inst, [&](Value v) {
      if (Counted(v) && live_.Add(v)) dies(v);
    });
  }

  // What is live at the start of block b, from its successors; true when that changed.
  bool Visit(uint32_t b) {
    const ir::Block& block = f_.blocks[b];
    BeginAtEnd(block);
    for (size_t k = block.insts.size(); k-- > 0;) Step(block.insts[k], [](Value) {});
    for (Value p : block.params) {
      if (Counted(p)) live_.Drop(p);
    }
    SortedValues in = live_.Sorted();
    if (in == blocks_[b].in) return false;
    blocks_[b].in = std::move(in);
    return true;
  }

  // The rest, once it is known what is live where blocks start.
  void Record(uint32_t b) {
    const ir::Block& block = f_.blocks[b];
    BlockLiveness& info = blocks_[b];
    BeginAtEnd(block);
    info.at_end = live_.Sorted();
    info.dies.resize(block.insts.size());
    for (size_t k = block.insts.size(); k-- > 0;) {
      SortedValues& dies = info.dies[k];
      Step(block.insts[k], [&](Value v) { dies.push_back(v); });
      std::sort(dies.begin(), dies.end());
    }
    for (Value p : block.params) {
      if (Counted(p) && !live_.Drop(p)) info.dead_params.push_back(p);
    }
  }

  const ir::Function& f_;
  std::vector<BlockLiveness> blocks_;
  LiveSet live_;
};

}  // namespace

std::vector<BlockLiveness> FindLiveness(const ir::Function& f) { return Finder(f).Find(); }

}  // namespace pullback::loops
