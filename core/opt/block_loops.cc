#include "core/opt/block_loops.h"

#include <algorithm>
#include <map>

#include "core/ir/comparisons.h"

namespace pullback::opt {
namespace {

using ir::Inst;
using ir::Op;
using ir::Terminator;
using ir::Value;

// The blocks from which the latches are reached without passing the header. `reached`: by block, the header from
// which it was last come to.
void Collect(const FlatLists& preds, BlockLoop& loop, std::vector<uint32_t>& reached) {
  reached[loop.header] = loop.header;
  loop.blocks = {loop.header};
  std::vector<uint32_t> work = loop.latches;
  while (!work.empty()) {
    const uint32_t b = work.back();
    work.pop_back();
    if (reached[b] == loop.header) continue;
    reached[b] = loop.header;
    loop.blocks.push_back(b);
    work.insert(work.end(), preds[b].begin(), preds[b].end());
  }
  std::sort(loop.blocks.begin(), loop.blocks.end());
}

bool FindEntry(const ir::Function& f, absl::Span<const uint32_t> preds, BlockLoop& loop) {
  size_t entries = 0;
  for (uint32_t p : preds) {
    if (loop.Holds(p)) continue;
    ++entries;
    loop.entry = p;
  }
  if (entries != 1) return false;
  const ir::Edges& edges = f.blocks[loop.entry].term.edges;
  while (edges[loop.entry_edge].block != loop.header) ++loop.entry_edge;
  return true;
}

bool FindExits(const ir::Function& f, BlockLoop& loop) {
  for (uint32_t b : loop.blocks) {
    const Terminator& term = f.blocks[b].term;
    if (b == loop.header) {
      if (term.kind != Terminator::Kind::kBranch) return false;
      const bool first = loop.Holds(term.edges[0].block), second = loop.Holds(term.edges[1].block);
      if (first == second) return false;
      loop.exit_edge = first ? 1 : 0;
      continue;
    }
    if (term.edges.empty()) return false;
    for (const ir::Edge& e : term.edges) {
      loop.has_breaks |= !loop.Holds(e.block);
    }
  }
  return true;
}

// next is var + what is given.
std::optional<int64_t> StepOf(Value next, Value var, const DefinitionBlocks& defs) {
  const Inst* inst = defs.Inst(next);
  if (!inst) return std::nullopt;
  if (inst->op == Op::AffineOf) {
    const ir::Affine step = inst->subs[0] - ir::Affine::Of(var);
    return step.IsConst() ? std::optional(step.constant) : std::nullopt;
  }
  if (inst->op != Op::Add && inst->op != Op::Sub) return std::nullopt;
  const bool second = inst->op == Op::Add && inst->args[1] == var;
  if (!second && inst->args[0] != var) return std::nullopt;
  const Inst* by = defs.Inst(inst->args[second ? 0 : 1]);
  if (!by || by->op != Op::Const) return std::nullopt;
  const auto step = static_cast<int64_t>(inst->op == Op::Sub ? 0 - by->bits : by->bits);
  return step;
}

}  // namespace

std::vector<BlockLoop> FindLoops(const ir::Function& f, const ir::Dominators& dominators,
                                 LoopExits exits) {
  std::map<uint32_t, std::vector<uint32_t>> latches;  // by header
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    for (const ir::Edge& e : f.blocks[b].term.edges) {
      if (dominators.Dominates(e.block, b)) latches[e.block].push_back(b);
    }
  }
  std::vector<BlockLoop> loops;
  if (latches.empty()) return loops;
  const auto preds = ir::Predecessors(f);
  std::vector<uint32_t> reached(f.blocks.size(), ir::kNoBlock);
  for (auto& [header, from] : latches) {
    BlockLoop loop;
    loop.header = header;
    loop.latches = std::move(from);
    Collect(preds, loop, reached);
    const bool may_break = exits == LoopExits::kWithBreaks;
    if (FindEntry(f, preds[header], loop) && FindExits(f, loop) && (may_break || !loop.has_breaks))
      loops.push_back(std::move(loop));
  }
  return loops;
}

DefinitionBlocks::DefinitionBlocks(const ir::Function& f)
    : block_(f.values.size(), ir::kNoBlock), inst_(f.values.size()) {
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    for (Value v : f.blocks[b].params) block_[v.id] = b;
    for (const ir::Inst& inst : f.blocks[b].insts) {
      for (Value v : inst.results) {
        block_[v.id] = b;
        inst_[v.id] = &inst;
      }
    }
  }
}

std::optional<Counter> FindCounter(const ir::Function& f, const BlockLoop& loop,
                                   const DefinitionBlocks& defs) {
  const ir::Block& header = f.blocks[loop.header];
  const Inst* test = defs.Inst(header.term.cond);
  if (!test || test->args.size() != 2 || f.TypeOf(test->args[0]) != ir::Type::I64())
    return std::nullopt;
  for (const size_t side : {0, 1}) {
    const auto param = std::find(header.params.begin(), header.params.end(), test->args[side]);
    const Value bound = test->args[1 - side];
    if (param == header.params.end() || !defs.IsFixed(bound, loop)) continue;
    std::optional<Op> op = test->op;
    if (loop.exit_edge == 0) op = ir::Negated(*op);
    if (op && side == 1) op = ir::Mirrored(*op);
    if (!op || *op == Op::Eq || !ir::Mirrored(*op)) return std::nullopt;
    Counter c{static_cast<size_t>(param - header.params.begin()), *op, bound, 0};
    for (uint32_t latch : loop.latches) {
      for (const ir::Edge& e : f.blocks[latch].term.edges) {
        if (e.block != loop.header) continue;
        const auto step = StepOf(e.args[c.param], *param, defs);
        if (!step || *step == 0 || (c.step != 0 && c.step != *step)) return std::nullopt;
        c.step = *step;
      }
    }
    return c;
  }
  return std::nullopt;
}

std::optional<Counter> FindCounterByOnes(const ir::Function& f, const BlockLoop& loop,
                                         const DefinitionBlocks& defs) {
  const std::optional<Counter> counter = FindCounter(f, loop, defs);
  return counter && counter->op == Op::Lt && counter->step == 1 ? counter : std::nullopt;
}

Value Copier::New(Value like) {
  const Value fresh = f_.NewLike(f_, like);
  Set(like, fresh);
  return fresh;
}

Inst Copier::Copy(const Inst& inst) {
  Inst copy = inst;
  for (Value& v : copy.results) v = New(v);
  if (copy.each) {
    for (ir::IndexVar& i : copy.each->indices) i.var = New(i.var);
    for (Inst& body : copy.each->body) {
      for (Value& v : body.results) v = New(v);
    }
  }
  Rename(copy);
  return copy;
}

ir::Edge Copier::Copy(const ir::Edge& edge) const {
  ir::Edge copy = edge;
  for (Value& v : copy.args) v = Get(v);
  return copy;
}

void Copier::Rename(Inst& inst) const {
  ir::ForEachOperand(inst, [&](Value& v) { v = Get(v); });
  ir::CanonicaliseAffines(inst);
}

uint32_t AddPreheader(ir::Function& f, BlockLoop& loop) {
  const auto made = static_cast<uint32_t>(f.blocks.size());
  ir::Edge& into = f.blocks[loop.entry].term.edges[loop.entry_edge];
  ir::Block block;
  block.term = {Terminator::Kind::kJump, ir::kNoValue, {std::move(into)}, {}};
  into = {made, {}};
  f.blocks.push_back(std::move(block));
  loop.entry = made;
  loop.entry_edge = 0;
  return made;
}

UsingBlocks::UsingBlocks(const ir::Function& f) : first_(f.values.size() + 2) {
  const auto for_each_use = [&](auto&& fn) {
    for (uint32_t b = 0; b < f.blocks.size(); ++b) {
      const auto use = [&](Value v) { fn(v, b); };
      for (const Inst& inst : f.blocks[b].insts) ir::ForEachOperand(inst, use);
      ir::ForEachTermOperand(f.blocks[b].term, use);
    }
  };
  // Counted two places further on, so that the second walk leaves each value's first at its own.
  for_each_use([&](Value v, uint32_t) { ++first_[v.id + 2]; });
  for (size_t k = 2; k < first_.size(); ++k) first_[k] += first_[k - 1];
  blocks_.resize(first_.back());
  for_each_use([&](Value v, uint32_t b) { blocks_[first_[v.id + 1]++] = b; });
}

bool LoopRound::IsUntouched(const BlockLoop& loop) const {
  return !touched_[loop.entry] && std::none_of(loop.blocks.begin(), loop.blocks.end(),
                                               [&](uint32_t b) { return touched_[b] != 0; });
}

void LoopRound::Touch(const BlockLoop& loop) {
  touched_[loop.entry] = 1;
  for (uint32_t b : loop.blocks) touched_[b] = 1;
}

void LoopRound::RenameOutside(const BlockLoop& loop, const Copier& names) {
  const auto number = static_cast<uint32_t>(renamed_.size());
  for (const auto& [from, to] : names.names()) names_[from] = {to, number};
  renamed_.push_back(loop);
}

void LoopRound::End() {
  if (names_.empty()) return;
  for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
    bool changed = false;
    const auto rename = [&](Value& v) {
      for (auto it = names_.find(v.id); it != names_.end() && !renamed_[it->second.loop].Holds(b);
           it = names_.find(v.id)) {
        v = it->second.to;
        changed = true;
      }
    };
    for (Inst& inst : f_.blocks[b].insts) {
      changed = false;
      ir::ForEachOperand(inst, rename);
      if (changed) ir::CanonicaliseAffines(inst);
    }
    ir::ForEachTermOperand(f_.blocks[b].term, rename);
  }
}

}  // namespace pullback::opt
