// The reverse half: blocks of the reversed control flow graph.
#include <algorithm>
#include <iterator>

#include "core/ad/live_values.h"
#include "core/ad/partials.h"
#include "core/ad/push_list.h"
#include "core/ad/reverse_function.h"

namespace pullback::ad {

using ir::Inst;
using ir::Op;
using ir::Value;

Status ReverseFunction::BuildReverse() {
  FindIntegers();
  DeclareReverseBlocks();
  if (!combined_) {
    rb_->SetBlock(0);
    rb_->Jump(blocks_[flow_.exit].reverse_block, {reverse_tape_});
  }
  for (uint32_t b : flow_.dominators.order()) {
    if (!flow_.skipped[b]) PB_RETURN_IF_ERROR(ReverseBlock(b));
  }
  DropUnneeded();
  for (BlockState& state : blocks_) {
    if (!state.needs.empty()) PopNeeds(state);
  }
  return {};
}

// What the reverse half was to have, and nothing there needs after all, such as elements that an array is given back which no earlier
// statement reads.
void ReverseFunction::DropUnneeded() {
  const std::vector<char> live = FindLiveValues(rb_->function());
  for (BlockState& state : blocks_)
    std::erase_if(state.needs, [&](const Need& need) { return live[need.copy.id] == 0; });
  RemoveDead(rb_->function(), live);
}

void ReverseFunction::DeclareReverseBlocks() {
  for (uint32_t b = 0; b < work_.blocks.size(); ++b) {
    if (flow_.skipped[b]) continue;
    BlockState& state = blocks_[b];
    state.reverse_block = rb_->NewBlock();
    state.tape_in = rb_->AddParam(state.reverse_block, ir::Type::Tape(), "tape");
    if (flow_.way[b] == WayBack::kTrips)
      state.reverse_trips = rb_->AddParam(state.reverse_block, ir::Type::I64(), "trips");
    for (const auto& [v, undone] : state.undone)
      rb_->function().blocks[state.reverse_block].params.push_back(undone);
    for (const auto& [web, v] : undo_.LiveOut(b))
      rb_->AddParam(state.reverse_block, work_.TypeOf(v), work_.names[v.id]);
    for (Value v : live_out_[b])
      rb_->AddParam(state.reverse_block, work_.TypeOf(v), work_.names[v.id] + ".bar");
  }
}

Status ReverseFunction::ReverseBlock(uint32_t b) {
  BlockState& state = blocks_[b];
  current_ = b;
  bars_.clear();
  changes_.clear();
  calls_left_ = state.calls.size();
  rb_->SetBlock(state.reverse_block);
  const ir::Values params = rb_->function().blocks[state.reverse_block].params;
  const size_t first = params.size() - live_out_[b].size();
  for (size_t k = 0; k < live_out_[b].size(); ++k) bars_[live_out_[b][k]] = params[first + k];
  versions_.clear();
  size_t version = first - undo_.LiveOut(b).size();
  for (const auto& [web, v] : undo_.LiveOut(b)) versions_[web] = params[version++];
  state.tape_start = rb_->function().NewValue(ir::Type::Tape(), "tape");
  tape_ = state.tape_start;
  if (b == flow_.exit) {
    for (const auto& [v, bar] : accumulated_) bars_[v] = bar;
    size_t next = 0;
    const ir::Values& results = work_.blocks[b].term.results;
    for (size_t k = 0; k < results.size(); ++k) {
      if (!active_results_[k] || !Carries(work_.results[k])) continue;
      Accumulate(results[k], seeds_.empty() ? rb_->One(work_.results[k]) : seeds_[next]);
      ++next;
    }
  }
  const std::vector<Inst>& insts = work_.blocks[b].insts;
  for (auto inst = insts.rbegin(); inst != insts.rend(); ++inst) {
    rb_->SetLoc(inst->loc);
    UndoUpdate(*inst);
    BeginVersions(*inst);
    PB_RETURN_IF_ERROR(ReverseInst(*inst));
    ForgetVersions();
  }
  if (b == 0) {
    ReturnFromReverse();
  } else {
    GoBack(b);
  }
  FinishPrologue(b);
  return {};
}

Status ReverseFunction::ReverseInst(const Inst& inst) {
  if (inst.op == Op::Each) return ReverseEach(inst);
  if (inst.op == Op::Call) return ReverseCall(inst);
  if (inst.op == Op::TapeNew || inst.op == Op::Push || inst.op == Op::Pop) {
    ReverseTape(inst);
    return {};
  }
  if (IsListOp(inst.op)) {
    ReverseListOp(inst);
    return {};
  }
  if (inst.results.size() != 1) return {};
  const Value w = TakeBar(inst.results[0]);
  if (!w.valid()) return {};
  if (RuleOf(inst.op) == Rule::kPartials) {
    ReverseScalar(inst, w);
  } else if (inst.op == Op::Select) {
    ReverseSelect(inst, w);
  } else if (inst.op == Op::Cast) {
    if (Active(inst.args[0]))
      Accumulate(inst.args[0], rb_->Cast(w, work_.TypeOf(inst.args[0]).elem));
  } else {
    ReverseArrayOp(inst, w);
  }
  return {};
}

// The cotangent of a LIFO tape is a LIFO tape: pushes pop and pops push, of what carries one.
void ReverseFunction::ReverseTape(const Inst& inst) {
  if (!Active(inst.results[0])) return;
  const Value bar = TakeBar(inst.results[0]);
  if (inst.op == Op::TapeNew) return;
  const Value tape = bar.valid() ? bar : rb_->TapeNew();
  Value& out = bars_[inst.args[0]];
  const Value v = inst.op == Op::Push ? inst.args[1] : inst.results[1];
  if (!Carries(work_.TypeOf(v))) {
    out = tape;
  } else if (inst.op == Op::Push) {
    const auto [rest, w] = rb_->Pop(tape, work_.TypeOf(v));
    out = rest;
    Accumulate(v, w);
  } else {
    const Value w = TakeBar(v);
    out = rb_->Push(tape, w.valid() ? w : ZeroOf(v));
  }
}

void ReverseFunction::ReverseScalar(const Inst& inst, Value w) {
  const std::function<Value(Value)> primal = [this](Value v) { return Primal(v); };
  for (size_t k = 0; k < inst.args.size(); ++k) {
    if (!Active(inst.args[k])) continue;
    Accumulate(inst.args[k], Times(*rb_, w, PartialOf({*rb_, inst, primal}, static_cast<int>(k))));
  }
}

void ReverseFunction::ReverseSelect(const Inst& inst, Value w) {
  const Value cond = Primal(inst.args[0]);
  const Value zero = rb_->Zero(rb_->TypeOf(w));
  if (Active(inst.args[1])) Accumulate(inst.args[1], rb_->Make(Op::Select, {cond, w, zero}));
  if (Active(inst.args[2])) Accumulate(inst.args[2], rb_->Make(Op::Select, {cond, zero, w}));
}

// The linear array ops by their transposes.
void ReverseFunction::ReverseArrayOp(const Inst& inst, Value w) {
  switch (inst.op) {
    case Op::Index: {
      const Value array = inst.args[0];
      if (!Active(array)) return;
      const std::vector<ir::Affine> at = Primal(inst.subs);
      return ChangeBar(array, [this, at, w](Value bar) { return rb_->AddAt(bar, at, w); });
    }
    case Op::Update: {
      const std::vector<ir::Affine> at = Primal(inst.subs);
      Accumulate(inst.args[1], Active(inst.args[1]) ? rb_->Index(w, at) : Value{});
      if (Active(inst.args[0]))
        Accumulate(inst.args[0], rb_->Update(w, at, rb_->Zero(work_.TypeOf(inst.args[1]))));
      return;
    }
    case Op::AddAt:
      if (Active(inst.args[1])) Accumulate(inst.args[1], rb_->Index(w, Primal(inst.subs)));
      Accumulate(inst.args[0], w);
      return;
    case Op::AddArrays:
      Accumulate(inst.args[0], w);
      Accumulate(inst.args[1], w);
      return;
    default: PB_CHECK(!"an active op without a transpose");
  }
}

Status ReverseFunction::ReverseEach(const Inst& inst) {
  std::vector<Value> bars;
  bool any = false;
  for (Value v : inst.results) {
    bars.push_back(TakeBar(v));
    any |= bars.back().valid();
  }
  if (!any) return {};
  const Surroundings around{
      work_,
      activity_,
      [this](Value v) { return Primal(v); },
      [this](Value v, int axis) { return Extent(v, axis); },
      partials_of_,
      [&](const Inst& body, Value v) { return KeepElements(inst, body, v); },
      [&](const Inst& call, size_t number) { return KeepPartial(inst, call, number); }};
  auto contributions = TransposeStatement(*rb_, around, inst, bars);
  if (!contributions.ok()) return contributions.status();
  for (const auto& [v, list] : *contributions) {
    for (Value bar : list) Accumulate(v, bar);
  }
  return {};
}

void ReverseFunction::GoBack(uint32_t b) {
  const std::vector<Predecessor>& preds = flow_.preds[b];
  if (preds.size() == 1) return JumpBack(b, preds[0]);
  // One block per predecessor, since each passes other cotangents.
  std::vector<uint32_t> ways;
  for (size_t k = 0; k < preds.size(); ++k) ways.push_back(rb_->NewBlock());
  BlockState& state = blocks_[b];
  if (flow_.way[b] == WayBack::kTrips) {
    const Value again = rb_->Make(Op::Gt, {state.reverse_trips, rb_->I64(0)});
    rb_->Branch(again, {ways[1], {}}, {ways[0], {}});
  } else if (flow_.way[b] == WayBack::kCondition) {
    rb_->Branch(Primal(flow_.condition[b]), {ways[1], {}}, {ways[0], {}});
  } else {
    const auto [tape, tag] = rb_->Pop(tape_, ir::Type::I64());
    tape_ = tape;
    for (size_t k = 0; k + 1 < ways.size(); ++k) {
      const Value here = rb_->Make(Op::Eq, {tag, rb_->I64(static_cast<int64_t>(k))});
      const uint32_t other = k + 2 < ways.size() ? rb_->NewBlock() : ways[k + 1];
      rb_->Branch(here, {ways[k], {}}, {other, {}});
      rb_->SetBlock(other);
    }
  }
  const std::map<Value, Value> bars = bars_;
  for (size_t k = 0; k < preds.size(); ++k) {
    bars_ = bars;
    rb_->SetBlock(ways[k]);
    if (k == 1 && flow_.way[b] == WayBack::kTrips) UndoTurn(b);
    JumpBack(b, preds[k]);
  }
}

void ReverseFunction::JumpBack(uint32_t b, const Predecessor& p) {
  static const ir::Edge kNone{};
  const bool real = p.edge != kNoEdge;
  const ir::Edge& edge = real ? work_.blocks[p.block].term.edges[p.edge] : kNone;
  const ir::Values params = real ? work_.blocks[b].params : ir::Values();
  std::map<Value, Value> through;  // bars of b's parameters leave; those of its arguments grow
  for (Value param : params) through[param] = TakeBar(param);
  for (size_t k = 0; k < params.size(); ++k) Accumulate(edge.args[k], through[params[k]]);
  std::vector<Value> args = {tape_};
  if (flow_.way[p.block] == WayBack::kTrips) {
    args.push_back(TripsFor(p.block, b));
    for (Value v : IntegersFor(p.block, b)) args.push_back(v);
  }
  std::map<uint32_t, Value> versions = versions_;
  for (size_t k = 0; k < params.size(); ++k) {  // an array that begins with this parameter
    if (undo_.Of(edge.args[k]) != undo_.Of(params[k])) versions.erase(undo_.Of(params[k]));
  }
  for (const auto& [web, v] : undo_.LiveOut(p.block)) {
    const auto version = versions.find(web);
    if (version != versions.end()) {
      args.push_back(version->second);
      continue;
    }
    // What is only passed may be defined in front of one edge: here it is the parameter.
    const auto passed = std::find(edge.args.begin(), edge.args.end(), v);
    const Value here = passed == edge.args.end() ? v : params[passed - edge.args.begin()];
    args.push_back(Fetch(forward_[here.id], flow_.def_block[here.id]));
  }
  for (Value v : live_out_[p.block]) {
    Value bar = TakeBar(v);
    // An argument's extents may be unknown here; those of the parameter that it became are the same.
    for (size_t k = 0; !bar.valid() && k < params.size(); ++k) {
      if (edge.args[k] == v) bar = ZeroOf(params[k]);
    }
    args.push_back(bar.valid() ? bar : ZeroOf(v));
  }
  rb_->Jump(blocks_[p.block].reverse_block, args);
}

// The trip count that the reverse of a loop header takes: one less from inside, the final one from
// outside.
Value ReverseFunction::TripsFor(uint32_t header, uint32_t from) {
  if (flow_.IsLoopBodyOf(from, header))
    return rb_->Make(Op::Sub, {blocks_[header].reverse_trips, rb_->I64(1)}, "trips");
  const bool survives = combined_ && flow_.SurvivesTo(current_, header);
  const Value known = survives ? ir::kNoValue : KnownTrips(header);
  return known.valid() ? known : Fetch(blocks_[header].trips, header);
}

// Whether the reverse half of the current block has it, or makes it of counters of the loops around.
bool ReverseFunction::IsFree(Value v, int depth) const {
  if (AtHand(v)) return true;
  const auto counter = counters_.find(v);
  if (counter != counters_.end())
    return depth < kDeepest && flow_.IsLoopBodyOf(current_, counter->second.header) &&
           IsFree(counter->second.start, depth + 1);
  const Inst* def = defs_[v.id];
  const std::optional<ir::Affine> form = def ? FormOf(*def, work_, defs_) : std::nullopt;
  return form && depth < kDeepest &&
         std::all_of(
             form->terms.begin(), form->terms.end(),
             [&](const ir::Affine::Term& t) { return IsFree(t.value, depth + 1); });
}

// Of a loop that counts by one up to what is free; else kNoValue.
Value ReverseFunction::KnownTrips(uint32_t header) {
  const Inst* test = TestOf(work_, flow_, defs_, header);
  if (test == nullptr) return {};
  const auto counter = counters_.find(test->args[0]);
  const Value end = test->args[1];
  const bool changes =
      const_def_[end.id] == nullptr && flow_.IsLoopBodyOf(flow_.def_block[end.id], header);
  if (counter == counters_.end() || counter->second.header != header || counter->second.step != 1 ||
      changes || !IsFree(counter->second.start) || !IsFree(end))
    return {};
  const Inst *start = const_def_[counter->second.start.id], *def = defs_[end.id];
  const bool is_size = def != nullptr && def->op == Op::Dim;
  if (is_size && start != nullptr && start->bits == 0) return Primal(end);
  const Value from = Primal(counter->second.start), to = Primal(end);
  return rb_->Make(Op::Sub, {rb_->Make(Op::Max, {to, from}), from}, "trips");
}

void ReverseFunction::FinishPrologue(uint32_t b) {
  BlockState& state = blocks_[b];
  ir::Block& block = rb_->function().blocks[state.reverse_block];
  std::vector<Inst> again = ChooseKept(b);
  std::vector<Inst> prologue = std::move(state.constant_insts);
  block.params[0] = state.tape_start;
  std::move(again.begin(), again.end(), std::back_inserter(prologue));
  block.insts.insert(block.insts.begin(), std::make_move_iterator(prologue.begin()),
                     std::make_move_iterator(prologue.end()));
}

void ReverseFunction::PopNeeds(BlockState& state) {
  ir::Block& block = rb_->function().blocks[state.reverse_block];
  block.params[0] = state.tape_in;
  std::vector<Inst> pops;
  Value tape = state.tape_in;
  for (size_t k = state.needs.size(); k-- > 0;) {
    Inst& pop = pops.emplace_back();
    pop.op = Op::Pop;
    pop.args = {tape};
    tape = k == 0 ? state.tape_start : rb_->function().NewValue(ir::Type::Tape(), "tape");
    pop.results = {tape, state.needs[k].copy};
  }
  block.insts.insert(block.insts.begin(), std::make_move_iterator(pops.begin()),
                     std::make_move_iterator(pops.end()));
}

void ReverseFunction::ReturnFromReverse() {
  std::vector<Value> results;
  if (give_results_) {
    for (Value v : work_.blocks[flow_.exit].term.results)
      results.push_back(undo_.Of(v) != UndoWebs::kNone ? forward_[v.id] : Primal(v));
  }
  for (size_t k = 0; k < work_.params().size(); ++k) {
    const Value v = work_.params()[k];
    if (!wrt_[k] || !Carries(work_.TypeOf(v))) continue;
    const Value bar = TakeBar(v);
    results.push_back(bar.valid() ? bar : ZeroOf(v));
  }
  if (!combined_ || first_tape_.valid()) results.push_back(tape_);
  rb_->Return(results);
}

}  // namespace pullback::ad
