#include "core/ad/prepare.h"

#include <algorithm>
#include <set>
#include <utility>

namespace pullback::ad {
namespace {

using ir::Block;
using ir::Edge;
using ir::Terminator;
using ir::Value;

void MergeReturns(ir::Function& f) {
  std::vector<uint32_t> returns;
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    if (f.blocks[b].term.kind == Terminator::Kind::kReturn) returns.push_back(b);
  }
  if (returns.size() <= 1) return;
  const auto exit = static_cast<uint32_t>(f.blocks.size());
  Block block;
  for (ir::Type t : f.results) block.params.push_back(f.NewValue(t, "result"));
  block.term = {Terminator::Kind::kReturn, ir::kNoValue, {}, block.params};
  f.blocks.push_back(std::move(block));
  for (uint32_t b : returns) {
    ir::Values args = std::move(f.blocks[b].term.results);
    f.blocks[b].term = {Terminator::Kind::kJump, ir::kNoValue, {{exit, std::move(args)}}, {}};
  }
}

void SplitCriticalEdges(ir::Function& f) {
  std::vector<int> count(f.blocks.size());
  for (const Block& b : f.blocks) {
    for (const Edge& e : b.term.edges) ++count[e.block];
  }
  const size_t n = f.blocks.size();
  for (size_t b = 0; b < n; ++b) {
    if (f.blocks[b].term.edges.size() < 2) continue;
    for (size_t k = 0; k < 2; ++k) {
      Edge& e = f.blocks[b].term.edges[k];
      if (count[e.block] < 2) continue;
      Block middle;
      middle.term = {Terminator::Kind::kJump, ir::kNoValue, {std::move(e)}, {}};
      f.blocks[b].term.edges[k] = {static_cast<uint32_t>(f.blocks.size()), {}};
      f.blocks.push_back(std::move(middle));
    }
  }
}

}  // namespace

void PrepareForReverse(ir::Function& f) {
  MergeReturns(f);
  SplitCriticalEdges(f);
}

ReverseFlow::ReverseFlow(const ir::Function& f)
    : dominators(f),
      preds(f.blocks.size()),
      way(f.blocks.size(), WayBack::kOnly),
      condition(f.blocks.size()),
      skipped(f.blocks.size()),
      def_block(f.values.size(), 0),
      loop_(f.blocks.size()) {
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    const Terminator& t = f.blocks[b].term;
    if (t.kind == Terminator::Kind::kReturn) exit = b;
    for (uint32_t e = 0; e < t.edges.size(); ++e) preds[t.edges[e].block].push_back({b, e});
  }
  FindDefinitions(f);
  FindComponents(f);
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    if (preds[b].size() < 2) continue;
    way[b] = WayBack::kTag;
    ClassifyHeader(f, b);
    if (way[b] == WayBack::kTag) ClassifyJoin(f, b);
  }
}

void ReverseFlow::FindDefinitions(const ir::Function& f) {
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    for (Value v : f.blocks[b].params) def_block[v.id] = b;
    for (const ir::Inst& inst : f.blocks[b].insts) {
      for (Value v : inst.results) def_block[v.id] = b;
    }
  }
}

// Kosaraju: backwards from the blocks in reverse postorder.
void ReverseFlow::FindComponents(const ir::Function& f) {
  constexpr uint32_t kUnseen = UINT32_MAX;
  component_.assign(f.blocks.size(), kUnseen);
  for (uint32_t root : dominators.order()) {
    if (component_[root] != kUnseen) continue;
    const auto id = static_cast<uint32_t>(cyclic_.size());
    size_t members = 0;
    bool self = false;
    std::vector<uint32_t> work = {root};
    component_[root] = id;
    while (!work.empty()) {
      const uint32_t b = work.back();
      work.pop_back();
      ++members;
      for (const Predecessor& p : preds[b]) {
        self |= p.block == b;
        if (component_[p.block] != kUnseen) continue;
        component_[p.block] = id;
        work.push_back(p.block);
      }
    }
    cyclic_.push_back(members > 1 || self);
  }
}

void ReverseFlow::ClassifyHeader(const ir::Function& f, uint32_t b) {
  if (preds[b].size() != 2 || f.blocks[b].term.kind != Terminator::Kind::kBranch) return;
  const bool first_is_latch = dominators.Dominates(b, preds[b][0].block);
  const bool second_is_latch = dominators.Dominates(b, preds[b][1].block);
  if (first_is_latch == second_is_latch) return;
  if (first_is_latch) std::swap(preds[b][0], preds[b][1]);
  // The natural loop: what reaches the latch without passing the header.
  std::set<uint32_t> loop = {b};
  std::vector<uint32_t> work = {preds[b][1].block};
  while (!work.empty()) {
    const uint32_t at = work.back();
    work.pop_back();
    if (!loop.insert(at).second) continue;
    for (const Predecessor& p : preds[at]) work.push_back(p.block);
  }
  int inside = 0;
  for (const Edge& e : f.blocks[b].term.edges) inside += loop.contains(e.block) ? 1 : 0;
  if (inside != 1) return;
  for (uint32_t c : loop) {
    if (c == b) continue;
    for (const Edge& e : f.blocks[c].term.edges) {
      if (!loop.contains(e.block)) return;
    }
  }
  way[b] = WayBack::kTrips;
  loop_[b].assign(loop.begin(), loop.end());
}

void ReverseFlow::ClassifyJoin(const ir::Function& f, uint32_t b) {
  if (preds[b].size() != 2) return;
  const uint32_t fork = dominators.Idom(b);
  const Terminator& t = f.blocks[fork].term;
  if (t.kind != Terminator::Kind::kBranch) return;
  for (int flip = 0; flip < 2; ++flip) {
    if (dominators.Dominates(t.edges[1].block, preds[b][0].block) &&
        dominators.Dominates(t.edges[0].block, preds[b][1].block)) {
      way[b] = WayBack::kCondition;
      condition[b] = t.cond;
      return;
    }
    std::swap(preds[b][0], preds[b][1]);
  }
}

void ReverseFlow::SkipInert(const ir::Function& f, const std::vector<char>& inert) {
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    if (way[b] == WayBack::kOnly || !inert[b]) continue;
    const bool loop = way[b] == WayBack::kTrips;
    const Predecessor front = loop ? preds[b][0] : Predecessor{dominators.Idom(b), kNoEdge};
    const uint32_t end = loop ? b : front.block;
    // What lies between: whatever reaches b (of a loop: by its latch) behind `end`.
    std::set<uint32_t> between;
    std::vector<uint32_t> work;
    for (size_t k = loop ? 1 : 0; k < preds[b].size(); ++k) work.push_back(preds[b][k].block);
    bool all = true;
    while (all && !work.empty()) {
      const uint32_t at = work.back();
      work.pop_back();
      if (at == end || !between.insert(at).second) continue;
      all = inert[at] && at != b && at != exit;
      for (const Predecessor& p : preds[at]) work.push_back(p.block);
    }
    // Who enters comes out at b: no other way back leads through what is skipped.
    for (uint32_t at : between) {
      for (const Edge& e : f.blocks[at].term.edges)
        all &= between.contains(e.block) || e.block == b;
    }
    if (!all) continue;
    for (uint32_t at : between) {
      skipped[at] = 1;
      way[at] = WayBack::kOnly;  // nobody asks: no tag goes on the tape
    }
    preds[b] = {front};
    way[b] = WayBack::kOnly;
  }
}

bool ReverseFlow::IsLoopBodyOf(uint32_t block, uint32_t header) const {
  return way[header] == WayBack::kTrips &&
         std::binary_search(loop_[header].begin(), loop_[header].end(), block);
}

}  // namespace pullback::ad
