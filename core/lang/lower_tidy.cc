#include "core/lang/lower_tidy.h"

#include <algorithm>

#include "core/ir/renumber.h"

namespace pullback::lang {
namespace {

// --- blocks

bool IsEmptyJump(const ir::Block& b) {
  return b.params.empty() && b.insts.empty() && b.term.kind == ir::Terminator::Kind::kJump;
}

// An edge to an empty block that jumps on becomes that jump, unless a branch would then have two
// edges to one block.
void ShortenEdges(ir::Function& f) {
  for (ir::Block& b : f.blocks) {
    for (ir::Edge& e : b.term.edges) {
      for (size_t steps = 0; steps < f.blocks.size() && IsEmptyJump(f.blocks[e.block]); ++steps) {
        const ir::Edge& next = f.blocks[e.block].term.edges[0];
        const bool twice = std::any_of(b.term.edges.begin(), b.term.edges.end(),
                                       [&](const ir::Edge& o) { return o.block == next.block; });
        if (twice || next.block == 0) break;
        e = ir::Edge(next);
      }
    }
  }
}

std::vector<uint32_t> ReversePostorder(const ir::Function& f) {
  std::vector<uint32_t> order;
  std::vector<uint8_t> seen(f.blocks.size());
  std::vector<std::pair<uint32_t, size_t>> stack = {{0, f.blocks[0].term.edges.size()}};
  seen[0] = 1;
  while (!stack.empty()) {
    auto& [block, left] = stack.back();
    if (left == 0) {
      order.push_back(block);
      stack.pop_back();
      continue;
    }
    const uint32_t next = f.blocks[block].term.edges[--left].block;
    if (seen[next]) continue;
    seen[next] = 1;
    stack.emplace_back(next, f.blocks[next].term.edges.size());
  }
  std::reverse(order.begin(), order.end());
  return order;
}

void OrderBlocks(ir::Function& f) {
  const std::vector<uint32_t> order = ReversePostorder(f);
  std::vector<uint32_t> place(f.blocks.size());
  for (uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::vector<ir::Block> blocks;
  for (uint32_t b : order) blocks.push_back(std::move(f.blocks[b]));
  for (ir::Block& b : blocks) {
    for (ir::Edge& e : b.term.edges) e.block = place[e.block];
  }
  f.blocks = std::move(blocks);
}

// --- instructions without readers

class DeadCode {
 public:
  explicit DeadCode(ir::Function& f) : f_(f), uses_(f.values.size()) {}

  void Remove() {
    for (const ir::Block& b : f_.blocks) {
      for (const ir::Inst& i : b.insts) Count(i, 1);
      ir::ForEachTermOperand(b.term, [&](ir::Value v) { ++uses_[v.id]; });
    }
    bool changed = true;
    while (changed) {
      changed = false;
      for (size_t i = f_.blocks.size(); i-- > 0;) {
        changed = RemoveFrom(f_.blocks[i].insts, false) || changed;
      }
    }
  }

 private:
  void Count(const ir::Inst& inst, int by) {
    ir::ForEachOperand(inst, [&](ir::Value v) { uses_[v.id] += by; });
  }

  bool IsDead(const ir::Inst& inst, bool in_body) const {
    const uint8_t flags = ir::Info(inst.op).flags;
    const bool removable = (flags & ir::kPure) || (in_body && inst.op == ir::Op::Index);
    return removable && std::all_of(inst.results.begin(), inst.results.end(),
                                    [&](ir::Value v) { return uses_[v.id] == 0; });
  }

  // Backwards, so that one pass removes whole chains.
  bool RemoveFrom(std::vector<ir::Inst>& insts, bool in_body) {
    std::vector<uint8_t> dead(insts.size());
    bool any = false;
    for (size_t i = insts.size(); i-- > 0;) {
      if (insts[i].each) any = RemoveFrom(insts[i].each->body, true) || any;
      if (!IsDead(insts[i], in_body)) continue;
      Count(insts[i], -1);
      dead[i] = 1;
      any = true;
    }
    size_t next = 0;
    std::erase_if(insts, [&](const ir::Inst&) { return dead[next++] != 0; });
    return any;
  }

  ir::Function& f_;
  std::vector<int> uses_;
};

// --- functions

void RemoveUncalled(ir::Module& m) {
  std::vector<uint32_t> place(m.functions.size(), UINT32_MAX);
  std::vector<uint32_t> work = {m.entry};
  place[m.entry] = 0;
  while (!work.empty()) {
    const uint32_t f = work.back();
    work.pop_back();
    ir::ForEachCallee(m.Get(f), [&](uint32_t callee) {
      if (place[callee] != UINT32_MAX) return;
      place[callee] = 0;
      work.push_back(callee);
    });
  }
  std::vector<std::unique_ptr<ir::Function>> kept;
  for (size_t i = 0; i < place.size(); ++i) {
    if (place[i] == UINT32_MAX) continue;
    place[i] = static_cast<uint32_t>(kept.size());
    kept.push_back(std::move(m.functions[i]));
  }
  m.functions = std::move(kept);
  m.entry = place[m.entry];
  for (auto& f : m.functions) {
    ir::ForEachCallee(*f, [&](uint32_t& callee) { callee = place[callee]; });
  }
}

}  // namespace

void Tidy(ir::Module& module) {
  for (auto& f : module.functions) {
    ShortenEdges(*f);
    OrderBlocks(*f);
    DeadCode(*f).Remove();
    ir::Renumber(*f);
  }
  RemoveUncalled(module);
}

}  // namespace pullback::lang
