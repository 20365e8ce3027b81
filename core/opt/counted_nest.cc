#include "core/opt/counted_nest.h"

#include <algorithm>
#include <utility>

#include "core/analysis/loop_nest.h"

namespace pullback::opt {

using ir::Inst;
using ir::Value;

NestFinder::NestFinder(ir::Function& f, const ir::Dominators& dominators,
                       const DefinitionBlocks& defs)
    : f_(f), defs_(defs), loops_(FindLoops(f, dominators)), before_(ir::Predecessors(f)) {
  for (const BlockLoop& loop : loops_) at_[loop.header] = &loop;
  const analysis::LoopNest nest(f, dominators);
  inside_[nullptr];
  for (const BlockLoop& loop : loops_) {
    inside_[&loop];
    uint32_t around = nest.Around(loop.header);
    while (around != ir::kNoBlock && !at_.contains(around)) around = nest.Around(around);
    around_[&loop] = around == ir::kNoBlock ? nullptr : at_.at(around);
    inside_[around_[&loop]].push_back(&loop);
  }
}

Value NestFinder::Root(Value v) const {
  for (auto it = handed_on_.find(v.id); it != handed_on_.end(); it = handed_on_.find(v.id))
    v = it->second;
  return v;
}

std::unique_ptr<CountedNest> NestFinder::Find(const BlockLoop& loop) {
  const std::optional<Counter> counter = FindCounterByOnes(f_, loop, defs_);
  const bool plain = counter && loop.latches.size() == 1 && HasPlainHeader(loop);
  if (!plain) return nullptr;
  auto nest = std::make_unique<CountedNest>();
  nest->loop = &loop;
  nest->counter = f_.blocks[loop.header].params[counter->param];
  nest->before = loop.Arguments(f_);
  nest->first = nest->before[counter->param];
  nest->bound = counter->bound;
  Path path{loop, loop.header, loop.Stay(f_)};
  if (!Visit(path, nest->turn) || path.next.block != loop.header) return nullptr;
  nest->last = path.next.args;
  return nest;
}

bool NestFinder::HasPlainHeader(const BlockLoop& loop) const {
  const ir::Block& header = f_.blocks[loop.header];
  return !header.term.snapshots.valid() &&
         std::all_of(header.insts.begin(), header.insts.end(), [](const Inst& inst) {
           return !inst.each && (ir::Info(inst.op).flags & ir::kPure) != 0;
         });
}

// Other blocks than headers of loops, on the way of a turn, have one edge that leads to them.
void NestFinder::Follow(const ir::Edge& edge) {
  const ir::Values& params = f_.blocks[edge.block].params;
  for (size_t k = 0; k < params.size(); ++k) handed_on_[params[k].id] = edge.args[k];
}

bool NestFinder::Visit(Path& path, std::vector<TurnItem>& items) {
  while (path.next.block != path.loop.header) {
    if (at_.contains(path.next.block)) {
      if (!VisitInner(path, items)) return false;
      continue;
    }
    if (!path.loop.Holds(path.next.block)) return false;
    if (before_[path.next.block].size() != 1) return true;
    Follow(path.next);
    if (!VisitBlock(path, items)) return false;
  }
  return true;
}

bool NestFinder::VisitBlock(Path& path, std::vector<TurnItem>& items) {
  path.from = path.next.block;
  const ir::Block& b = f_.blocks[path.from];
  for (const Inst& inst : b.insts) items.push_back({&inst, nullptr, nullptr});
  if (b.term.kind == ir::Terminator::Kind::kBranch) return VisitBranch(path, items);
  path.next = b.term.edges[0];
  return b.term.kind == ir::Terminator::Kind::kJump;
}

bool NestFinder::VisitBranch(Path& path, std::vector<TurnItem>& items) {
  const ir::Terminator& term = f_.blocks[path.from].term;
  auto branch = std::make_unique<TurnBranch>();
  branch->cond = term.cond;
  ir::Edge ends[2];
  path.ways = 0;
  for (size_t k = 0; k < 2; ++k) {
    Path arm{path.loop, path.from, term.edges[k]};
    if (!Visit(arm, branch->arms[k])) return false;
    ends[k] = arm.next;
    path.ways += arm.ways;
  }
  const uint32_t meet = ends[0].block;
  if (meet != ends[1].block || meet == path.loop.header) return false;
  const bool all = path.ways == before_[meet].size();
  path.next = {meet, {}};
  for (size_t k = 0; k < ends[0].args.size(); ++k) {
    const Value param = f_.blocks[meet].params[k];
    path.next.args.push_back(all ? param : f_.NewLike(f_, param));
    branch->choices.push_back({path.next.args[k], {ends[0].args[k], ends[1].args[k]}});
  }
  items.push_back({nullptr, nullptr, std::move(branch)});
  if (!all) return true;
  path.ways = 1;
  return VisitBlock(path, items);
}

bool NestFinder::VisitInner(Path& path, std::vector<TurnItem>& items) {
  const BlockLoop& inner = *at_.at(path.next.block);
  if (inner.entry != path.from) return false;
  std::unique_ptr<CountedNest> found = Find(inner);
  if (!found) return false;
  items.push_back({nullptr, std::move(found), nullptr});
  path.from = inner.header;
  path.next = inner.Exit(f_);
  return true;
}

}  // namespace pullback::opt
