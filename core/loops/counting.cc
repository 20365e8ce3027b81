#include "core/loops/counting.h"

#include <algorithm>

namespace pullback::loops {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

// How far definitions are followed.
constexpr int kMaxDepth = 8;

}  // namespace

BlockFacts::BlockFacts(const ir::Function& f, const ir::Dominators& dominators)
    : f_(f),
      dominators_(dominators),
      predecessors_(ir::Predecessors(f)),
      definitions_(f.values.size()) {
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    const ir::Block& block = f.blocks[b];
    for (size_t p = 0; p < block.params.size(); ++p)
      definitions_[block.params[p].id] = {nullptr, b, p};
    for (const Inst& inst : block.insts) {
      for (Value v : inst.results) definitions_[v.id] = {&inst, b, 0};
    }
  }
}

void BlockFacts::Enter(uint32_t block, Sizes& sizes) const {
  EnterByBranch(block, sizes);
  if (!predecessors_[block].empty()) {
    for (Value v : f_.blocks[block].params) {
      const Value origin = f_.TypeOf(v).IsArray() ? OriginOf(v) : ir::kNoValue;
      if (origin.valid()) sizes.CopyShape(v, origin);
    }
  }
  if (const std::optional<Loop> loop = LoopAt(block)) EnterLoop(block, *loop, sizes);
}

// --- branches

void BlockFacts::EnterByBranch(uint32_t block, Sizes& sizes) const {
  if (predecessors_[block].size() != 1) return;
  const ir::Terminator& term = f_.blocks[predecessors_[block][0]].term;
  if (term.kind != ir::Terminator::Kind::kBranch) return;
  term.edges[0].block == block ? sizes.Passed(term.cond) : sizes.Failed(term.cond);
}

// --- loops

// A block with one way in and all others back, over edges that are told apart.
std::optional<BlockFacts::Loop> BlockFacts::LoopAt(uint32_t header) const {
  Loop loop{ir::kNoBlock, nullptr, {}, {}};
  for (uint32_t from : predecessors_[header]) {
    if (!dominators_.IsReachable(from)) continue;
    const auto& edges = f_.blocks[from].term.edges;
    const auto leads_here = [&](const ir::Edge& e) { return e.block == header; };
    if (std::count_if(edges.begin(), edges.end(), leads_here) != 1) return std::nullopt;
    const ir::Edge* edge = &*std::find_if(edges.begin(), edges.end(), leads_here);
    if (dominators_.Dominates(header, from)) {
      loop.latches.push_back(from);
      loop.back.push_back(edge);
    } else if (!loop.enter) {
      loop.entry = from;
      loop.enter = edge;
    } else {
      return std::nullopt;
    }
  }
  if (!loop.enter || loop.back.empty()) return std::nullopt;
  return loop;
}

// Constants are told by their values, wherever they stand.
Affine BlockFacts::Literal(Value v) const {
  const Inst* inst = Definition(v);
  const bool constant = inst && inst->op == Op::Const;
  return constant ? Affine::Const(static_cast<int64_t>(inst->bits)) : Affine::Of(v);
}

// next - var, where that is a constant.
std::optional<int64_t> BlockFacts::StepOf(Value next, Value var) const {
  Affine e = Affine::Of(next);
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    const Affine rest = e - Affine::Of(var);
    if (rest.IsConst()) return rest.constant;
    if (e.terms.size() != 1 || e.terms[0].coeff != 1) return std::nullopt;
    const Inst* inst = Definition(e.terms[0].value);
    if (!inst) return std::nullopt;
    Affine by;
    const auto arg = [&](size_t k) { return Literal(inst->args[k]); };
    switch (inst->op) {
      case Op::AffineOf: by = inst->subs[0]; break;
      case Op::Add: by = arg(0) + arg(1); break;
      case Op::Sub: by = arg(0) - arg(1); break;
      default: return std::nullopt;
    }
    e = e.Substitute(e.terms[0].value, by);
  }
  return std::nullopt;
}

// What `var` is compared with where the condition holds (or does not).
Value BlockFacts::BoundIn(Value condition, bool holds, Value var, bool upper) const {
  const Inst* inst = Definition(condition);
  if (!inst || ir::Info(inst->op).rule != ir::TypeRule::Cmp) return ir::kNoValue;
  const bool left = inst->args[0] == var;
  if (!left && inst->args[1] != var) return ir::kNoValue;
  // As var OP other, in the sense that holds.
  const bool below =
      (inst->op == Op::Lt && left && holds) || (inst->op == Op::Gt && !left && holds) ||
      (inst->op == Op::Ge && left && !holds) || (inst->op == Op::Le && !left && !holds);
  const bool above =
      (inst->op == Op::Gt && left && holds) || (inst->op == Op::Lt && !left && holds) ||
      (inst->op == Op::Le && left && !holds) || (inst->op == Op::Ge && !left && !holds);
  return (upper ? below : above) ? inst->args[left ? 1 : 0] : ir::kNoValue;
}

// A strict bound on `var` that some branch between the header and the way back has tested.
Value BlockFacts::BoundAt(uint32_t header, uint32_t latch, Value var, bool upper) const {
  for (uint32_t b = latch; b != header; b = dominators_.Idom(b)) {
    if (predecessors_[b].size() != 1) continue;
    const ir::Terminator& term = f_.blocks[predecessors_[b][0]].term;
    if (term.kind != ir::Terminator::Kind::kBranch) continue;
    const Value bound = BoundIn(term.cond, term.edges[0].block == b, var, upper);
    if (bound.valid()) return bound;
  }
  return ir::kNoValue;
}

std::optional<BlockFacts::Counter> BlockFacts::CounterAt(uint32_t header, const Loop& loop,
                                                         size_t param) const {
  const Value var = f_.blocks[header].params[param];
  if (f_.TypeOf(var) != ir::Type::I64()) return std::nullopt;
  Counter c{var, loop.enter->args[param], 0, ir::kNoValue};
  for (size_t k = 0; k < loop.back.size(); ++k) {
    const std::optional<int64_t> step = StepOf(loop.back[k]->args[param], var);
    if (!step || (*step != 1 && *step != -1) || (c.step != 0 && c.step != *step))
      return std::nullopt;
    c.step = *step;
    const Value bound = BoundAt(header, loop.latches[k], var, c.step > 0);
    if (k > 0 && bound != c.bound) return std::nullopt;
    c.bound = bound;
  }
  return c;
}

namespace {

// first, and bound where a step by one may reach it.
analysis::Interval RangeOfCounter(analysis::Interval first, analysis::Interval bound, bool up) {
  return up ? analysis::Interval{first.lo, std::max(first.hi, bound.hi)}
            : analysis::Interval{std::min(first.lo, bound.lo), first.hi};
}

}  // namespace

// Before a step up by one i < bound holds, so that no step wraps, and i <= bound after it.
void BlockFacts::LearnCounter(const Counter& c, bool fixed_bound, Sizes& sizes) const {
  const bool up = c.step > 0;
  const Affine first = sizes.Form(c.first), bound = sizes.Form(Literal(c.bound)),
               var = Affine::Of(c.var);
  sizes.SetRange(c.var, RangeOfCounter(sizes.RangeOf(first), sizes.RangeOf(bound), up));
  const Affine moved = up ? var - first : first - var;
  sizes.Learn({{moved, false}, true});
  if (up && first.IsConst() && first.constant >= 0) sizes.Learn({{moved, false}, false});
  if (!fixed_bound) return;
  // Past the first value it was within the bound before its last step.
  const Affine within = up ? bound - var : var - bound;
  sizes.Learn({{within, false}, true, moved - Affine::Const(1)});
  sizes.Learn({{within, false}, true, up ? bound - first : first - bound});
}

// Two that step together stay as far apart as they began, however they wrap.
void BlockFacts::LearnDistance(const Counter& c, const Counter& from, Sizes& sizes) {
  const int64_t sign = c.step == from.step ? 1 : -1;
  const Affine moved = Affine::Of(from.var) - Affine::Of(from.first);
  const Affine is = sizes.Form(Affine::Of(c.first) + moved * sign);
  if (!c.bound.valid()) sizes.SetRange(c.var, sizes.RangeOf(is));
  sizes.Learn({{Affine::Of(c.var) - is, true}, false});
}

// The array that `inst` gives back as `result` with elements changed; kNoValue: it does not.
Value BlockFacts::ChangedBy(const ir::Inst& inst, Value result) {
  if (inst.op == Op::Update || inst.op == Op::AddAt || inst.op == Op::AddArrays)
    return inst.args[0];
  if (inst.op != Op::Each) return ir::kNoValue;
  const auto at = std::find(inst.results.begin(), inst.results.end(), result);
  return inst.each->results[static_cast<size_t>(at - inst.results.begin())].into;
}

// The array that a block parameter is on every path, but for elements that were changed: it has its
// extents. kNoValue: there are several.
Value BlockFacts::OriginOf(Value param) const {
  constexpr size_t kMaxVisited = 64;
  std::vector<Value> seen{param};
  Value origin;
  for (size_t at = 0; at < seen.size(); ++at) {
    if (seen.size() > kMaxVisited) return ir::kNoValue;
    const auto go_to = [&](Value v) {
      if (std::find(seen.begin(), seen.end(), v) == seen.end()) seen.push_back(v);
    };
    const DefinedAt d = definitions_[seen[at].id];
    const Value changed = d.inst ? ChangedBy(*d.inst, seen[at]) : ir::kNoValue;
    if (changed.valid()) {
      go_to(changed);
    } else if (d.inst || predecessors_[d.block].empty()) {
      if (origin.valid()) return ir::kNoValue;
      origin = seen[at];
    } else {
      for (uint32_t from : predecessors_[d.block]) {
        for (const ir::Edge& e : f_.blocks[from].term.edges) {
          if (e.block == d.block) go_to(e.args[d.param]);
        }
      }
    }
  }
  return origin;
}

bool BlockFacts::IsOutside(Value v, uint32_t header) const {
  if (Literal(v).IsConst()) return true;
  const uint32_t block = definitions_[v.id].block;
  return block != header && dominators_.Dominates(block, header);
}

void BlockFacts::EnterLoop(uint32_t header, const Loop& loop, Sizes& sizes) const {
  const ir::Values& params = f_.blocks[header].params;
  std::vector<Counter> counters;
  for (size_t p = 0; p < params.size(); ++p) {
    if (const std::optional<Counter> c = CounterAt(header, loop, p)) counters.push_back(*c);
  }
  const auto bounded = std::find_if(counters.begin(), counters.end(),
                                    [](const Counter& c) { return c.bound.valid(); });
  if (bounded == counters.end()) return;
  LearnCounter(*bounded, IsOutside(bounded->bound, header), sizes);
  for (const Counter& c : counters) {
    if (c.var != bounded->var) LearnDistance(c, *bounded, sizes);
  }
}

}  // namespace pullback::loops
