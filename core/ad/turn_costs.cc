#include "core/ad/turn_costs.h"

#include <algorithm>
#include <set>

namespace pullback::ad {

using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

template <typename Fn>
void ForEachInst(const ir::Function& f, const Loop& loop, Fn&& fn) {
  for (size_t b = 0; b < f.blocks.size(); ++b) {
    if (!loop.contains[b]) continue;
    for (const Inst& inst : f.blocks[b].insts) fn(inst);
  }
}

bool Calls(const Inst& inst) {
  return inst.op == Op::Call || (ir::Info(inst.op).flags & ir::kLibm) != 0;
}

std::set<Value> CountersOf(const ir::Function& f, const Loop& loop, const analysis::LoopNest& nest,
                           const LoopParts& parts) {
  std::set<Value> counters;
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    if (!loop.contains[b] || nest.Innermost(b) != b) continue;
    const Value cond = f.blocks[b].term.cond;
    const Inst* test = cond.valid() ? parts.Definition(cond) : nullptr;
    if (test && test->op == Op::Lt) counters.insert(test->args[0]);
  }
  return counters;
}

// Each subscript has an index of its own, and nothing else that varies.
bool HasOwnIndices(const Inst& read, const std::set<Value>& indices) {
  std::set<Value> used;
  return std::all_of(read.subs.begin(), read.subs.end(), [&](const ir::Affine& sub) {
    bool has_own = false;
    for (const ir::Affine::Term& term : sub.terms) {
      if (!indices.contains(term.value)) return false;
      has_own |= used.insert(term.value).second;
    }
    return has_own;
  });
}

}  // namespace

bool IsDear(const ir::Function& f, const Loop& loop, size_t indices) {
  bool dear = false;
  ForEachInst(f, loop, [&](const Inst& inst) {
    dear |= Calls(inst);
    if (!inst.each) return;
    dear |= std::any_of(inst.each->body.begin(), inst.each->body.end(), Calls);
    const bool many = inst.each->indices.size() >= indices;
    dear |= many && std::any_of(inst.results.begin(), inst.results.end(), [&](Value v) {
              return f.TypeOf(v).IsArray() && f.TypeOf(v).IsFloat();
            });
  });
  return dear;
}

bool ReadsAll(const ir::Function& f, const Loop& loop, const analysis::LoopNest& nest,
              const LoopParts& parts) {
  const std::set<Value> counters = CountersOf(f, loop, nest, parts);
  bool all = true;
  const auto visit = [&](const Inst& inst, const std::set<Value>& indices) {
    if (inst.op != Op::Index) return;
    const Value array = inst.args[0];
    if (parts.IsInside(loop, array) || !f.TypeOf(array).IsFloat()) return;
    all = all && HasOwnIndices(inst, indices);
  };
  ForEachInst(f, loop, [&](const Inst& inst) {
    all &= inst.op != Op::Call;
    visit(inst, counters);
    if (!inst.each) return;
    std::set<Value> indices = counters;
    for (const ir::IndexVar& i : inst.each->indices) indices.insert(i.var);
    for (const Inst& body : inst.each->body) visit(body, indices);
  });
  return all;
}

}  // namespace pullback::ad
