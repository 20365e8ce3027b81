#include "core/ad/loop_parts.h"

#include <algorithm>
#include <utility>

#include "core/ir/renumber.h"

namespace pullback::ad {
namespace {

using ir::Block;
using ir::Edge;
using ir::Function;
using ir::Inst;
using ir::Op;
using ir::Terminator;
using ir::Type;
using ir::Value;

// Edges that `leaves` is true of become returns of what `returned` says; of a branch, in blocks of their own.
template <typename Leaves, typename Returned>
void ReturnBy(std::vector<Block>& blocks, Leaves&& leaves, Returned&& returned) {
  const size_t n = blocks.size();
  for (size_t b = 0; b < n; ++b) {
    for (size_t k = 0; k < blocks[b].term.edges.size(); ++k) {
      const Edge e = blocks[b].term.edges[k];
      if (!leaves(e)) continue;
      Terminator leave{Terminator::Kind::kReturn, ir::kNoValue, {}, returned(e)};
      if (blocks[b].term.edges.size() == 1) {
        blocks[b].term = std::move(leave);
        break;
      }
      blocks[b].term.edges[k] = {static_cast<uint32_t>(blocks.size()), {}};
      Block out;
      out.term = std::move(leave);
      blocks.push_back(std::move(out));
    }
  }
}

// A call may trap, and need not end; anything else that nobody reads may vanish.
bool IsRemovable(const Inst& inst) { return (ir::Info(inst.op).flags & ir::kEffect) == 0; }

constexpr uint32_t kHeader = 0, kOutside = UINT32_MAX;  // where edges of a part lead

bool LeadsOut(const Edge& e) { return e.block == kOutside; }
bool LeadsBack(const Edge& e) { return e.block == kHeader; }

}  // namespace

void RemoveBlocks(Function& f, const std::vector<char>& gone) {
  std::vector<uint32_t> number(f.blocks.size());
  std::vector<Block> kept;
  for (size_t b = 0; b < f.blocks.size(); ++b) {
    if (gone[b]) continue;
    number[b] = static_cast<uint32_t>(kept.size());
    kept.push_back(std::move(f.blocks[b]));
  }
  for (Block& b : kept) {
    for (Edge& e : b.term.edges) e.block = number[e.block];
  }
  f.blocks = std::move(kept);
}

std::optional<Loop> LoopAt(const FlatLists& preds, uint32_t header,
                           const ir::Dominators& dominators) {
  std::vector<uint32_t> work;
  for (uint32_t p : preds[header]) {
    if (dominators.Dominates(header, p)) work.push_back(p);
  }
  if (work.empty()) return std::nullopt;
  Loop loop;
  loop.header = header;
  loop.contains.resize(preds.size());
  loop.contains[header] = 1;
  loop.blocks.push_back(header);
  while (!work.empty()) {
    const uint32_t b = work.back();
    work.pop_back();
    if (loop.contains[b]) continue;
    loop.contains[b] = 1;
    loop.blocks.push_back(b);
    for (uint32_t p : preds[b]) {
      if (dominators.IsReachable(p)) work.push_back(p);
    }
  }
  std::sort(loop.blocks.begin(), loop.blocks.end());
  return loop;
}

ir::Values WithoutCounter(ir::Values values, const Loop& loop) {
  values.erase(values.begin() + static_cast<long>(loop.counter));
  return values;
}

LoopParts::LoopParts(ir::Module& module, uint32_t f)
    : module_(module), f_(module.Get(f)), defs_(f_.values.size()), block_of_(f_.values.size()) {
  for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
    ForEachDefinition(f_.blocks[b], [&](Value v) { block_of_[v.id] = b; });
    for (const Inst& inst : f_.blocks[b].insts) {
      for (Value v : inst.results) defs_[v.id] = &inst;
    }
  }
}

// The loop's blocks, the header first.
LoopParts::Blocks LoopParts::Copy(const Loop& loop) const {
  std::vector<uint32_t> number(f_.blocks.size(), kOutside);
  Blocks blocks = {f_.blocks[loop.header]};
  number[loop.header] = kHeader;
  for (uint32_t b : loop.blocks) {
    if (b == loop.header) continue;
    number[b] = static_cast<uint32_t>(blocks.size());
    blocks.push_back(f_.blocks[b]);
  }
  for (Block& b : blocks) {
    for (Edge& e : b.term.edges) e.block = number[e.block];
  }
  blocks[kHeader].term.snapshots = ir::kNoValue;
  return blocks;
}

LoopPart LoopParts::Step(const Loop& loop) {
  Blocks blocks = Copy(loop);
  for (Block& b : blocks) KeepEdges(b.term, [](const Edge& e) { return !LeadsOut(e); });
  ReturnBy(blocks, LeadsBack, [&](const Edge& e) { return WithoutCounter(e.args, loop); });
  RemoveDead(blocks, Traps::kStay);
  FindCaptures(loop, blocks);
  const ir::Values state = WithoutCounter(f_.blocks[loop.header].params, loop);
  std::vector<Type> results;
  for (Value v : state) results.push_back(f_.TypeOf(v));
  return DeclareTurn(".step", loop, state, std::move(results), std::move(blocks));
}

LoopPart LoopParts::Turn(const Loop& loop, const ir::Values& results) {
  Blocks blocks = Copy(loop);
  for (Block& b : blocks) KeepEdges(b.term, [](const Edge& e) { return !LeadsOut(e); });
  ReturnBy(blocks, LeadsBack, [&](const Edge&) { return results; });
  RemoveDead(blocks, Traps::kMayGo);
  FindCaptures(loop, blocks);
  std::vector<Type> types;
  for (Value v : results) types.push_back(f_.TypeOf(v));
  return DeclareTurn(".turn", loop, {}, std::move(types), std::move(blocks));
}

LoopPart LoopParts::Arm(const Loop& arm, const ir::Values& state) {
  Blocks blocks = Copy(arm);
  std::vector<Type> results;
  for (const Block& b : blocks) {
    for (const Edge& e : b.term.edges) {
      if (!LeadsOut(e) || !results.empty()) continue;
      for (Value v : e.args) results.push_back(f_.TypeOf(v));
    }
  }
  ReturnBy(blocks, LeadsOut, [](const Edge& e) { return e.args; });
  RemoveDead(blocks, Traps::kStay);
  FindCaptures(arm, blocks, state);
  Block& first = blocks[kHeader];
  first.params = state;
  first.params.insert(first.params.end(), captured_.begin(), captured_.end());
  first.insts.insert(first.insts.begin(), again_.begin(), again_.end());
  const LoopPart part = Declare(".arm", std::move(results), std::move(blocks));
  ir::Renumber(module_.Get(part.function));
  return part;
}

LoopPart LoopParts::DeclareTurn(const char* name, const Loop& loop, ir::Values state,
                                std::vector<Type> results, Blocks blocks) {
  Block& first = blocks[kHeader];
  first.params = Params(loop, std::move(state), f_.blocks[loop.header].params);
  first.insts.insert(first.insts.begin(), again_.begin(), again_.end());
  const LoopPart part = Declare(name, std::move(results), std::move(blocks));
  ir::Renumber(module_.Get(part.function));
  return part;
}

LoopPart LoopParts::Count(const Loop& loop) {
  Blocks blocks = Copy(loop);
  const Value counter = f_.blocks[loop.header].params[loop.counter];
  ReturnBy(blocks, LeadsOut, [&](const Edge&) { return std::vector<Value>{counter}; });
  RemoveDead(blocks, Traps::kMayGo);
  for (Block& b : blocks) {  // an entry in front of the header
    b.term.snapshots = ir::kNoValue;
    for (Edge& e : b.term.edges) ++e.block;
  }
  FindCaptures(loop, blocks);
  blocks.insert(blocks.begin(), Block());
  const LoopPart part = Declare(".turns", {Type::I64()}, std::move(blocks));
  Function& count = module_.Get(part.function);
  std::vector<Value> first;
  for (Value v : f_.blocks[loop.header].params)
    first.push_back(count.NewValue(f_.TypeOf(v), f_.names[v.id]));
  Block& entry = count.blocks[0];
  entry.params = Params(loop, WithoutCounter(first, loop), first);
  entry.insts = again_;
  entry.term = {Terminator::Kind::kJump, ir::kNoValue, {{1, first}}, {}};
  ir::Renumber(count);
  return part;
}

void LoopParts::RemoveDead(Blocks& blocks, Traps traps) const {
  for (bool changed = true; changed;) {
    std::vector<char> read(f_.values.size());
    for (Block& b : blocks) ForEachUse(b, [&](Value v) { read[v.id] = 1; });
    changed = false;
    for (Block& b : blocks) {
      changed |= std::erase_if(b.insts, [&](const Inst& inst) {
                   return IsRemovable(inst) && !(traps == Traps::kStay && ir::MayTrap(inst, f_)) &&
                          std::none_of(inst.results.begin(), inst.results.end(),
                                       [&](Value v) { return read[v.id]; });
                 }) > 0;
    }
  }
}

// What the part reads of what stands in front of the loop, beside `state`: instructions that are made again, in order, and
// values that are handed in.
void LoopParts::FindCaptures(const Loop& loop, const Blocks& blocks, const ir::Values& state) {
  captured_.clear();
  again_.clear();
  read_.assign(f_.values.size(), 0);
  seen_.assign(f_.values.size(), 0);
  for (Value v : state) seen_[v.id] = 1;
  for (const Block& b : blocks) ForEachUse(b, [&](Value v) { read_[v.id] = 1; });
  for (const Block& b : blocks) ForEachUse(b, [&](Value v) { Capture(loop, v); });
}

void LoopParts::Capture(const Loop& loop, Value first) {
  struct Open {
    Value value;
    bool operands_done;
  };
  std::vector<Open> open = {{first, false}};
  while (!open.empty()) {
    const Open at = open.back();
    open.pop_back();
    if (at.operands_done) {
      again_.push_back(*defs_[at.value.id]);
      continue;
    }
    if (IsInside(loop, at.value) || seen_[at.value.id]) continue;
    seen_[at.value.id] = 1;
    if (!IsMadeAgain(at.value)) {
      captured_.push_back(at.value);
      continue;
    }
    open.push_back({at.value, true});
    ir::ForEachOperand(*defs_[at.value.id], [&](Value v) { open.push_back({v, false}); });
  }
}

bool LoopParts::IsOneMore(Value v, Value than) const {
  const Inst* def = Definition(v);
  if (!def) return false;
  if (def->op == Op::AffineOf) return def->subs[0] == ir::Affine::Of(than) + ir::Affine::Const(1);
  if (def->op != Op::Add) return false;
  const auto is_one = [&](Value x) {
    const Inst* c = Definition(x);
    return c && c->op == Op::Const && c->bits == 1;
  };
  return (def->args[0] == than && is_one(def->args[1])) ||
         (def->args[1] == than && is_one(def->args[0]));
}

// Constants, sizes of what the part is handed in, and what depends on integers alone.
bool LoopParts::IsMadeAgain(Value v) const {
  const Inst* def = defs_[v.id];
  if (!def || def->each) return false;
  if (def->op == Op::Const) return true;
  if (def->op == Op::Dim) return read_[def->args[0].id] != 0;
  bool integers = IsInteger(f_.TypeOf(v)) && def->results.size() == 1;
  ir::ForEachOperand(*def, [&](Value x) { integers &= IsInteger(f_.TypeOf(x)); });
  return integers && (ir::Info(def->op).flags & ir::kPure) != 0 && !ir::MayTrap(*def, f_);
}

ir::Values LoopParts::Params(const Loop& loop, ir::Values params, const ir::Values& header) const {
  params.insert(params.end(), captured_.begin(), captured_.end());
  params.push_back(header[loop.counter]);
  return params;
}

LoopPart LoopParts::Declare(const char* name, std::vector<Type> results, Blocks blocks) {
  const uint32_t id = module_.AddFunction(f_.name + name);
  Function& part = module_.Get(id);
  part.results = std::move(results);
  part.values = f_.values;
  part.names = f_.names;
  part.blocks = std::move(blocks);
  return {id, captured_};
}

}  // namespace pullback::ad
