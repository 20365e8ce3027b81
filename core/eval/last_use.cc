#include "core/eval/last_use.h"

#include "core/ir/dominance.h"

namespace pullback::eval {

using ir::Value;

LastUses::LastUses(const ir::Function& f) : blocks_(f.blocks.size()) {
  NumberRefs(f);
  Solve(f);
  for (uint32_t b = 0; b < f.blocks.size(); ++b) Record(f, b);
}

void LastUses::NumberRefs(const ir::Function& f) {
  number_.assign(f.values.size(), UINT32_MAX);
  for (uint32_t v = 0; v < f.values.size(); ++v) {
    const ir::Type t = f.values[v];
    if (!t.IsArray() && !t.IsTape() && !t.IsList()) continue;
    number_[v] = static_cast<uint32_t>(refs_.size());
    refs_.push_back(Value{v});
  }
  live_in_.assign(f.blocks.size(), Set(refs_.size()));
}

// What the successors and the terminator itself read.
LastUses::Set LastUses::LiveAtTerminator(const ir::Function& f, uint32_t b) const {
  const ir::Terminator& term = f.blocks[b].term;
  Set live(refs_.size());
  for (const ir::Edge& e : term.edges) {
    for (size_t r = 0; r < live.size(); ++r) {
      if (live_in_[e.block][r]) live[r] = true;
    }
  }
  ForEachTermOperand(term, [&](const Value& v) {
    if (IsRef(v)) live[number_[v.id]] = true;
  });
  return live;
}

// From the end of the block to its start; notes in `uses` what dies where.
void LastUses::Walk(const ir::Block& block, Set& live, BlockUses* uses) const {
  for (size_t i = block.insts.size(); i-- > 0;) {
    const ir::Inst& inst = block.insts[i];
    const auto note = [&](const Value& v) {
      if (IsRef(v) && !live[number_[v.id]] && uses) uses->at_inst[i].push_back(v);
    };
    for (const Value& v : inst.results) {
      note(v);
      if (IsRef(v)) live[number_[v.id]] = false;
    }
    ForEachOperand(inst, note);
    ForEachOperand(inst, [&](const Value& v) {
      if (IsRef(v)) live[number_[v.id]] = true;
    });
  }
  for (const Value& v : block.params) {
    if (!IsRef(v)) continue;
    if (uses && !live[number_[v.id]]) uses->at_entry.push_back(v);
    live[number_[v.id]] = false;
  }
}

void LastUses::Solve(const ir::Function& f) {
  const std::vector<uint32_t> order = ir::ReversePostorder(f);
  for (bool changed = !refs_.empty(); changed;) {
    changed = false;
    for (auto b = order.rbegin(); b != order.rend(); ++b) {
      Set live = LiveAtTerminator(f, *b);
      Walk(f.blocks[*b], live, nullptr);
      changed |= live != live_in_[*b];
      live_in_[*b] = std::move(live);
    }
  }
}

void LastUses::Record(const ir::Function& f, uint32_t b) {
  const ir::Block& block = f.blocks[b];
  BlockUses& uses = blocks_[b];
  uses.at_inst.resize(block.insts.size());
  uses.on_edge.resize(block.term.edges.size());
  if (refs_.empty()) return;
  Set live = LiveAtTerminator(f, b);
  for (size_t e = 0; e < block.term.edges.size(); ++e) {
    const Set& next = live_in_[block.term.edges[e].block];
    for (size_t r = 0; r < refs_.size(); ++r) {
      if (live[r] && !next[r]) uses.on_edge[e].push_back(refs_[r]);
    }
  }
  Walk(block, live, &uses);
}

}  // namespace pullback::eval
