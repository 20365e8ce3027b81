#include "core/ir/splice.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace pullback::ir {
namespace {

class Splicer {
 public:
  Splicer(Function& into, const Function& callee, bool direct)
      : into_(into), callee_(callee), direct_(direct) {}

  void Splice(uint32_t block, size_t index) {
    Block& b = into_.blocks[block];
    const Inst call = b.insts[index];
    const auto base = static_cast<uint32_t>(into_.blocks.size());
    Block rest;
    rest.params = ToVector(call.results);
    rest.insts.assign(std::make_move_iterator(b.insts.begin() + static_cast<long>(index) + 1),
                      std::make_move_iterator(b.insts.end()));
    rest.term = std::move(b.term);
    b.insts.resize(index);
    const uint32_t rest_id = base;
    const uint32_t first = base + 1;
    b.term = Terminator{Terminator::Kind::kJump, kNoValue, {{first, ToVector(call.args)}}, {}};
    KeepHeader(b, rest);
    into_.blocks.push_back(std::move(rest));
    CopyBlocks(first, rest_id, call.args);
    if (direct_) into_.blocks[block].term.edges[0].args.clear();
  }

 private:
  // What is the header of a loop stays it, and says how many states are kept: a constant, or known before.
  static void KeepHeader(Block& b, Block& rest) {
    std::swap(b.term.snapshots, rest.term.snapshots);
    const auto defines = [&](const Inst& inst) { return inst.results == Values{b.term.snapshots}; };
    const auto constant = std::find_if(rest.insts.begin(), rest.insts.end(), defines);
    if (constant == rest.insts.end()) return;
    b.insts.push_back(std::move(*constant));
    rest.insts.erase(constant);
  }

  void CopyBlocks(uint32_t first, uint32_t rest_id, ValueSpan args) {
    map_.resize(callee_.values.size());
    for (size_t v = 0; v < callee_.values.size(); ++v)
      map_[v] = into_.NewValue(callee_.values[v].type, callee_.values[v].name);
    for (size_t k = 0; k < args.size() && direct_; ++k) map_[callee_.params()[k].id] = args[k];
    for (const Block& from : callee_.blocks) {
      Block to = from;
      if (direct_ && &from == &callee_.blocks[0]) to.params.clear();
      for (Value& v : to.params) v = map_[v.id];
      for (Inst& inst : to.insts) Map(inst);
      ForEachTermOperand(to.term, [&](Value& v) { v = map_[v.id]; });
      for (Edge& e : to.term.edges) e.block += first;
      if (to.term.kind == Terminator::Kind::kReturn) {
        to.term = Terminator{
            Terminator::Kind::kJump, kNoValue, {{rest_id, std::move(to.term.results)}}, {}};
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
  const Function& callee_;
  const bool direct_;
  std::vector<Value> map_;
};

}  // namespace

void SpliceCall(Function& into, uint32_t block, size_t index, const Function& callee, bool direct) {
  Splicer(into, callee, direct).Splice(block, index);
}

}  // namespace pullback::ir
