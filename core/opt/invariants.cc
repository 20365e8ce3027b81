#include "core/opt/invariants.h"

#include <algorithm>

namespace pullback::opt {

using ir::Inst;
using ir::Op;
using ir::Value;

LoopInvariants::LoopInvariants(const ir::Function& f, const ir::Dominators& dominators)
    : f_(f), dominators_(dominators), defs_(f), read_only_(f.values.size(), 1) {
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

std::vector<char> LoopInvariants::Find(const BlockLoop& loop, std::vector<uint32_t>& chain) const {
  std::vector<char> invariant(f_.values.size());
  chain.clear();
  for (uint32_t b : dominators_.order()) {
    if (!loop.inside[b]) continue;
    const bool always = std::all_of(loop.latches.begin(), loop.latches.end(),
                                    [&](uint32_t l) { return dominators_.Dominates(b, l); });
    if (!always) continue;
    chain.push_back(b);
    for (const Inst& inst : f_.blocks[b].insts) {
      if (!IsInvariant(inst, loop, invariant)) continue;
      for (Value v : inst.results) invariant[v.id] = 1;
    }
  }
  return invariant;
}

bool LoopInvariants::IsInvariant(const Inst& inst, const BlockLoop& loop,
                                 const std::vector<char>& invariant) const {
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
