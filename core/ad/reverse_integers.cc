// Integers that loops carry, undone turn by turn (reversible.h).
#include "core/ad/partials.h"
#include "core/ad/reverse_function.h"

namespace pullback::ad {

using ir::Inst;
using ir::Value;

// By value: what the reverse half may ask for. It reads operands without cotangents of what has one, the
// conditions of branches, and what those are computed again from.
std::vector<char> ReverseFunction::FindWanted() const {
  std::vector<char> wanted(work_.values.size());
  std::vector<Value> work;
  const auto want = [&](Value v) {
    if (!v.valid() || Active(v) || wanted[v.id]) return;
    wanted[v.id] = 1;
    work.push_back(v);
  };
  for (uint32_t b = 0; b < work_.blocks.size(); ++b) {
    want(flow_.condition[b]);
    for (const Inst& inst : work_.blocks[b].insts) {
      bool active = false;
      for (Value v : inst.results) active |= Active(v) || undo_.Of(v) != UndoWebs::kNone;
      if (active) ir::ForEachOperand(inst, want);
    }
  }
  while (!work.empty()) {
    const Inst* def = defs_[work.back().id];
    work.pop_back();
    if (def != nullptr && CostOfRecomputing(*def, work_) < kNever) ir::ForEachOperand(*def, want);
  }
  return wanted;
}

Reversible ReverseFunction::Integers() const {
  return {work_, flow_, defs_, [this](Value v) { return AtHand(v); }};
}

// A counter from the trip count, with a start that is free.
bool ReverseFunction::IsCounted(Value v) const {
  const auto counter = counters_.find(v);
  return counter != counters_.end() && IsFree(counter->second.start);
}

// What each loop takes along.
void ReverseFunction::FindIntegers() {
  std::vector<char> wanted = FindWanted();
  for (uint32_t h = 0; h < work_.blocks.size(); ++h) {
    if (flow_.way[h] != WayBack::kTrips) continue;
    current_ = h;
    for (Value v : work_.blocks[h].params) wanted[v.id] &= IsCounted(v) ? 0 : 1;
    BlockState& state = blocks_[h];
    state.integers = Integers().Find(h, wanted);
    for (const auto* values : {&state.integers.params, &state.integers.invariants}) {
      for (Value v : *values)
        state.undone[v] = rb_->function().NewValue(work_.TypeOf(v), work_.names[v.id]);
    }
  }
}

// In the block that goes back into the loop: what came into the turn.
void ReverseFunction::UndoTurn(uint32_t header) {
  BlockState& state = blocks_[header];
  if (state.integers.params.empty()) return;
  const Predecessor& latch = flow_.preds[header][1];
  const ir::Values& args = work_.blocks[latch.block].term.edges[latch.edge].args;
  const ir::Values& params = work_.blocks[header].params;
  std::map<Value, Value> known;
  for (size_t k = 0; k < params.size(); ++k) {
    if (const auto v = state.undone.find(params[k]); v != state.undone.end())
      known[args[k]] = v->second;
  }
  for (Value v : state.integers.invariants) known[v] = state.undone[v];
  const auto get = [&](Value v) {
    const auto it = known.find(v);
    return it != known.end() ? it->second : Primal(v);
  };
  const Reversible reversible = Integers();
  for (const UndoStep& step : state.integers.steps)
    known[step.target] = reversible.Emit(*rb_, step, get);
  for (Value v : state.integers.params) state.before[v] = known.at(v);
  for (Value v : state.integers.invariants) state.before[v] = state.undone[v];
}

// What a loop's header takes in the reverse half, in order.
std::vector<Value> ReverseFunction::IntegersFor(uint32_t header, uint32_t from) {
  BlockState& state = blocks_[header];
  std::vector<Value> args;
  for (const auto& [v, at_header] : state.undone)
    args.push_back(flow_.IsLoopBodyOf(from, header) ? state.before.at(v) : Primal(v));
  return args;
}

// The value where the reverse of the current block is built, or none.
Value ReverseFunction::Undone(Value v) const {
  const uint32_t header = flow_.def_block[v.id];
  if (flow_.way[header] != WayBack::kTrips || !flow_.IsLoopBodyOf(current_, header)) return {};
  const auto& values = current_ == header ? blocks_[header].undone : blocks_[header].before;
  const auto it = values.find(v);
  return it == values.end() ? Value{} : it->second;
}

}  // namespace pullback::ad
