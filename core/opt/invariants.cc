#include "core/opt/invariants.h"

#include <algorithm>
#include <iterator>

namespace pullback::opt {

using ir::Inst;
using ir::Op;
using ir::Value;

LoopInvariants::LoopInvariants(const ir::Function& f, const ir::Dominators& dominators)
    : f_(f),
      dominators_(dominators),
      defs_(f),
      place_(f.blocks.size()),
      read_only_(f.values.size(), 1) {
  for (size_t k = 0; k < dominators.order().size(); ++k) place_[dominators.order()[k]] = k;
  const auto look = [&](const Inst& inst) {
    const bool reads = inst.op == Op::Index || inst.op == Op::Dim || inst.op == Op::Push;
    for (Value v : inst.args) read_only_[v.id] &= reads;
  };
  for (const ir::Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      look(inst);
      if (!inst.each) continue;
      for (const Inst& body : inst.each->body) look(body);
    }
    ir::ForEachTermOperand(b.term, [&](Value v) { read_only_[v.id] = 0; });
  }
}

ValueIds LoopInvariants::Find(const BlockLoop& loop, std::vector<uint32_t>& chain) const {
  chain.clear();
  std::copy_if(loop.blocks.begin(), loop.blocks.end(), std::back_inserter(chain), [&](uint32_t b) {
    return std::all_of(loop.latches.begin(), loop.latches.end(),
                       [&](uint32_t l) { return dominators_.Dominates(b, l); });
  });
  std::sort(chain.begin(), chain.end(),
            [&](uint32_t a, uint32_t b) { return place_[a] < place_[b]; });
  ValueIds invariant;
  for (uint32_t b : chain) {
    for (const Inst& inst : f_.blocks[b].insts) {
      if (!IsInvariant(inst, loop, invariant)) continue;
      for (Value v : inst.results) invariant.insert(v.id);
    }
  }
  return invariant;
}

bool LoopInvariants::IsInvariant(const Inst& inst, const BlockLoop& loop,
                                 const ValueIds& invariant) const {
  if (inst.results.empty() || (ir::Info(inst.op).flags & ir::kEffect)) return false;
  for (Value v : inst.results) {
    const ir::Type t = f_.TypeOf(v);
    if (!t.IsScalar() && !(t.IsArray() && read_only_[v.id])) return false;
  }
  bool all = true;
  ir::ForEachOperand(inst, [&](Value v) { all &= IsFixed(v, loop, invariant); });
  return all;
}

bool MayMoveOutOf(const ir::Function& f, const BlockLoop& loop) {
  const auto& insts = f.blocks[loop.header].insts;
  return std::all_of(insts.begin(), insts.end(), [&](const Inst& inst) {
    return inst.results.size() == 1 && f.TypeOf(inst.results[0]).IsScalar() && !inst.each &&
           !(ir::Info(inst.op).flags & ir::kEffect);
  });
}

}  // namespace pullback::opt
