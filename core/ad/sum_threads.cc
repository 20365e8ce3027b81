#include "core/ad/sum_threads.h"

#include <algorithm>

namespace pullback::ad {

using ir::Block;
using ir::Edge;
using ir::Inst;
using ir::Op;
using ir::Value;

SumThreads::SumThreads(const ir::Function& f, const Adders& adders, const ir::Values& first,
                       const Loop& part)
    : f_(f), adders_(adders), part_(part) {
  for (size_t k = 0; k < first.size(); ++k) of_[first[k].id] = static_cast<int>(k);
  for (changed_ = true; changed_;) {
    changed_ = false;
    ForEachBlock([&](const Block& b) { Spread(b); });
  }
  bad_.resize(first.size());
  ForEachBlock([&](const Block& b) { Verify(b); });
}

void SumThreads::Join(Value v, int sum) {
  if (sum == kNone) return;
  const auto [of, fresh] = of_.try_emplace(v.id, sum);
  if (!fresh && (of->second == sum || of->second == kMixed)) return;
  if (!fresh) of->second = kMixed;
  changed_ = true;
}

// The operand that is a sum, where the result is that with the other added.
int SumThreads::AddedTo(const Inst& inst) const {
  const bool either = inst.op == Op::Add || inst.op == Op::AddArrays;
  if (!either && inst.op != Op::Sub && inst.op != Op::AddAt) return kNone;
  const int x = Thread(inst.args[0]), y = Thread(inst.args[1]);
  if (y == kNone) return x;
  return x == kNone && either ? y : kMixed;
}

void SumThreads::Spread(const Block& b) {
  for (const Inst& inst : b.insts) {
    if (const int sum = AddedTo(inst); sum != kNone) Join(inst.results[0], sum);
    for (size_t k = 0; k < SumsOf(inst); ++k) Join(inst.results[k], Thread(inst.args[k]));
  }
  for (const Edge& e : b.term.edges) {
    if (!part_.contains[e.block]) continue;
    for (size_t k = 0; k < e.args.size(); ++k)
      Join(f_.blocks[e.block].params[k], Thread(e.args[k]));
  }
}

// What else reads a sum, or is merged with one, spoils it.
void SumThreads::Verify(const Block& b) {
  for (const Inst& inst : b.insts) VerifyInst(inst);
  if (b.term.cond.valid()) Spoil(Thread(b.term.cond));
  for (const Edge& e : b.term.edges) {
    if (!part_.contains[e.block]) continue;
    for (size_t k = 0; k < e.args.size(); ++k) {
      const int from = Thread(e.args[k]), to = Thread(f_.blocks[e.block].params[k]);
      if (from == to && from != kMixed) continue;
      Spoil(from);
      Spoil(to);
    }
  }
}

void SumThreads::VerifyInst(const Inst& inst) {
  if (inst.op == Op::Dim) return;
  const bool adds = AddedTo(inst) >= 0;
  size_t operand = 0;
  ir::ForEachOperand(inst, [&](Value v) {
    const bool handed_on =
        operand < SumsOf(inst) && inst.args[operand] == v && Of(inst.results[operand]) == Thread(v);
    ++operand;
    if (!adds && !handed_on) Spoil(Thread(v));
  });
  for (Value v : inst.results) {
    if (Thread(v) == kMixed) Spoil(kMixed);
  }
}

void SumThreads::Spoil(int sum) {
  if (sum >= 0) bad_[static_cast<size_t>(sum)] = 1;
  if (sum == kMixed) std::fill(bad_.begin(), bad_.end(), 1);
}

}  // namespace pullback::ad
