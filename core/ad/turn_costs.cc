#include "core/ad/turn_costs.h"

#include <algorithm>
#include <set>

#include "core/analysis/carried_extents.h"

namespace pullback::ad {

using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

constexpr int64_t kMostShort = 16;  // elements along an axis

template <typename Fn>
void ForEachInst(const ir::Function& f, const Loop& loop, Fn&& fn) {
  for (uint32_t b : loop.blocks) {
    for (const Inst& inst : f.blocks[b].insts) fn(inst);
  }
}

bool Calls(const Inst& inst) {
  return inst.op == Op::Call || (ir::Info(inst.op).flags & ir::kLibm) != 0;
}

std::set<Value> CountersOf(const ir::Function& f, const Loop& loop, const analysis::LoopNest& nest,
                           const LoopParts& parts) {
  std::set<Value> counters;
  for (uint32_t b : loop.blocks) {
    if (nest.Innermost(b) != b) continue;
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

// Arrays that the loop reads and loops around carry, and what becomes of them on the edges.
std::set<Value> VersionsReadIn(const ir::Function& f, const Loop& loop,
                               const analysis::LoopNest& nest, const LoopParts& parts) {
  std::set<Value> versions;
  for (uint32_t b : loop.blocks) {
    ForEachUse(f.blocks[b], [&](Value v) {
      if (f.TypeOf(v).IsArray() && !parts.IsInside(loop, v) &&
          nest.Innermost(parts.BlockOf(v)) != ir::kNoBlock)
        versions.insert(v);
    });
  }
  for (size_t before = 0; before != versions.size();) {
    before = versions.size();
    for (const ir::Block& b : f.blocks) {
      for (const ir::Edge& e : b.term.edges) {
        for (size_t k = 0; k < e.args.size(); ++k) {
          if (versions.contains(e.args[k])) versions.insert(f.blocks[e.block].params[k]);
        }
      }
    }
  }
  return versions;
}

// Those that are not known to be short.
int CountLongAxes(const ir::Function& f, Value array, const analysis::CarriedExtents& extents,
                  const LoopParts& parts) {
  int count = 0;
  for (int axis = 0; axis < f.TypeOf(array).rank; ++axis) {
    const analysis::Extent e = extents.Of(array, axis);
    const Inst* def = e.IsInteger() && e.value.valid() ? parts.Definition(e.value) : nullptr;
    const bool is_short =
        def && def->op == Op::Const && static_cast<int64_t>(def->bits) <= kMostShort;
    count += is_short ? 0 : 1;
  }
  return count;
}

bool IsInEveryTurn(uint32_t b, uint32_t header, const ReverseFlow& flow) {
  return std::all_of(flow.preds[header].begin(), flow.preds[header].end(), [&](const auto& p) {
    return !flow.dominators.Dominates(header, p.block) || flow.dominators.Dominates(b, p.block);
  });
}

bool IsAround(uint32_t outer, uint32_t header, const analysis::LoopNest& nest) {
  uint32_t h = nest.Around(header);
  while (h != ir::kNoBlock && h != outer) h = nest.Around(h);
  return h != ir::kNoBlock;
}

// Inside each other, the loop among them.
int CountLoops(const Loop& loop, const analysis::LoopNest& nest) {
  int most = 0;
  for (uint32_t b : loop.blocks) {
    int count = 1;
    for (uint32_t h = nest.Innermost(b); h != loop.header; h = nest.Around(h)) ++count;
    most = std::max(most, count);
  }
  return most;
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

bool KeepsVersions(const ir::Function& f, const Loop& loop, const analysis::LoopNest& nest,
                   const ReverseFlow& flow, const LoopParts& parts) {
  const std::set<Value> versions = VersionsReadIn(f, loop, nest, parts);
  if (versions.empty()) return false;
  const analysis::CarriedExtents extents(f);
  const int loops = CountLoops(loop, nest);
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    const uint32_t around = nest.Innermost(b);
    if (!IsAround(around, loop.header, nest)) continue;
    const int fewest = loops + (IsInEveryTurn(b, around, flow) ? 0 : 1);
    for (const Inst& inst : f.blocks[b].insts) {
      const bool stores = inst.op == Op::Update || inst.op == Op::AddAt;
      if (stores && versions.contains(inst.args[0]) &&
          CountLongAxes(f, inst.args[0], extents, parts) >= fewest)
        return true;
    }
  }
  return false;
}

}  // namespace pullback::ad
