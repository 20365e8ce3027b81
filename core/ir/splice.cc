#include "core/ir/splice.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace pullback::ir {
namespace {

class Splicer {
 public:
  Splicer(Function& into, bool direct) : into_(into), direct_(direct) {}

  // Every instruction of the block moves once.
  void Splice(uint32_t block, const std::vector<SplicedCall>& calls) {
    insts_ = std::move(into_.blocks[block].insts);
    next_ = 0;
    Terminator term = std::move(into_.blocks[block].term);
    const Value snapshots = std::exchange(term.snapshots, kNoValue);
    const size_t kept = FindConstant(snapshots, calls[0].index);
    uint32_t at = block;
    for (const SplicedCall& call : calls) {
      MoveTo(into_.blocks[at], call.index, kept);
      const Inst& inst = insts_[next_++];
      const auto rest = static_cast<uint32_t>(into_.blocks.size());
      into_.blocks[at].term =
          Terminator{Terminator::Kind::kJump, kNoValue, {{rest + 1, ToVector(inst.args)}}, {}};
      into_.blocks.push_back(Block{ToVector(inst.results), {}, {}});
      CopyBlocks(*call.callee, rest, inst.args);
      if (direct_) into_.blocks[at].term.edges[0].args.clear();
      at = rest;
    }
    MoveTo(into_.blocks[at], insts_.size(), kept);
    into_.blocks[at].term = std::move(term);
    Block& head = into_.blocks[block];
    head.term.snapshots = snapshots;
    if (kept < insts_.size()) head.insts.push_back(std::move(insts_[kept]));
  }

 private:
  // What is the header of a loop stays it, and says how many states are kept: a constant from behind the first
  // call, or known before. Its place, or that of none.
  size_t FindConstant(Value snapshots, size_t from) const {
    if (!snapshots.valid()) return insts_.size();
    const auto it =
        std::find_if(insts_.begin() + static_cast<long>(from), insts_.end(),
                     [&](const Inst& inst) { return inst.results == Values{snapshots}; });
    return static_cast<size_t>(it - insts_.begin());
  }

  void MoveTo(Block& to, size_t end, size_t kept) {
    to.insts.reserve(end - next_);
    for (; next_ < end; ++next_) {
      if (next_ != kept) to.insts.push_back(std::move(insts_[next_]));
    }
  }

  void CopyBlocks(const Function& callee, uint32_t rest, ValueSpan args) {
    const auto first = static_cast<uint32_t>(into_.blocks.size());
    map_.resize(callee.values.size());
    for (size_t v = 0; v < callee.values.size(); ++v)
      map_[v] = into_.NewValue(callee.values[v], callee.names[v]);
    for (size_t k = 0; k < args.size() && direct_; ++k) map_[callee.params()[k].id] = args[k];
    for (const Block& from : callee.blocks) {
      Block to = from;
      if (direct_ && &from == &callee.blocks[0]) to.params.clear();
      for (Value& v : to.params) v = map_[v.id];
      for (Inst& inst : to.insts) Map(inst);
      ForEachTermOperand(to.term, [&](Value& v) { v = map_[v.id]; });
      for (Edge& e : to.term.edges) e.block += first;
      if (to.term.kind == Terminator::Kind::kReturn) {
        to.term =
            Terminator{Terminator::Kind::kJump, kNoValue, {{rest, std::move(to.term.results)}}, {}};
      }
      into_.blocks.push_back(std::move(to));
    }
  }
  void Map(Inst& inst) {
    ForEachOperand(inst, [&](Value& v) { v = map_[v.id]; });
    for (Value& v : inst.results) v = map_[v.id];
    if (inst.each) {
      for (IndexVar& i : inst.each->indices) i.var = map_[i.var.id];
      for (Inst& body : inst.each->body) {
        for (Value& v : body.results) v = map_[v.id];
      }
    }
    CanonicaliseAffines(inst);
  }

  Function& into_;
  const bool direct_;
  std::vector<Inst> insts_;  // of the block that is split, and which of them is next
  size_t next_ = 0;
  std::vector<Value> map_;
};

}  // namespace

void SpliceCalls(Function& into, uint32_t block, const std::vector<SplicedCall>& calls) {
  Splicer(into, false).Splice(block, calls);
}

void SpliceDirectly(Function& into, uint32_t block, size_t index, const Function& callee) {
  Splicer(into, true).Splice(block, {{index, &callee}});
}

}  // namespace pullback::ir
