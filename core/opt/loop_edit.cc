#include "core/opt/loop_edit.h"

#include <iterator>
#include <utility>

namespace pullback::opt {

using ir::Block;
using ir::Edge;
using ir::Inst;
using ir::Terminator;
using ir::Value;

namespace {

// Its results have their new names already: blocks read what later ones in the list define.
Inst CopyNamed(const Inst& inst, Copier& names) {
  ir::Values results;
  for (Value v : inst.results) results.push_back(names.Get(v));
  Inst copy = names.Copy(inst);
  for (size_t k = 0; k < results.size(); ++k) names.Set(inst.results[k], results[k]);
  copy.results = std::move(results);
  return copy;
}

}  // namespace

void CopyHeader(ir::Function& f, const BlockLoop& loop, ir::ValueSpan args, uint32_t into,
                Copier& names) {
  for (size_t k = 0; k < args.size(); ++k) names.Set(f.blocks[loop.header].params[k], args[k]);
  std::vector<Inst> copies;
  for (const Inst& inst : f.blocks[loop.header].insts) copies.push_back(names.Copy(inst));
  std::move(copies.begin(), copies.end(), std::back_inserter(f.blocks[into].insts));
}

uint32_t CopyBody(ir::Function& f, const BlockLoop& loop, uint32_t next,
                  std::optional<size_t> dropped, Copier& names) {
  absl::flat_hash_map<uint32_t, uint32_t> copy_of;
  auto fresh = static_cast<uint32_t>(f.blocks.size());
  for (uint32_t b : loop.blocks) {
    if (b == loop.header) continue;
    copy_of[b] = fresh++;
    for (Value v : f.blocks[b].params) names.New(v);
    for (const Inst& inst : f.blocks[b].insts) {
      for (Value v : inst.results) names.New(v);
    }
  }
  f.blocks.resize(fresh);
  for (uint32_t b : loop.blocks) {
    if (b == loop.header) continue;
    Block copy;
    for (Value v : f.blocks[b].params) copy.params.push_back(names.Get(v));
    for (const Inst& inst : f.blocks[b].insts) copy.insts.push_back(CopyNamed(inst, names));
    copy.term = f.blocks[b].term;
    ir::ForEachTermOperand(copy.term, [&](Value& v) { v = names.Get(v); });
    for (Edge& e : copy.term.edges) {
      const bool back = e.block == loop.header;
      if (back && dropped) e.args.erase(e.args.begin() + static_cast<long>(*dropped));
      e.block = back ? next : copy_of[e.block];
    }
    f.blocks[copy_of[b]] = std::move(copy);
  }
  const uint32_t first = loop.Stay(f).block;
  return first == loop.header ? next : copy_of[first];
}

void SkipLoop(ir::Function& f, BlockLoop& loop, LoopRound& round) {
  const uint32_t before = AddPreheader(f, loop);
  Copier names(f);
  CopyHeader(f, loop, loop.Arguments(f), before, names);
  f.blocks[before].term = {Terminator::Kind::kJump, ir::kNoValue, {names.Copy(loop.Exit(f))}, {}};
  round.RenameOutside(loop, names);
}

void PeelLoop(ir::Function& f, BlockLoop& loop) {
  const uint32_t before = AddPreheader(f, loop);
  Copier names(f);
  CopyHeader(f, loop, loop.Arguments(f), before, names);
  const auto after = static_cast<uint32_t>(f.blocks.size());
  f.blocks.emplace_back();
  Edge into_loop{loop.header, {}};
  for (Value v : f.blocks[loop.header].params) into_loop.args.push_back(f.NewLike(f, v));
  f.blocks[after].params = into_loop.args;
  f.blocks[after].term = {Terminator::Kind::kJump, ir::kNoValue, {std::move(into_loop)}, {}};
  const uint32_t body = CopyBody(f, loop, after, std::nullopt, names);
  Edge first = names.Copy(loop.Stay(f));
  first.block = body;
  f.blocks[before].term = {Terminator::Kind::kJump, ir::kNoValue, {std::move(first)}, {}};
  loop.entry = after;
  loop.entry_edge = 0;
}

void BypassLoop(ir::Function& f, BlockLoop& loop) {
  Edge exit = loop.Exit(f);
  f.blocks[AddPreheader(f, loop)].term = {
      Terminator::Kind::kJump, ir::kNoValue, {std::move(exit)}, {}};
}

}  // namespace pullback::opt
