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

// The blocks from which the latches are reached without passing the header.
void Collect(const std::vector<std::vector<uint32_t>>& preds, BlockLoop& loop) {
  loop.inside[loop.header] = 1;
  loop.blocks = {loop.header};
  std::vector<uint32_t> work = loop.latches;
  while (!work.empty()) {
    const uint32_t b = work.back();
    work.pop_back();
    if (loop.inside[b]) continue;
    loop.inside[b] = 1;
    loop.blocks.push_back(b);
    work.insert(work.end(), preds[b].begin(), preds[b].end());
  }
}

bool FindEntry(const ir::Function& f, const std::vector<uint32_t>& preds, BlockLoop& loop) {
  size_t entries = 0;
  for (uint32_t p : preds) {
    if (loop.inside[p]) continue;
    ++entries;
    loop.entry = p;
  }
  if (entries != 1) return false;
  const std::vector<ir::Edge>& edges = f.blocks[loop.entry].term.edges;
  while (edges[loop.entry_edge].block != loop.header) ++loop.entry_edge;
  return true;
}

bool ExitsByHeader(const ir::Function& f, BlockLoop& loop) {
  for (uint32_t b : loop.blocks) {
    const Terminator& term = f.blocks[b].term;
    if (b == loop.header) {
      if (term.kind != Terminator::Kind::kBranch) return false;
      const bool first = loop.inside[term.edges[0].block],
                 second = loop.inside[term.edges[1].block];
      if (first == second) return false;
      loop.exit_edge = first ? 1 : 0;
      continue;
    }
    if (term.edges.empty()) return false;
    for (const ir::Edge& e : term.edges) {
      if (!loop.inside[e.block]) return false;
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

std::vector<BlockLoop> FindLoops(const ir::Function& f, const ir::Dominators& dominators) {
  std::map<uint32_t, std::vector<uint32_t>> latches;  // by header
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    for (const ir::Edge& e : f.blocks[b].term.edges) {
      if (dominators.Dominates(e.block, b)) latches[e.block].push_back(b);
    }
  }
  std::vector<BlockLoop> loops;
  if (latches.empty()) return loops;
  const auto preds = ir::Predecessors(f);
  for (auto& [header, from] : latches) {
    BlockLoop loop;
    loop.header = header;
    loop.latches = std::move(from);
    loop.inside.resize(f.blocks.size());
    Collect(preds, loop);
    if (FindEntry(f, preds[header], loop) && ExitsByHeader(f, loop))
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

Value Copier::New(Value like) {
  const ir::ValueInfo info = f_.values[like.id];
  const Value fresh = f_.NewValue(info.type, info.name);
  if (map_.size() < f_.values.size()) map_.resize(f_.values.size());
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

void RenameOutside(ir::Function& f, const BlockLoop& loop, const Copier& names) {
  for (uint32_t b = 0; b < loop.inside.size(); ++b) {
    if (loop.inside[b]) continue;
    for (Inst& inst : f.blocks[b].insts) names.Rename(inst);
    ir::ForEachTermOperand(f.blocks[b].term, [&](Value& v) { v = names.Get(v); });
  }
}

}  // namespace pullback::opt
